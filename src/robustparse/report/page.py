"""One self-contained HTML page about attacked parsers: figures, curves, trees before and after.

It opens offline, see `document`.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from robustparse import __version__
from robustparse.errors import InputError
from robustparse.evaluation.lines import SUMMARY
from robustparse.files import write_text
from robustparse.report.budgets import with_budget_curves
from robustparse.report.details import details
from robustparse.report.document import document
from robustparse.report.folders import (
    AttackFolder,
    SystemRow,
    changed_elsewhere,
    most_telling,
    read_folder,
    wrong_words,
)
from robustparse.report.merging import merge_plots
from robustparse.report.plots import EPOCH, Curve, Plot, draw_plot
from robustparse.report.summary import summarize
from robustparse.report.training import FILE as METRICS
from robustparse.report.training import TrainingRun, read_training
from robustparse.tasks.tree_drawing import LEGEND, TreePair, draw_pair

MISSING = "\N{EN DASH}"


def build_report(folders: Sequence[Path], out: Path) -> None:
    """Write a page about any number of attacked systems; the first is the one compared with.

    Training runs among the folders, or in an attack's folder, add their curves.

    Args:
        folders: folders that `robustparse attack` or `fit` wrote, at least one.
        out: the HTML file, written whole or not at all.

    Raises:
        InputError: a folder is missing or malformed, or `out` cannot be written.
    """
    if not folders:
        raise InputError("report: no folders given; give at least one that `attack` wrote")
    systems, attacked, runs = [], [], []
    for folder, name in zip(folders, _names(folders), strict=True):
        trained = (folder / METRICS).exists()
        if (folder / SUMMARY).exists() or not trained:
            systems.append(read_folder(folder, name))
            attacked.append(folder)
        if trained:
            runs.append(read_training(folder, name))
    write_text(out, render_page(with_budget_curves(systems, attacked), runs))


def render_page(systems: Sequence[AttackFolder], runs: Sequence[TrainingRun] = ()) -> str:
    """Put the page together, as HTML text."""
    rows = [system.row for system in systems]
    all_names = list(dict.fromkeys([row.name for row in rows] + [run.name for run in runs]))
    names = ", ".join(all_names) if len(all_names) < 5 else f"{len(all_names)} systems"
    title = f"Robustness report: {names}"
    parts = []
    if systems:
        lead = escape(summarize(rows))
        parts += [f'<p class="lead">{lead}</p>', "<h2>Systems</h2>", _table(rows)]
    if plots := merge_plots(systems, runs):
        parts += ["<h2>Curves</h2>", f'<div class="plots">{"".join(map(_plot, plots))}</div>']
    elif not systems:
        parts.append("<p>No robust scores were logged in training: nothing to show.</p>")
    if systems:
        parts += ["<h2>Sentences before and after</h2>", *_sentences(systems)]
        parts += details([(system.row.name, system.summary) for system in systems])
    made = f"Made by robustparse {__version__}. All of this page is in this one file."
    return document(title, [*parts, f"<footer><p>{made}</p></footer>"])


def _names(folders: Sequence[Path]) -> list[str]:
    """Give each folder its own name, with as much of its path as tells it from the others."""
    whole = [folder.resolve().parts for folder in folders]
    for depth in range(1, max(len(parts) for parts in whole)):
        names = ["/".join(parts[-depth:]) for parts in whole]
        if len(set(names)) == len(names):
            return names
    raise InputError("report: the same folder is given twice; give each folder once")


def _table(rows: Sequence[SystemRow]) -> str:
    heads = [
        ("text", "System"),
        ("", "Clean<br>LAS"),
        ("", "Attacked<br>LAS"),
        ("text", "LAS, clean<br>to attacked"),
        ("", "Success<br>rate, %"),
        ("", "Edits a<br>sentence"),
        ("", "Clean<br>UAS"),
        ("", "Attacked<br>UAS"),
        ("", "Sentences"),
        ("text", "Attack"),
    ]
    head = "".join(f'<th scope="col" class="{kind}">{text}</th>' for kind, text in heads)
    scores = [s for row in rows for s in (row.clean_las, row.attacked_las) if s is not None]
    body = "".join(
        f'<tr><th scope="row">{escape(row.name)}</th><td>{_score(row.clean_las)}</td>'
        f'<td class="strong">{_score(row.attacked_las)}</td>'
        f'<td class="text">{_fall(row, scores)}</td><td>{_score(row.success_rate)}</td>'
        f"<td>{_score(row.edits_per_sentence)}</td><td>{_score(row.clean_uas)}</td>"
        f"<td>{_score(row.attacked_uas)}</td><td>{row.n_sentences:,}</td>"
        f'<td class="text">{escape(row.attack)}</td></tr>'
        for row in rows
    )
    return (
        '<div class="panel"><div class="scroll" tabindex="0" role="region" aria-label="Systems">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
        '<p class="note">UAS: words with the right head, in percent. LAS: words with the right '
        "head and the right label. Success rate: sentences in which the attack lowered the score. "
        "Ring: score on the original sentences; dot: score on the perturbed ones.</p>"
    )


def _score(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1f}"


def _fall(row: SystemRow, scores: Sequence[float]) -> str:
    """Draw a ring at the clean score and a dot at the attacked one, on one scale for all rows."""
    if row.clean_las is None or row.attacked_las is None:
        return MISSING
    low, high = min(scores), max(scores)
    clean, attacked = (
        10 + 110 * (score - low) / ((high - low) or 1.0)
        for score in (row.clean_las, row.attacked_las)
    )
    return (
        '<svg class="fall" width="130" height="20" viewBox="0 0 130 20" aria-hidden="true">'
        f'<line x1="10" y1="10" x2="120" y2="10"/>'
        f'<line class="drop" x1="{attacked:.1f}" y1="10" x2="{clean:.1f}" y2="10"/>'
        f'<circle class="attacked" cx="{attacked:.1f}" cy="10" r="6"/>'
        f'<circle class="clean" cx="{clean:.1f}" cy="10" r="5.5"/></svg>'
    )


def _plot(plot: Plot) -> str:
    with_epochs = any(curve.epochs for curve in plot.curves)
    heads = [plot.x_label, *([EPOCH] if with_epochs else []), plot.y_label]
    head = "".join(f'<th scope="col">{escape(label)}</th>' for label in heads)
    rows = "".join(
        f'<tr><th scope="row">{escape(curve.name)}</th><td>{x:g}</td>{epoch}<td>{y:.2f}</td></tr>'
        for curve in plot.curves
        for x, epoch, y in zip(curve.x, _epoch_cells(curve, with_epochs), curve.y, strict=True)
    )
    return (
        f'<figure class="panel"><figcaption><h3>{escape(plot.title)}</h3></figcaption>'
        f"{draw_plot(plot)}<details><summary>Figures</summary><table><thead><tr>"
        f'<th scope="col" class="text">Line</th>{head}</tr></thead><tbody>{rows}</tbody></table>'
        "</details></figure>"
    )


def _epoch_cells(curve: Curve, shown: bool) -> list[str]:
    known = [f"{epoch:g}" for epoch in curve.epochs] or [MISSING] * len(curve.x)
    return [f"<td>{cell}</td>" if shown else "" for cell in known]


def _sentences(systems: Sequence[AttackFolder]) -> list[str]:
    named = {id(pair): system.row.name for system in systems for pair in system.pairs}
    chosen = most_telling([pair for system in systems for pair in system.pairs])
    if not chosen:
        return ["<p>The attack lowered the score of no sentence, so there is none to show.</p>"]
    return [LEGEND, *(_sentence(pair, named[id(pair)]) for pair in chosen)]


def _sentence(pair: TreePair, name: str) -> str:
    swaps = ", ".join(
        f"<mark>{escape(pair.words_before[i])}</mark> became "
        f"<mark>{escape(pair.words_after[i])}</mark>"
        for i in pair.edited
    )
    these = "it" if len(pair.edited) == 1 else "them"
    changed = len(changed_elsewhere(pair))
    others = f"{changed} other {'word' if changed == 1 else 'words'}"
    before, after = (wrong_words(pair.gold, tree) for tree in (pair.before, pair.after))
    return (
        f'<figure class="panel"><figcaption><p>{swaps}. With {these}, the parser '
        f"“{escape(name)}” changed its mind about {others}: {before} of "
        f"{len(pair.words_before)} words had a wrong head or label before, "
        f"{after} have one after.</p></figcaption>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Trees before and after">'
        f"{draw_pair(pair)}</div></figure>"
    )
