"""Figures of the results, computed again from the records of their runs by independent code.

    python bench/recompute.py yoo2020 --cells 30

Draws cells of ``bench/results/STUDY.jsonl`` at random, among those whose runs are in the folder of
runs, and computes each one from the lines of ``examples.jsonl`` or ``perturbed.jsonl``. Nothing of
robustparse is imported. Two things are taken from the lines as they are: whether a logical form is
right, and whether an attack on a tree has succeeded, which depends on its goal. Ends with status 1
if a cell differs by more than a billionth.
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Record = dict[str, Any]
Cell = tuple[str, float, float]
"""The name of a figure, its value in the results, and the value computed here."""


def main() -> None:
    """Print each cell that was drawn, and both values."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study")
    parser.add_argument("--home", type=Path, help="as for study.py")
    parser.add_argument("--cells", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    runs = options.home or ROOT / "runs"
    results = options.home / "results" if options.home else ROOT / "bench" / "results"
    rows = read(results / f"{options.study}.jsonl")
    cells = [cell for row in rows for cell in cells_of(row, runs / row["system"])]
    if not cells:
        sys.exit(f"no runs of {options.study} in {runs}")
    drawn = random.Random(options.seed).sample(cells, min(options.cells, len(cells)))
    different = [cell for cell in drawn if not math.isclose(cell[1], cell[2], rel_tol=1e-9)]
    for name, kept, again in drawn:
        print(f"{name}: {kept:.4f} {again:.4f}")
    print(f"{len(drawn)} of {len(cells)} cells, {len(different)} differ")
    sys.exit(bool(different))


def read(path: Path) -> list[Record]:
    """Return the lines of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def cells_of(row: Record, folder: Path) -> Iterator[Cell]:
    """Yield the cells of a row of results whose records are in the folder of its system."""
    budget = row.get("budget")
    attack = f"{row.get('attack')}" + ("" if budget is None else f"_{100 * budget:g}")
    files = list(folder.glob(f"**/{attack}/examples.jsonl"))
    if len(files) == 1:
        for name, value in attacked(read(files[0])).items():
            of_row: Any = row
            for key in name.split(" "):
                of_row = of_row[key]
            yield f"{row['system']} {attack} {name}", of_row, value
    elif "scores" in row and (folder / "test" / "perturbed.jsonl").exists():
        lines = read(folder / "test" / "perturbed.jsonl")
        for operation in dict.fromkeys(line["operation"] for line in lines):
            of_operation = [line for line in lines if line["operation"] == operation]
            for name, value in perturbed(of_operation).items():
                kept = row["scores"].get(operation, {}).get(name)
                if kept is not None and value is not None:
                    yield f"{row['system']} {operation} {name}", kept, value


def attacked(lines: list[Record]) -> dict[str, float]:
    """Compute the figures of an attack, by their keys in a row."""
    targets = [line for line in lines if not line["skipped"]]
    found = {}
    if targets:
        found["success_rate"] = 100 * mean(worse(line) for line in targets)
        found["queries_per_sentence charged"] = mean(line["queries"]["charged"] for line in targets)
    if all(len(line["tokens"]) == len(line["adversarial_tokens"]) for line in lines):
        found["edits_per_sentence"] = mean(len(edits(line)) for line in lines)
    for when in ("clean", "attacked"):
        if "label" in lines[0]["gold"]:
            right = mean(line[when]["label"] == line["gold"]["label"] for line in lines)
            found[f"{when} accuracy"] = 100 * right
        elif all(line["counted"] == len(line["tokens"]) for line in lines):
            words = sum(len(line["tokens"]) for line in lines)
            for score, place in (("uas", 0), ("las", 1)):
                found[f"{when} {score}"] = (
                    100 * sum(arcs(line, when)[place] for line in lines) / words
                )
    return found


def edits(line: Record) -> list[int]:
    """Return the positions of changed words, where the number of words stays the same."""
    pairs = enumerate(zip(line["tokens"], line["adversarial_tokens"], strict=True))
    return [position for position, (before, after) in pairs if before != after]


def worse(line: Record) -> bool:
    """Whether a label that was right is wrong, or the attack on a tree has succeeded."""
    if "label" in line["gold"]:
        return bool(line["clean"]["label"] == line["gold"]["label"] != line["attacked"]["label"])
    return bool(line["success"])


def arcs(line: Record, when: str) -> tuple[int, int]:
    """Count the words with the right head, and those with the right head and label."""
    gold, answer = line["gold"], line[when]
    heads = [one == other for one, other in zip(gold["heads"], answer["heads"], strict=True)]
    labels = [one == other for one, other in zip(gold["labels"], answer["labels"], strict=True)]
    return sum(heads), sum(head and label for head, label in zip(heads, labels, strict=True))


def perturbed(lines: list[Record]) -> dict[str, float | None]:
    """Compute the measures of an operation (Huang et al. 2021, section 4), by their keys."""
    before = [line for line in lines if line["original"]["right"]]
    harder = [
        line
        for line in lines
        if line["losses"] and line["losses"]["perturbed"] > line["losses"]["original"]
    ]
    return {
        "rows": float(len(lines)),
        "standard": 100 * len(before) / len(lines),
        "perturbed": 100 * mean(line["right"] for line in lines),
        "robust": 100 * mean(line["right"] for line in before) if before else None,
        "black box": 100 * mean(not line["right"] for line in harder) if harder else None,
    }


def mean(values: Iterator[Any]) -> float:
    """Return the mean of numbers or truth values."""
    listed = list(values)
    return sum(listed) / len(listed)


if __name__ == "__main__":
    main()
