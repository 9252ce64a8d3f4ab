"""The page's tables about the adversarial examples themselves: effort, fluency, words, candidates.

They show what ``summary.json`` holds and leave out what it does not: measures that
`robustparse measure` was not asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robustparse.evaluation.comparison import Difference
from robustparse.evaluation.lines import SUMMARY
from robustparse.files import as_written
from robustparse.metrics import score_label
from robustparse.reports.curves import WITHIN, success_within
from robustparse.reports.folders import AttackFolder, Json, number

# A summary holds one of them if there is anything to show; `robustparse measure` adds the second.
MEASURED = ("edits_per_success", "word_similarity")
MISSING = "\N{EN DASH}"
ARROW = " \N{RIGHTWARDS ARROW} "

EFFORT = (
    *("System", "Edits\nall", "Edits\nsuccess", "Perturbed\nwords %"),
    *("Queries\nall", "Queries\nsuccess"),
    *("Queries\nfailure", "Perplexity", "Word\nsimilarity", "Sentence\nsimilarity"),
    *("Changed\nwords", "Out of\nvocabulary", "Out of\ntraining"),
)
TAGS, RELATIONS = "Parts of speech", "Relations"
DIFFERENCES = ("System", "Score", "First", "Points [95 %]", "p", "p, Holm")


def shown(value: float | None, form: str = ".1f") -> str:
    """Write a value in a format; a dash where there is none."""
    return MISSING if value is None else format(value, form)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of rows, each its name and its other cells.

    The label is for screen readers; a line break in a heading is one on the page.
    """

    label: str
    heads: tuple[str, ...]
    rows: list[tuple[str, list[str]]]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, tables and the note of this name below them; which models gave perplexities."""

    title: str
    note: str
    tables: list[Table]
    models: str = ""


def details(systems: Sequence[AttackFolder]) -> list[Section]:
    """Make the sections; there are none where no summary holds anything to show.

    Raises:
        InputError: a summary is not as `attack` and `measure` write it.
    """
    known = [system for system in systems if any(key in system.summary for key in MEASURED)]
    if not known:
        return []
    named = len(known) > 1
    rows, tags, relations, candidates, classes = [], [], [], [], []
    for system in known:
        with as_written(system.path / SUMMARY, "attack"):
            rows.append((system.name, _effort(system.summary)))
            classes += [_classes(system, named)] if system.summary.get("success_by_class") else []
            tags += _groups(system, "by_tag", TAGS, named)
            relations += _groups(system, "by_relation", RELATIONS, named)
            candidates += [_candidates(system, named)] if system.summary.get("candidates") else []
    models = "; ".join(dict.fromkeys(filter(None, (_model(one.summary) for one in known))))
    effort = [Table("Adversarial examples", EFFORT, rows)]
    sections = (
        Section("The adversarial examples", "effort", effort, models),
        Section(WITHIN, "budgets", _within(known)),
        Section("Success by class", "classes", classes),
        Section(TAGS, "tags", tags),
        Section(RELATIONS, "relations", relations),
        Section("Candidates", "candidates", candidates),
    )
    return [section for section in sections if section.tables]


def compared(names: Sequence[str], differences: Sequence[Difference]) -> list[Section]:
    """Make the section about differences to the first system; none where none were computed."""
    if not differences:
        return []
    rows = [
        (
            names[1 + one.system],
            [
                f"{one.measure} {score_label(one.score)}",
                f"{one.first:.2f}",
                f"{points.estimate:+.2f} [{points.lower:+.2f}, {points.upper:+.2f}]",
                f"{one.tested.p:.4f}",
                f"{one.tested.adjusted:.4f}",
            ],
        )
        for one in differences
        for points in [one.tested.points]
    ]
    title = f"Differences from {names[0]}"
    return [Section(title, "differences", [Table(title, DIFFERENCES, rows)])]


def _effort(one: Json) -> list[str]:
    return [
        _cell(one, ".1f", "edits_per_sentence"),
        _cell(one, ".1f", "edits_per_success"),
        _cell(one, ".1f", "perturbed_words"),
        _cell(one, ".1f", "queries_per_sentence", "charged"),
        _cell(one, ".1f", "queries_per_success", "charged"),
        _cell(one, ".1f", "queries_per_failure", "charged"),
        _change(one, ".1f", ("perplexity", "clean"), ("perplexity", "attacked")),
        _cell(one, ".2f", "word_similarity", "changed"),
        _cell(one, ".2f", "sentence_similarity", "changed"),
        _cell(one, ",.0f", "unseen", "changed"),
        _change(one, ",.0f", ("unseen", "oov", "before"), ("unseen", "oov", "after")),
        _change(one, ",.0f", ("unseen", "oot", "before"), ("unseen", "oot", "after")),
    ]


def _model(summary: Json) -> str:
    """Name the language model that gave the perplexities by the last part of its path."""
    found = summary.get("perplexity") or {}
    if not found.get("model"):
        return ""
    masked = " (masked: pseudo-perplexity)" if found.get("kind") == "masked" else ""
    return str(found["model"]).rstrip("/").rpartition("/")[2] + masked


def _within(systems: Sequence[AttackFolder]) -> list[Table]:
    """Return a table with a column a budget."""
    found = success_within(systems)
    rows = [(name, [f"{rate:.1f}" for rate in rates.values()]) for name, rates in found.items()]
    budgets = list(next(iter(found.values()), {}))
    return [Table(WITHIN, ("System", *(f"{most:,}" for most in budgets)), rows)] if rows else []


def _classes(system: AttackFolder, named: bool) -> Table:
    classes = system.summary["success_by_class"]
    columns = {"sentences": ",.0f", "success_rate": ".1f"}
    rows = [
        (one, [_cell(classes, form, one, key) for key, form in columns.items()]) for one in classes
    ]
    heads = ("Class", "Sentences", "Success\nrate, %")
    return Table("Success by class", heads, rows, system.name if named else "")


def _groups(system: AttackFolder, key: str, label: str, named: bool) -> list[Table]:
    """Make the table of a system by the kind of the changed words, if its summary has any."""
    groups, scores = system.summary.get(key), system.task.scores
    if not groups:
        return []
    lost = [f"{score_label(score)} lost" for score in scores]
    heads = (label, "Sentences", "Words", "Success\nrate, %", *lost)
    columns = {"sentences": ",.0f", "changed": ",.0f", "success_rate": ".1f"}
    columns |= {f"{score}_drop": ".1f" for score in scores}
    rows = [
        (kind, [_cell(groups, form, kind, column) for column, form in columns.items()])
        for kind in groups
    ]
    return [Table(label, heads, rows, system.name if named else "")]


def _candidates(system: AttackFolder, named: bool) -> Table:
    counts = system.summary["candidates"]
    means = counts["means"]
    generators = list(means)
    stages = [stage for each in generators[:1] for stage in means[each]]
    # A single generator's row would repeat that of all.
    listed = generators[1:] if len(generators) == 2 else generators
    rows = [(each, [_cell(means, ".2f", each, stage) for stage in stages]) for each in listed]
    slots = f"{counts.get('slots', 0):,} words tried"
    title = f"{system.name}: {slots}" if named else slots
    return Table("Candidates per word", ("Generator", *stages), rows, title)


def _change(record: Json, form: str, before: Sequence[str], after: Sequence[str]) -> str:
    cells = [_cell(record, form, *keys) for keys in (before, after)]
    return MISSING if cells == [MISSING] * 2 else ARROW.join(cells)


def _cell(record: Json, form: str, *keys: str) -> str:
    found: Any = record
    for key in keys:
        found = None if found is None else found.get(key)
    return shown(number(found), form)
