"""The tables and pictures of ``docs``, generated from ``bench/results``.

    python bench/results.py            write them
    python bench/results.py --check    exit with 1 if a page differs from what would be written

A page holds marks such as ``<!-- table: ewt_attacks -->``; what stands between a mark and ``<!--
end -->`` is generated. ``bench/results/tables.yaml`` says which rows and columns a table or
picture shows. ``bench/results/papers.yaml`` holds the published values next to them, and the cells
of the papers' own tables, which ``<!-- cells: zheng2020 -->`` shows (``bench/papers.py``). A
results file has one JSON object a line: what was trained (``system``, ``configs``,
``training_seed``), how it was attacked, the command, the processor, and the figures, with counts a
sentence for intervals; or ``printed``, the cells of a table whose run was not kept.
"""

import argparse
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import papers
import studies
from robustparse.evaluation import significance
from robustparse.evaluation.significance import AttackedCounts, Interval, Scores

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
DOCS = ROOT / "docs"
MARK = re.compile(r"(<!-- (table|picture|figures|cells): (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NOTHING = "-"

Row = Mapping[str, Any]
Value = Interval | float | int | str | None


def read(study: str, folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the rows of a study's results file, none if there is no file."""
    path = folder / f"{study}.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def key(row: Row) -> tuple[Any, ...]:
    """Return what identifies a row in its study."""
    return tuple(row.get(name) for name in ("system", "attack", "budget", "corpus", "space"))


@dataclass(frozen=True)
class Context:
    """What a column may look at besides the row itself.

    Args:
        rows: all rows of the study, by key.
        bases: by name, which row another one is compared with: for a field of the row, a pattern
            and what replaces it.
        titles: of systems and attacks.
        study: its name.
    """

    rows: Mapping[tuple[Any, ...], Row]
    bases: Mapping[str, Mapping[str, Sequence[str]]]
    titles: Mapping[str, str]
    study: str

    def base(self, row: Row, name: str) -> Row | None:
        """Return the row that another one is compared with, None if it is the same or missing."""
        changed = {
            field: re.sub(pattern, new, row[field], count=1)
            for field, (pattern, new) in self.bases[name].items()
        }
        other = self.rows.get(key({**row, **changed}))
        return None if other is row else other

    def of_system(self, row: Row) -> list[Row]:
        """Return the rows of a row's system."""
        return [each for each in self.rows.values() if each["system"] == row["system"]]

    def paper(self, row: Row, expression: str) -> Value:
        """Return the published value of the cell that an expression of a row fills."""
        return papers.published(self.study, named(row), expression)


def named(row: Row) -> str:
    """Return a row's name in ``papers.yaml``, such as ``word zheng2020_blackbox 15``."""
    budget = row.get("budget")
    parts = (row["system"], row.get("attack"), budget and f"{100 * budget:.0f}")
    parts += (row.get("corpus"), row.get("space"))
    return " ".join(str(part) for part in parts if part)


# The figures of a row. A measured one has counts a sentence, so that it has an interval.


def counts(row: Row) -> AttackedCounts:
    """Return the correct arcs, labels or texts of each sentence, by the task's last score."""
    return AttackedCounts(*(row["counts"][name] for name in ("words", "clean", "attacked")))


def heads(row: Row) -> AttackedCounts | None:
    """Return the correct heads of each sentence; old rows have only their sum."""
    right = row["counts"].get("correct_heads")
    return right and AttackedCounts(row["counts"]["words"], right["clean"], right["attacked"])


def success(row: Row) -> Interval:
    """Estimate the percentage of sentences in which an attack succeeds, without skipped ones."""
    count = row["n_sentences"] - row["n_skipped"]
    right = round(row["success_rate"] * count / 100)
    succeeded = [[1] * right + [0] * (count - right)]
    return significance.paired_bootstrap(lambda scores: scores[0], succeeded, [1] * count, seed=0)


def left(row: Row) -> Interval:
    """Estimate what is right under attack, or certified, in percent of all parts of answers."""
    of = counts(row)
    return of.estimate(lambda scores: scores[0], of.attacked)


def recovered_share(scores: Scores) -> Scores:
    """Compute (A_adv - A_clean) / (C_clean - A_clean) in percent from A_clean, C_clean, A_adv.

    A is a score under attack, C a clean score. The share is NaN where nothing was lost.
    """
    a_clean, c_clean, a_adv = scores
    lost = np.where(c_clean > a_clean, c_clean - a_clean, np.nan)
    share: Scores = 100 * (a_adv - a_clean) / lost
    return share


def won_back(defended: AttackedCounts, clean: AttackedCounts) -> Interval:
    """Estimate the percentage of the clean model's loss that a defended one wins back."""
    correct = (clean.attacked, clean.clean, defended.attacked)
    return defended.estimate(recovered_share, *correct, others=(clean,))


def harm_left(second: AttackedCounts, first: AttackedCounts) -> Interval:
    """Estimate the percentage of a first attack's harm that a second one does."""
    correct = (first.attacked, first.clean, second.attacked)
    return second.estimate(lambda scores: 100 - recovered_share(scores), *correct, others=(first,))


COMPARISONS: dict[str, Callable[[AttackedCounts, AttackedCounts], Interval]] = {
    "lost_beyond": AttackedCounts.lost_beyond,
    "gained": AttackedCounts.gained,
    "won_back": won_back,
    "harm_left": harm_left,
}


def heads_left(row: Row) -> Value:
    """Estimate the UAS under attack; old rows have it without an interval."""
    right = heads(row)
    if right is None:
        return float(row["attacked"]["uas"])
    return right.estimate(lambda scores: scores[0], right.attacked)


def within(row: Row, most: float) -> AttackedCounts:
    """Return the counts where a success that changes more than a share of the words is none."""
    whole = counts(row)
    columns = zip(row["counts"]["changed"], whole.clean, whole.attacked, strict=True)
    attacked = [after if share <= most else before for share, before, after in columns]
    return replace(whole, attacked=attacked)


def score(row: Row, *path: str) -> Value:
    """Return a score of the seeds of a row: the only one, or mean ± standard deviation."""
    value: Any = row["scores"]
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, dict):
        return f"{value['mean']:.1f} ± {value['deviation']:.1f}"
    return float(value) if value is not None else None


def joined(rows: Sequence[Row]) -> list[Row]:
    """Join the seeds of a system that were measured one by one: means and deviations."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(re.sub(r"_seed_\d+$", "", row["system"]), []).append(row)
    return [
        {
            **group[0],
            "system": name,
            "seeds": group[0].get("seeds", [row.get("training_seed") or 0 for row in group]),
            "scores": _means([row["scores"] for row in group]),
        }
        for name, group in groups.items()
    ]


def _means(scores: Sequence[Any]) -> Any:
    if len(scores) == 1 or None in scores:
        return scores[0]
    if isinstance(scores[0], dict):
        return {name: _means([one.get(name) for one in scores]) for name in scores[0]}
    return {"mean": mean(scores), "deviation": stdev(scores)}


def adversaries(row: Row, of_study: Mapping[str, Row], operation: str, *others: str) -> Value:
    """Return how many of their adversaries several systems share, in percent.

    An adversary of a system is a perturbed text that it gets wrong although it gets the original
    right.

    Args:
        row: the row of a system; of joined seeds, it has the answers of the first.
        of_study: the rows of the study, by name.
        operation: an operation, for its share of the adversaries of every system; or ``all``, for
            the share of these among the adversaries of any system.
        others: the names of the rows of other systems, which rest on the same perturbed texts.
    """
    rows = [row, *map(of_study.get, others)]
    if not all(one and "outcomes" in one for one in rows):
        return None
    fooled = [_fooled(one["outcomes"]) for one in rows if one]
    shared, of_any = set.intersection(*fooled), set.union(*fooled)
    whole = of_any if operation == "all" else shared
    some = [name for name, _ in shared if operation in (name, "all")]
    return 100 * len(some) / len(whole) if whole else None


def _fooled(outcomes: Mapping[str, Mapping[str, str]]) -> set[tuple[str, int]]:
    """Return operation and number of the texts that are right before it and wrong after it."""
    return {
        (name, number)
        for name, digits in outcomes.items()
        if name != "test"
        for number, pair in enumerate(zip(digits["original"], digits["perturbed"], strict=True))
        if pair == ("1", "0")
    }


def paired_p(row: Row, of_study: Mapping[str, Row], other: str) -> Value:
    """Return the p of the paired permutation test of what two systems get right in a test set.

    Of joined seeds, the answers of the first are compared.
    """
    rows = (row, of_study.get(other, {}))
    if not all("outcomes" in one for one in rows):
        return None
    right = [[*map(int, one["outcomes"]["test"]["original"])] for one in rows]
    return f"{significance.paired_permutation(*right, seed=0):.2f}"


TOGETHER: dict[str, Callable[..., Value]] = {"adversaries": adversaries, "paired_p": paired_p}


def _number(*path: str) -> Callable[..., Value]:
    def number(row: Row, *more: str) -> Value:
        value: Any = row
        for name in (*path, *more):
            value = value and value.get(name)
        return None if value is None else float(value)

    return number


def _unseen(row: Row) -> str:
    return f"{row['unseen']['oot']['after']} of {row['unseen']['changed']}"


def _perplexity(row: Row) -> str:
    return ", ".join(f"{row['perplexity'][when]['median']:.0f}" for when in ("clean", "attacked"))


def _shared(row: Row, name: str) -> Value:
    """Return a mean over the sentences that all attacks change with success."""
    mean_of = row.get("shared_successes", {}).get(name)
    return f"{mean_of:.3f}" if mean_of is not None and name == "similarity" else mean_of


def _left(row: Row) -> float:
    return float(list(row["candidates"]["means"]["all"].values())[-1])


def _vetoed(row: Row) -> Value:
    judged = row["candidates"].get("vetoed", {}).get("ReferenceParsers", {}).get("all")
    return judged and f"{judged['percent']:.0f}"


def _candidates_of(row: Row, generator: str, stage: str) -> Value:
    means = row["candidates"]["means"].get(generator)
    return means and f"{means[stage]:.2f}"


def _similarity(row: Row) -> Value:
    similarity = row["sentence_similarity"]
    return similarity and f"{similarity['mean']:.2f}"


def _defenses(row: Row) -> str | None:
    named = [f"`{name}`" for name in row["configs"] if name.startswith("defense/")]
    return ", ".join(named) or None


def _copulas(row: Row) -> str:
    every = row["copulas"]["all"]
    return f"{100 * every['copulas'] / every['changed']:.0f}"


def _uas_lost(row: Row) -> Value:
    right = heads(row)
    return right.lost() if right else row["clean"]["uas"] - row["attacked"]["uas"]


COLUMNS: dict[str, Callable[..., Value]] = {
    "clean": _number("clean"),
    "attacked": _number("attacked"),
    "static": _number("static"),
    "upper": _number("upper"),
    "certified": left,
    "left": left,
    "heads_left": heads_left,
    "budget": lambda row: None if row["budget"] is None else f"{100 * row['budget']:.0f}",
    "success": success,
    "success_rate": _number("success_rate"),
    "success_within": lambda row, most: row["success_within"].get(most, row["success_rate"]),
    "targeted": _number("targeted", "success_rate"),
    "strict": _number("strict_success_rate", "uas"),
    "lost": lambda row: counts(row).lost(),
    "uas_lost": _uas_lost,
    "lost_within": lambda row, most: within(row, float(most)).lost(),
    "edits": _number("edits_per_sentence"),
    "words_changed": lambda row: f"{row['edits_per_sentence']:.2f}",
    "changed": _number("changed_of_successes"),
    "queries": _number("queries_per_sentence", "charged"),
    "similarity": _similarity,
    "shared": _shared,
    "unseen": _unseen,
    "unseen_words": lambda row, kind, when: row["unseen"][kind][when],
    "perplexity": _perplexity,
    "median_perplexity": lambda row, when: f"{row['perplexity'][when]['median']:.1f}",
    "candidates": _left,
    "candidates_of": _candidates_of,
    "vetoed": _vetoed,
    "copulas": _copulas,
    "defenses": _defenses,
    "steps": lambda row: row["steps"],
    "score": score,
    "black_box": lambda row: score(row, "macro", "black box"),
    "field": lambda row, name: row.get(name),
}


def value(expression: str, row: Row, context: Context) -> Value:
    """Return what an expression of ``tables.yaml`` says of a row; each is computed once."""
    name = (id(row), expression, str(context.bases))
    if name not in _values:
        _values[name] = _value(expression, row, context)
    return _values[name]


_values: dict[tuple[int, str, str], Value] = {}


def _value(expression: str, row: Row, context: Context) -> Value:
    """Return what an expression of ``tables.yaml`` says of a row.

    It is the name of one of `COLUMNS` and its arguments; one of `COMPARISONS` and the base that the
    row is compared with; one of `TOGETHER`, its arguments and the names of other rows; ``title`` or
    ``attack``; ``paper`` and an expression of ``papers.yaml``; ``printed`` and the head of a column
    of the printed table; ``under``, an attack, and an expression for the row of the same system
    under that attack; or ``worst``, the score where each sentence counts as under the attack, of
    all on the system, that costs it most.
    """
    name, *arguments = expression.split(" ")
    rest = " ".join(arguments)
    if name in TOGETHER:
        return TOGETHER[name](row, _by_name(context.study), *arguments)
    if name == "title":
        return context.titles.get(row["system"], row["system"])
    if name == "attack":
        return context.titles.get(row["attack"], row["attack"])
    if name == "paper":
        return context.paper(row, rest)
    if name == "under":
        attack, expression = rest.split(" ", 1)
        others = [each for each in context.of_system(row) if each["attack"] == attack]
        return _value(expression, others[0], context) if others else None
    if name == "worst":
        columns = zip(*(counts(each).attacked for each in context.of_system(row)), strict=True)
        worst = {**row["counts"], "attacked": [*map(min, columns)]}
        return left({**row, "counts": worst})
    if name == "printed":
        return row.get("printed", {}).get(rest)
    if name in COMPARISONS:
        other = context.base(row, rest)
        return None if other is None else COMPARISONS[name](counts(row), counts(other))
    return COLUMNS[name](row, *arguments)


def shown(cell: Value) -> str:
    """Return the text of a cell: an interval as ``estimate [lower, upper]``."""
    if cell is None:
        return NOTHING
    if isinstance(cell, Interval):
        estimate, *bounds = (f"{x:.1f}" for x in (cell.estimate, cell.lower, cell.upper))
        return f"{estimate} [{', '.join(bounds)}]"
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell)


@cache
def measured(study: str) -> list[Row]:
    """Return the rows of a study, the seeds of an evaluated system joined."""
    rows: list[Row] = list(read(study))
    return joined(rows) if any("scores" in row for row in rows) else rows


def rows_of(spec: Mapping[str, Any]) -> tuple[list[Row], Context]:
    """Return the rows that a table or picture shows, and what its columns may look at."""
    study = spec["study"]
    rows = measured(study)
    context = Context(
        rows={key(row): row for row in rows},
        bases=spec.get("bases", {}),
        titles=titles_of(study) | spec.get("titles", {}),
        study=study,
    )
    wanted = spec.get("rows", {})
    return [row for row in rows if all(_fits(row, *pair) for pair in wanted.items())], context


@cache
def _by_name(study: str) -> dict[str, Row]:
    return {named(row): row for row in measured(study)}


def measure(study: str, name: str, expression: str) -> tuple[str, Row] | None:
    """Return the text of a value of a row and the row, None if there is no such row or value."""
    row = _by_name(study).get(name)
    if row is None:
        return None
    cell = value(expression, row, Context({}, {}, {}, study))
    if isinstance(cell, str):  # without what follows the interval in brackets
        match = PRINTED.match(cell)
        cell = match[0] if match else cell
    elif isinstance(cell, float) and 0 < abs(cell) < 1:
        cell = f"{cell:.2f}"
    return None if cell is None else (shown(cell), row)


def _fits(row: Row, field: str, wanted: Any) -> bool:
    return row.get(field) in (wanted if isinstance(wanted, list) else [wanted])


@cache
def titles_of(study: str) -> dict[str, str]:
    """Return the titles of a study's systems and attacks."""
    if study not in studies.names():
        return {}
    every = studies.read_study(study)
    return {name: one.title for name, one in {**every.attacks, **every.systems}.items()}


def columns_of(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the heads of a table's columns and their expressions."""
    columns: dict[str, str] = {}
    for column in spec["columns"]:
        columns |= column if isinstance(column, dict) else {column: f"printed {column}"}
    return columns


def table(spec: Mapping[str, Any]) -> str:
    """Return a table in Markdown."""
    rows, context = rows_of(spec)
    columns = columns_of(spec)
    lines = [list(columns)] + [
        [shown(value(expression, row, context)) for expression in columns.values()] for row in rows
    ]
    head, *body = (f"|{'|'.join(cells)}|" for cells in lines)
    return "\n".join([head, "|---" * len(columns) + "|", *body, ""])


def figures(spec: Sequence[Mapping[str, Any]]) -> str:
    """Return a list of sentences with figures of several studies in them."""
    lines = []
    for sentence in spec:
        cells = {}
        for name, (study, wanted, expression) in sentence["values"].items():
            rows, context = rows_of({"study": study, **sentence.get("with", {})})
            (row,) = (row for row in rows if named(row) == wanted)
            cells[name] = shown(value(expression, row, context))
        lines.append(f"- {sentence['text'].format(**cells)}\n")
    return "".join(lines)


PRINTED = re.compile(r"(-?[\d.]+)(?: \[(-?[\d.]+), (-?[\d.]+)\])?(?: ± ([\d.]+))?")


def interval(cell: Value) -> tuple[float, float, float] | None:
    """Return estimate, lower and upper bound of a cell, whichever form it has."""
    if cell is None:
        return None
    if isinstance(cell, Interval):
        return cell.estimate, cell.lower, cell.upper
    match = PRINTED.match(str(cell))
    if match is None:
        return None
    estimate, lower, upper, deviation = (part and float(part) for part in match.groups())
    if deviation:
        lower, upper = estimate - deviation, estimate + deviation
    return estimate, *((lower, upper) if lower is not None else (estimate, estimate))


COLORS = ("#0067a5", "#b84a00", "#00735a")


def picture(spec: Mapping[str, Any]) -> str:
    """Return a picture as SVG: dots with intervals, a paper's value as an empty diamond."""
    rows, context = rows_of(spec)
    series, papers = spec["values"], spec.get("paper", {})
    labels = [", ".join(shown(value(part, row, context)) for part in spec["label"]) for row in rows]
    settings = {"svg.hashsalt": "robustparse", "svg.fonttype": "none", "font.size": 10}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(7.2, 0.9 + 0.27 * len(rows)))
        axes = figure.subplots()
        for number, (name, expression) in enumerate(series.items()):
            offset = (number - (len(series) - 1) / 2) * 0.25
            for place, row in enumerate(rows):
                if cell := interval(value(expression, row, context)):
                    middle, lower, upper = cell
                    axes.plot([lower, upper], [place + offset] * 2, color=COLORS[number], lw=1.5)
                    axes.plot(middle, place + offset, "o", color=COLORS[number], ms=5)
                published = name in papers and value(papers[name], row, context)
                if published and (cell := interval(published)):
                    axes.plot(cell[0], place + offset, "D", mfc="none", mec=COLORS[number], ms=6)
            axes.plot([], [], "o-", color=COLORS[number], label=name)
        if papers:
            axes.plot([], [], "D", mfc="none", mec="#5b6577", label="the paper")
        axes.set_yticks(range(len(rows)), labels)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="x", color="#dfe3ea", lw=0.8)
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(left=False)
        axes.set_xlabel(spec["axis"])
        if len(series) > 1 or papers:
            axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        drawn = io.StringIO()
        metadata = {"Date": None, "Creator": f"Matplotlib {matplotlib.__version__}"}
        figure.savefig(drawn, format="svg", bbox_inches="tight", metadata=metadata)
    return re.sub(r"[ \t]+$", "", drawn.getvalue(), flags=re.MULTILINE)


