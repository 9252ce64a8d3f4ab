"""The page's tables about attacks: effort, fluency, words, candidates, differences, recipes.

They show the values in ``summary.json``; measures that were not taken are left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from robustparse.evaluation.comparison import Difference
from robustparse.evaluation.records import SUMMARY, CandidateMeans
from robustparse.files.json_text import as_written
from robustparse.metrics import score_label
from robustparse.reports.attacked_systems import AttackedSystem
from robustparse.reports.curves import WITHIN, success_within
from robustparse.reports.tables import ARROW, MISSING, Section, Table, formatted

# A summary with details has one of these keys; `robustparse measure` adds the second.
MEASURED = ("edits_per_success", "word_similarity")

# Columns of the effort: the format, and the keys of one value of a summary, or of two.
EFFORT: Mapping[str, tuple[str, *tuple[tuple[str, ...], ...]]] = {
    "Edits\nall": (".1f", ("edits_per_sentence",)),
    "Edits\nsuccess": (".1f", ("edits_per_success",)),
    "Perturbed\nwords %": (".1f", ("perturbed_words",)),
    "Queries\nall": (".1f", ("queries_per_sentence", "charged")),
    "Queries\nsuccess": (".1f", ("queries_per_success", "charged")),
    "Queries\nfailure": (".1f", ("queries_per_failure", "charged")),
    "Perplexity": (".1f", ("perplexity", "clean"), ("perplexity", "attacked")),
    "Word\nsimilarity": (".2f", ("word_similarity", "changed")),
    "Sentence\nsimilarity": (".2f", ("sentence_similarity", "changed")),
    "Changed\nwords": (",.0f", ("unseen", "changed")),
    "Out of\nvocabulary": (",.0f", ("unseen", "oov", "before"), ("unseen", "oov", "after")),
    "Out of\ntraining": (",.0f", ("unseen", "oot", "before"), ("unseen", "oot", "after")),
}
TAGS, RELATIONS = "Parts of speech", "Relations"
RECIPE = ("Part", "Is", "With")
DIFFERENCES = ("System", "Score", "First", "Points [95 %]", "p", "p, Holm")


def details(systems: Sequence[AttackedSystem]) -> list[Section]:
    """Make the sections about attacks; none if no summary has details.

    Raises:
        InputError: a summary is damaged.
    """
    known = [system for system in systems if any(key in system.summary for key in MEASURED)]
    if not known:
        return []
    named = len(known) > 1
    rows, tags, relations, candidates, classes = [], [], [], [], []
    for system in known:
        with as_written(system.path / SUMMARY, "attack"):
            title = system.name if named else ""
            cells = [_cells(system.summary, *column) for column in EFFORT.values()]
            rows.append((system.name, cells))
            classes += _classes(system, title)
            tags += _groups(system, "by_tag", TAGS, title)
            relations += _groups(system, "by_relation", RELATIONS, title)
            if counts := system.summary.get("candidates"):
                candidates.append(_candidates(title, counts))
    models = "; ".join(dict.fromkeys(filter(None, (_model(system.summary) for system in known))))
    effort = [Table("Adversarial examples", ("System", *EFFORT), rows)]
    sections = (
        Section("The adversarial examples", "effort", effort, models),
        Section(WITHIN, "budgets", _within(known)),
        Section("Success by class", "classes", classes),
        Section(TAGS, "tags", tags),
        Section(RELATIONS, "relations", relations),
        Section("Candidates", "candidates", candidates),
    )
    return [section for section in sections if section.tables]


def compared(
    names: Sequence[str], differences: Sequence[Difference], note: str = "differences"
) -> list[Section]:
    """Make the section about differences from the first system; none without differences."""
    if not differences:
        return []
    rows = [
        (
            names[1 + difference.system],
            [
                f"{difference.measure} {score_label(difference.score)}",
                f"{difference.first:.2f}",
                f"{points.estimate:+.2f} [{points.lower:+.2f}, {points.upper:+.2f}]",
                f"{difference.p:.4f}",
                f"{difference.adjusted:.4f}",
            ],
        )
        for difference in differences
        for points in [difference.points]
    ]
    title = f"Differences from {names[0]}"
    return [Section(title, note, [Table(title, DIFFERENCES, rows)])]


def _model(summary: Mapping[str, Any]) -> str:
    """Name the language model that gave the perplexities by the last part of its path."""
    perplexity = summary.get("perplexity") or {}
    if not perplexity.get("model"):
        return ""
    masked = " (masked: pseudo-perplexity)" if perplexity.get("kind") == "masked" else ""
    return str(perplexity["model"]).rstrip("/").rpartition("/")[2] + masked


def _within(systems: Sequence[AttackedSystem]) -> list[Table]:
    """Make a table with a column for each budget."""
    success = success_within(systems)
    rows = [(name, [f"{rate:.1f}" for rate in rates.values()]) for name, rates in success.items()]
    budgets = list(next(iter(success.values()), {}))
    return [Table(WITHIN, ("System", *(f"{most:,}" for most in budgets)), rows)] if rows else []


def _classes(system: AttackedSystem, title: str) -> list[Table]:
    """Make a system's table by gold class, if its summary has such counts."""
    classes = system.summary.get("success_by_class")
    columns = {"sentences": ",.0f", "success_rate": ".1f"}
    heads = ("Class", "Sentences", "Success\nrate, %")
    return [Table("Success by class", heads, _rows_of(classes, columns), title)] if classes else []


