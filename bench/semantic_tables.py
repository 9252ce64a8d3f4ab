"""The rows of the study of semantic parsers, and their tables in Markdown."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

CORPORA, MODELS = ("geo", "jobs", "atis"), ("seq2seq", "coarse2fine", "tranx")
AVERAGES = ("micro", "macro")
OTHERS = ("test", "minutes", *AVERAGES)
Key = tuple[str, str, str]
"""Corpus, model and method of a row."""


@dataclass(frozen=True)
class Row:
    """One training, and where it is."""

    home: Path
    corpus: str
    model: str
    method: str
    seed: int

    @property
    def folder(self) -> Path:
        """Its outputs."""
        return self.home / f"{self.corpus}_{self.model}_{self.method}_{self.seed}"

    @property
    def scores(self) -> Path:
        """What `evaluate` wrote."""
        return self.folder / "test" / "scores.json"

    @property
    def seconds(self) -> Path:
        """How long training took."""
        return self.folder / "seconds.json"


def figures(row: Row) -> dict[str, float]:
    """Return the figures of a row that is done, those of an operation by its name."""
    found = json.loads(row.scores.read_text("utf-8"))
    kept: dict[str, Any] = {"test": found["exact_match"]}
    if row.seconds.exists():
        kept["minutes"] = json.loads(row.seconds.read_text("utf-8")) / 60
    for part, scores in found.get("perturbed_files", {}).items():
        kept[part] = scores["perturbation_accuracy"]
        kept[f"robust {part}"] = scores["robust_accuracy"]
        kept[f"black box {part}"] = scores["blackbox_success_rate"]
        kept[f"attainable {part}"] = scores.get("attainable")
        kept[f"unknown {part}"] = scores.get("unknown_words")
    return {name: value for name, value in kept.items() if value is not None}


def tables(rows: Sequence[Row]) -> str:
    """Return the tables of the rows that are done, one for each of the paper's, and one of all."""
    done: dict[Key, list[dict[str, float]]] = defaultdict(list)
    for row in rows:
        if row.scores.exists():
            done[row.corpus, row.model, row.method].append(figures(row))
    names = dict.fromkeys(name for one in done.values() for each in one for name in each)
    operations = [name for name in names if name not in OTHERS and " " not in name]
    operations += AVERAGES
    summary = ("test", *AVERAGES, *(f"robust {name}" for name in AVERAGES), "black box macro")
    parts = {
        "All rows": _by_row(done, (*summary, "minutes")),
        "Table 2: perturbation accuracy": _by_row(done, operations),
        "Table 3: robust accuracy": _by_row(done, [f"robust {name}" for name in operations]),
        "Attainable perturbation accuracy": _by_row(
            done, [f"attainable {name}" for name in operations]
        ),
        "Words of perturbed utterances that parsers do not know": _by_row(
            done, [f"unknown {name}" for name in operations]
        ),
        "Table 5: standard accuracy": _by_method(done, "test"),
        "Macro perturbation accuracy": _by_method(done, "macro"),
    }
    return "\n\n".join(f"{title}\n\n{table}" for title, table in parts.items())


def _by_row(done: Mapping[Key, Sequence[Mapping[str, float]]], names: Sequence[str]) -> str:
    lines = [
        f"| corpus | parser | training | seeds | {' | '.join(names)} |",
        f"|---|---|---|---|{'---|' * len(names)}",
    ]
    for (corpus, model, method), found in done.items():
        cells = [_cell(found, name) for name in names]
        head = f"| {corpus.upper()} | {model} | {method} | {len(found)} "
        lines.append(f"{head}| {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_method(done: Mapping[Key, Sequence[Mapping[str, float]]], name: str) -> str:
    """Return one figure of each parser, a row for each method, as in the paper's Table 5."""
    there = {(corpus, model) for corpus, model, _ in done}
    columns = [
        (corpus, model) for corpus in CORPORA for model in MODELS if (corpus, model) in there
    ]
    heads = [f"{corpus.upper()} {model}" for corpus, model in columns]
    lines = [f"| training | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for method in dict.fromkeys(method for _, _, method in done):
        cells = [_cell(done.get((*column, method), ()), name) for column in columns]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: Sequence[Mapping[str, float]], name: str) -> str:
    """Return mean and standard deviation over the seeds that have a figure."""
    values = [one[name] for one in found if name in one]
    if not values:
        return "-"
    spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    return f"{mean(values):.2f}{spread}"
