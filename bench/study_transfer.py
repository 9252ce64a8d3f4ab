"""Whether what was made against each row of a study fools the others (Wang et al. 2021, 5.4).

    python bench/study_transfer.py --study wang2021 --score las

The sources are the finished attacks of the rows that are one model each, by the recipe and budget
of the first row; the targets are the models of the same rows. ``robustparse transfer`` computes the
rates and keeps them in the folder ``transfer`` among the runs, which ``robustparse report`` draws.
A cell is the percentage of all sentences whose ``--score`` falls, with its 95 % interval, and in
brackets that of the sentences that fooled the source.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robustparse.tasks import task as tasks
from studies import STUDIES
from study import run
from study_rows import Row, Study

SUMMARY = "summary.json"  # of a finished attack


def attacked(study: Study) -> dict[Path, Row]:
    """Return the rows to compare, by the folders of their finished attacks."""
    first, wanted = study.cases[0]
    folders = {
        study.attacked(row, gamma): row
        for row, gamma in study.cases
        if not row.members and (row.attack, gamma) == (first.attack, wanted)
    }
    return {folder: row for folder, row in folders.items() if (folder / SUMMARY).exists()}


def command(rows: Mapping[Path, Row], out: Path) -> list[str]:
    """Return that of ``robustparse`` which gives each row's sentences to every row's model."""
    targets = [str(path) for row in rows.values() for path in row.checkpoints]
    return ["transfer", *map(str, rows), "--checkpoint", *targets, "--out", str(out)]


def matrix(titles: Sequence[str], rates: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """Return the table, a source a row."""
    head = ["made against", *titles]
    body = [[title, *map(cell, row)] for title, row in zip(titles, rates, strict=True)]
    first, *rest = (f"| {' | '.join(line)} |" for line in (head, *body))
    return "\n".join([first, "|---" * len(head) + "|", *rest])


def cell(found: Mapping[str, Any]) -> str:
    """Show a rate of all sentences, its interval, and the rate given the source's success."""
    rate, given = found["rate"], found["given_success"]
    inside = "-" if given is None else f"{given:.0f}"
    return f"{rate['estimate']:.1f} [{rate['lower']:.1f}, {rate['upper']:.1f}] ({inside})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", choices=sorted(STUDIES), required=True)
    parser.add_argument("--home", type=Path, help="folder of the runs, instead of the study's")
    parser.add_argument("--score", help="such as las; by default the first score of the task")
    options = parser.parse_args()
    study = STUDIES[options.study]
    scores = tasks.named(study.task).scores
    if options.score not in (None, *scores):
        parser.error(f"no score {options.score}: choose from {', '.join(scores)}")
    study = study if options.home is None else study.elsewhere(options.home.resolve(), None)
    rows = attacked(study)
    if not rows:
        parser.error(f"no attack of {options.study} is finished in {study.home}")
    out = study.home / "transfer"
    run(command(rows, out))
    found = json.loads((out / "transfer.json").read_text("utf-8"))
    rates = found["rates"][options.score or scores[0]]
    print(matrix([row.title for row in rows.values()], rates))


if __name__ == "__main__":
    main()