def _groups(
    system: AttackedSystem, key: Literal["by_tag", "by_relation"], label: str, title: str
) -> list[Table]:
    """Make a system's table by kind of the changed words, if its summary has such counts."""
    groups, scores = system.summary.get(key), system.task.scores.names
    lost = [f"{score_label(score)} lost" for score in scores]
    heads = (label, "Sentences", "Words", "Success\nrate, %", *lost)
    columns = {"sentences": ",.0f", "changed": ",.0f", "success_rate": ".1f"}
    columns |= {f"{score}_drop": ".1f" for score in scores}
    return [Table(label, heads, _rows_of(groups, columns), title)] if groups else []


def _rows_of(
    groups: Mapping[str, Mapping[str, Any]], columns: Mapping[str, str]
) -> list[tuple[str, list[str]]]:
    """Make a row for each group; the columns map keys of a group to formats."""
    return [
        (name, [_cells(group, form, (key,)) for key, form in columns.items()])
        for name, group in groups.items()
    ]


def _candidates(name: str, counts: CandidateMeans) -> Table:
    means = counts["means"]
    generators = list(means)
    stages = [stage for each in generators[:1] for stage in means[each]]
    # A single generator's row would repeat that of all.
    listed = generators[1:] if len(generators) == 2 else generators
    rows = _rows_of({each: means[each] for each in listed}, dict.fromkeys(stages, ".2f"))
    slots = f"{counts.get('slots', 0):,} words tried"
    title = f"{name}: {slots}" if name else slots
    return Table("Candidates per word", ("Generator", *stages), rows, title)


def _cells(record: Mapping[str, Any], form: str, *paths: Sequence[str]) -> str:
    """Show the values at some paths of keys, such as one before and one after the attack."""
    cells = []
    for path in paths:
        value: Any = record
        for key in path:
            value = None if value is None else value.get(key)
        cells.append(formatted(value, form))
    return MISSING if {*cells} == {MISSING} else ARROW.join(cells)


def recipes(systems: Sequence[AttackedSystem]) -> list[Table]:
    """Make a table for each attack from ``run.json``; equal settings share a table."""
    attacks: dict[str, list[str]] = {}
    for system in systems:
        key = json.dumps(system.run.get("settings"))
        attacks.setdefault(key, []).append(system.name)
    tables = []
    for key, same in attacks.items():
        names, rows = ", ".join(same), list(_rows(_arguments(json.loads(key))))
        title = names if len(attacks) > 1 else ""
        tables += [Table(f"What attacked {names}", RECIPE, rows, title)] if rows else []
    return tables


def _arguments(component: Any) -> Mapping[str, Any]:
    arguments = component.get("init_args") if isinstance(component, Mapping) else None
    return arguments if isinstance(arguments, Mapping) else {}


def _rows(arguments: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for name, value in arguments.items():
        for component in value if isinstance(value, list) else [value]:
            if isinstance(component, Mapping):
                yield name, [_kind(component), ", ".join(_settings(_arguments(component)))]
            elif component is not None:
                yield name, [_written(component), ""]


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {_written(value)}" for name, value in settings.items()]


def _written(value: Any) -> str:
    """Return a setting as text; a component has its settings in brackets."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Mapping) and "class_path" in value:
        inner = ", ".join(_settings(_arguments(value)))
        return f"{_kind(value)} ({inner})" if inner else _kind(value)
    return value if isinstance(value, str) else json.dumps(value)


def _kind(component: Mapping[str, Any]) -> str:
    """Return the class name of a component."""
    return str(component.get("class_path", "")).rpartition(".")[2]