@cache
def specs() -> dict[str, dict[str, Any]]:
    """Return what tables, pictures and lists of figures show, by kind and name."""
    every: dict[str, Any] = studies.read_yaml(RESULTS / "tables.yaml")
    for name, one in every["pictures"].items():
        every["pictures"][name] = every["tables"].get(one.get("of"), {}) | one
    cells = dict.fromkeys(["count", "overview", *papers.read()["papers"]])
    kinds = {"table": "tables", "picture": "pictures", "figures": "figures"}
    return {kind: every[name] for kind, name in kinds.items()} | {"cells": cells}


def page(path: Path) -> list[tuple[Path, str]]:
    """Return a page and its pictures as they should be."""
    every = specs()
    pictures = []

    def generated(mark: re.Match[str]) -> str:
        begin, kind, name, end = mark.groups()
        spec = every[kind][name]
        if kind == "cells":
            return f"{begin}{papers.section(name, measure)}{end}"
        if kind != "picture":
            return f"{begin}{table(spec) if kind == 'table' else figures(spec)}{end}"
        pictures.append((path.parent / f"{name}.svg", picture(spec)))
        return f"{begin}![{spec['axis']}]({name}.svg)\n{end}"

    return [(path, MARK.sub(generated, path.read_text("utf-8"))), *pictures]


Apply = Callable[[Callable[[Path], list[tuple[Path, str]]], list[Path]], Iterable[Any]]


def files(apply: Apply = map) -> Iterator[tuple[Path, str]]:
    """Yield each page and picture as it should be; ``apply`` may use several processes."""
    for made in apply(page, sorted(DOCS.rglob("*.md"))):
        yield from made


def same(path: Path, content: str) -> bool:
    """Tell whether a file is as it should be; pictures depend on matplotlib's version."""
    if not path.exists():
        return False
    written = path.read_text("utf-8")
    drawn_by = f"Matplotlib {matplotlib.__version__}"
    return written == content or (path.suffix == ".svg" and drawn_by not in written)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only; 1 if a file differs")
    options = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        every = files(pool.map)
        different = [(path, content) for path, content in every if not same(path, content)]
    for path, content in different:
        print(f"{path.relative_to(ROOT)} {'differs' if options.check else 'written'}")
        if not options.check:
            path.write_text(content, "utf-8")
    sys.exit(1 if options.check and different else 0)


if __name__ == "__main__":
    main()
