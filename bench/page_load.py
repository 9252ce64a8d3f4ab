"""How long a report takes to load in Chromium, and how large it is.

    python bench/page_load.py ATTACKED [ATTACKED ...] --json

Builds the page about the folders that ``robustparse attack`` wrote and opens it, each time in a new
profile of a headless Chromium, from the disk. *Loaded* is the time from the start of the navigation
to the end of the page's load event, when the list of examples is filled and laid out: the median of
some rounds, and the longest. The bar is 2 s for 2,000 examples.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from robustparse.reports.page import build_report

# Says in the title when the page was laid out, and how many examples the list counts.
PROBE = """<script>/*<![CDATA[*/
addEventListener("load", () => {
  const height = document.body.offsetHeight;
  const listed = document.querySelector("#browser output").value;
  document.title = `loaded ${performance.now()} ${height} ${listed}`;
});
/*]]>*/</script></body>"""
POLICY = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
SAID = re.compile(r"<title>loaded (?P<ms>[\d.]+) (?P<height>\d+) (?P<listed>[^<]*)</title>")
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom")


def probed(folders: list[Path], page: Path) -> int:
    """Write the report, with a script that says when it was loaded; return its size in bytes."""
    build_report(folders, page)
    size = page.stat().st_size
    text = POLICY.sub("", page.read_text("utf-8"))
    page.write_text(text.replace("</body>", PROBE), "utf-8")
    return size


def opened(chromium: str, page: Path, profile: Path) -> tuple[float, str]:
    """Open the page; return the seconds until it was loaded, and what its list says of itself."""
    command = [chromium, *OPTIONS, f"--user-data-dir={profile}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    said = SAID.search(done.stdout)
    if said is None or int(said["height"]) == 0:
        raise SystemExit(f"{chromium} did not say when it had loaded the page")
    return float(said["ms"]) / 1000, said["listed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="folders of attacks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object, as last line")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        parser.error("no chromium on PATH")
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        size = probed(options.folders, page)
        found = [opened(chromium, page, Path(folder) / f"{n}") for n in range(options.rounds)]
    seconds = [taken for taken, _ in found]
    listed = found[0][1]
    median, longest = statistics.median(seconds), max(seconds)
    print(f"{listed}; {size / 1e6:.1f} MB; loaded in {median:.2f} s, at most {longest:.2f} s")
    if options.json:
        figures = {"listed": listed, "bytes": size, "median_s": median, "longest_s": longest}
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
