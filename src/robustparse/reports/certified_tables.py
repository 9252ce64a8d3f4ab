"""The page's tables and picture of certificates: clean, attacked and certified scores by edits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from robustparse.evaluation.certified_scores import TREE
from robustparse.evaluation.records import Percentages
from robustparse.metrics import percent, score_label, score_name
from robustparse.reports.attacked_systems import AttackedSystem
from robustparse.reports.certified_systems import CertifiedSystem
from robustparse.reports.curves import NamedPlots
from robustparse.reports.plots import Curve, Plot
from robustparse.reports.tables import MISSING, Table, by_task, formatted
from robustparse.tasks.certificate_drawing import at_edits, edit_number

ALL = "all"
EDITS = "words that may be changed"
Bound = Mapping[str, Percentages]
"""Scores by number of edits."""

_NOTE = (
    "Solid: the score that is certified for this number of substitutions; the band reaches up to "
    "the score if all undecided answers are right."
)
_ATTACKED = (
    " Dashed: attacked; a sentence in which the attack changed more words counts with its original "
    "score. On the same sentences, an attack within the substitution table never falls below the "
    "certified line of its model; other attacks may."
)
_OTHERS = " Not all of these systems were scored on the same sentences."


def certified_tables(systems: Sequence[CertifiedSystem]) -> list[Table]:
    """Make a table for each task, with a row for each system and number of edits."""
    tables = []
    for of_task in by_task(systems):
        scores = [*of_task[0].summary["clean"]]
        heads = ("Certified", *map(score_label, scores), "Undecided", "Inputs tried")
        rows = [row for system in of_task for row in _rows(system, scores)]
        tables.append(Table(f"Certified scores, {of_task[0].task.name}", heads, rows))
    return tables


def summarize_certified(systems: Sequence[CertifiedSystem]) -> str:
    """Say what score each system keeps for certain; empty if that is not known."""
    kept = []
    for system in systems:
        summary, headline = system.summary, system.task.scores.headline
        edits = max(summary["certified"], key=edit_number, default="")
        clean = summary["clean"][headline]
        lower = summary["certified"][edits]["lower"][headline] if edits else None
        if clean is not None and lower is not None:
            kept.append(
                f"“{system.name}” keeps at least {lower:.1f} of {clean:.1f} "
                f"{score_name(headline)} {at_edits(edits)}"
            )
    listed = ", ".join(kept)
    return f"Whatever an attack within the substitution table does, {listed}." if kept else ""


def edit_plots(
    certified: Sequence[CertifiedSystem], attacked: Sequence[AttackedSystem]
) -> list[NamedPlots]:
    """Plot clean, certified and attacked scores against the number of edits, by score and system.

    Certified systems come first. Systems under attack are plotted if a system of their task is
    certified.
    """
    named: list[NamedPlots] = []
    for of_task in by_task(certified):
        task = of_task[0].task
        under_attack = [system for system in attacked if system.task.name == task.name]
        every = {edits for system in of_task for edits in system.summary["certified"]}
        edits = ["0", *sorted(every | {ALL}, key=edit_number)]
        note = _NOTE + (_ATTACKED if under_attack else "")
        note += "" if _same_sentences(of_task, under_attack) else _OTHERS
        curves: list[tuple[str, tuple[Bound, Bound | None]]] = []
        for proven in of_task:
            bounds, clean = proven.summary["certified"], {"0": proven.summary["clean"]}
            lower = clean | {each: bound["lower"] for each, bound in bounds.items()}
            upper = clean | {each: bound["upper"] for each, bound in bounds.items()}
            curves.append((proven.name, (lower, upper)))
        for system in under_attack:
            within = {each: scores_within(system, each) for each in edits}
            curves.append((system.name, (within, None)))
        scores = sorted(of_task[0].summary["clean"], key=task.scores.headline.__ne__)
        for name, bounded in curves:
            plots = (_plot(name, score, edits, *bounded) for score in scores)
            named.append((name, [replace(plot, note=note) for plot in plots if plot is not None]))
    return named


def _plot(
    name: str, score: str, edits: Sequence[str], lower: Bound, upper: Bound | None
) -> Plot | None:
    """Plot a score of a system at the numbers of edits at which it is known; None if at none."""
    x = [at for at, each in enumerate(edits) if lower.get(each, {}).get(score) is not None]
    if not x:
        return None
    low, high = (
        tuple(float(bound[edits[at]][score] or 0) for at in x) for bound in (lower, upper or lower)
    )
    label = score_label(score)
    curve = Curve(name, tuple(map(float, x)), low, upper=high if upper else ())
    return Plot(f"{label} by number of edits", EDITS, f"{label}, %", (curve,), ticks=tuple(edits))


def scores_within(system: AttackedSystem, edits: str) -> Percentages:
    """Compute scores where an attack that changed more than ``edits`` words counts as none.

    Its sentence then has its original score. If sentences are missing, only the scores on the
    originals (``0``) and those under the attack (``all``) are known.
    """
    scores, most = system.task.scores, edit_number(edits)
    if len(system.sentences) != system.summary["n_sentences"]:
        known = {0: system.summary["clean"], inf: system.summary["attacked"]}
        return dict(known.get(most, {}))
    sums: Counter[str] = Counter()
    whole = trees = 0
    for sentence in system.sentences:
        record = sentence.record
        right = record["attacked"] if len(record["edited"]) <= most else record["clean"]
        sums.update({"counted": record["counted"], **{name: right[name] for name in scores.sums}})
        trees += record["counted"] > 0
        whole += 0 < record["counted"] == right[scores.sums[-1]]
    values = dict(scores.score(sums)) if sums["counted"] else {}
    return {**values, TREE: percent(whole, trees) if trees else None}


def _rows(system: CertifiedSystem, scores: Sequence[str]) -> list[tuple[str, list[str]]]:
    summary = system.summary
    clean = [formatted(summary["clean"].get(score)) for score in scores]
    rows = [(f"{system.name}, clean", [*clean, MISSING, MISSING])]
    for edits, bounds in sorted(
        summary["certified"].items(), key=lambda pair: edit_number(pair[0])
    ):
        cells = []
        for score in scores:
            lower, upper = (bounds[bound].get(score) for bound in ("lower", "upper"))
            between = "" if lower == upper else f" to {formatted(upper)}"
            cells.append(f"{formatted(lower)}{between}")
        cells += [f"{bounds['undecided']:,}", f"{bounds['inputs']:,}"]
        rows.append((f"{system.name}, {at_edits(edits)}", cells))
    return rows


def _same_sentences(
    certified: Sequence[CertifiedSystem], attacked: Sequence[AttackedSystem]
) -> bool:
    summaries = [system.summary for system in certified]
    sizes = {(each["n_sentences"], each.get("n_words")) for each in summaries}
    sizes |= {(each.summary["n_sentences"], each.summary["n_words"]) for each in attacked}
    digests = {each.get("sha256", {}).get("data") for each in summaries}
    digests |= {each.run.get("sha256", {}).get("data") for each in attacked}
    return len(sizes) == 1 and len(digests - {None}) < 2
