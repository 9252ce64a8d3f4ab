"""The page's stylesheet: light and dark, wide and narrow, with system fonts only."""

CSS = """
:root{color-scheme:light dark;--ground:#f5f6f9;--panel:#fff;--ink:#1d2433;--muted:#5b6577;
--grid:#dfe3ea;--arc:#7a869c;--wrong:#c2410c;--mark:#fff1c2;--mark-line:#a16207;--accent:#0067a5;
--series-1:#0067a5;--series-2:#b84a00;--series-3:#00735a;--series-4:#8d3f86;--series-5:#5c5c00;
--series-6:#a8324a}
@media (prefers-color-scheme:dark){:root{--ground:#12151c;--panel:#1a1f29;--ink:#e8ebf1;
--muted:#a3adbf;--grid:#303848;--arc:#8793aa;--wrong:#ff9a5c;--mark:#463800;--mark-line:#e3b341;
--accent:#6cb8f5;--series-1:#6cb8f5;--series-2:#ff9a5c;--series-3:#4fd1a5;--series-4:#dfa0d8;
--series-5:#cfcf6a;--series-6:#ff8fa3}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);line-height:1.6;
font:17px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1180px;margin:0 auto;padding:48px 24px 64px}
h1{font-size:2.1rem;line-height:1.2;margin:0 0 .6em;letter-spacing:-.015em}
h2{font-size:1.35rem;line-height:1.3;margin:2.6em 0 .7em}
h3{font-size:1.02rem;line-height:1.4;margin:0 0 .5em}
p{max-width:46em;margin:0 0 1em}
.lead{font-size:1.12rem}
.note,footer{color:var(--muted);font-size:.9rem}
.panel{background:var(--panel);border:1px solid var(--grid);border-radius:12px;padding:20px;
margin:0 0 20px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.95rem}
th,td{padding:.6em .65em;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--muted);font-weight:600;vertical-align:bottom;line-height:1.3}
th[scope=row],th.text,td.text{text-align:left}
td.strong{font-weight:700}
.fall{vertical-align:middle}
.fall line{stroke:var(--grid);stroke-width:2;stroke-linecap:round}
.fall .drop{stroke:var(--accent);stroke-width:4}
.fall .clean{fill:var(--panel);stroke:var(--accent);stroke-width:2.5}
.fall .attacked{fill:var(--accent)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:20px}
.plots>.panel{margin:0}
figure{margin:0}
.rp-plot{display:block;width:100%;max-width:560px;height:auto}
figcaption p:last-child{margin-bottom:.4em}
.rp-tree{display:block;margin:0 auto}
.legend{display:flex;flex-wrap:wrap;gap:.4em 1.8em;list-style:none;padding:0;margin:0 0 1.2em;
color:var(--muted);font-size:.92rem}
.legend li{display:flex;align-items:center;gap:.55em}
mark{background:var(--mark);color:inherit;border:1.5px solid var(--mark-line);border-radius:5px;
padding:0 .3em;font-weight:700}
details{margin-top:.8em;font-size:.9rem}
summary{cursor:pointer;color:var(--muted)}
summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (max-width:640px){body{font-size:16px}main{padding:28px 14px 40px}h1{font-size:1.6rem}
.panel{padding:14px}.lead{font-size:1.05rem}}
@media print{body{background:#fff}.panel{break-inside:avoid}details{display:none}}
""".strip()
