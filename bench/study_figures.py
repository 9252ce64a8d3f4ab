"""The figures of the studies of ``docs/results.md``: a file for each row, in ``bench/results``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from robustparse.evaluation.lines import each_line
from robustparse.evaluation.measure import QUALITY
from robustparse.files import make_folder, write_text
from robustparse.tagsets import class_of
from robustparse.tasks import task as tasks
from study_recipes import settings_digest
from study_rows import Row, Study, percent

WHEN = ("clean", "attacked")
# What a study measures of each attack, and over which sentences.
MEASURED = {"perplexity": "all", "word_similarity": "changed", "sentence_similarity": "changed"}
QUALITIES = ("perplexity", "word_similarity", "sentence_similarity")


def result(name: str, study: Study, row: Row, gamma: float | None) -> Path:
    """Where the figures of a row are kept."""
    return study.results / f"{name}_{row.name}_{row.attack}{percent(gamma)}.json"


def kept(
    name: str, study: Study, apart: Row | None = None, gamma: float | None = None
) -> list[dict[str, Any]]:
    """Return the figures of all finished rows, but for one row at one budget."""
    cases = [case for case in study.cases if case != (apart, gamma)]
    paths = [result(name, study, *case) for case in cases]
    return [json.loads(path.read_text("utf-8")) for path in paths if path.exists()]


def static_folder(row: Row, gamma: float | None) -> Path:
    """Where a row's scores on the adversaries of the parser that its copies are of lie."""
    return row.folder / f"static_{row.attack}{percent(gamma)}"


def keep(name: str, study: Study, row: Row, gamma: float | None, origin: Mapping[str, str]) -> None:
    """Copy a row's figures, and the counts a bootstrap needs, to where a study's are kept.

    ``origin`` says what the figures rest on (``study_origin.py``), as far as that was known before.
    """
    attacked = study.attacked(row, gamma)
    summary = json.loads((attacked / "summary.json").read_text("utf-8"))
    run = json.loads((attacked / "run.json").read_text("utf-8"))
    lines = list(each_line(attacked / "examples.jsonl"))
    static = static_folder(row, gamma) / "scores.json"
    scores = json.loads(static.read_text("utf-8")) if static.exists() else None
    task = tasks.named(row.task)
    shares = [len(line["edited"]) / len(line["tokens"]) for line in lines]
    changed = [share for share, line in zip(shares, lines, strict=True) if line["success"]]
    figures = {
        "row": row.name,
        "title": row.title,
        "gamma": gamma,
        "origin": {**origin, f"the settings of {row.attack}": settings_digest(run)},
        **training(row),
        "static": scores and {name: scores[name] for name in task.scores},
        "changed_of_successes": 100 * sum(changed) / len(changed) if changed else None,
        **{key: value for key, value in summary.items() if key not in ("victims", *QUALITIES)},
        **qualities(attacked),
        "counts": {
            "words": [line["counted"] for line in lines],
            "clean": [line["clean"][task.sums[-1]] for line in lines],
            "attacked": [line["attacked"][task.sums[-1]] for line in lines],
            "changed": shares,
            **{
                name: {when: [line[when][name] for line in lines] for when in WHEN}
                for name in task.sums[:-1]
            },
        },
        **({"copulas": copulas(lines)} if row.task == "dependency" else {}),
    }
    path = result(name, study, row, gamma)
    make_folder(path.parent)
    write_text(path, json.dumps(figures) + "\n")


def copulas(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how many changed words are copulas or auxiliaries, of all and by class of tag."""
    counts = {"all": {"changed": 0, "copulas": 0}}
    for line in lines:
        for position, tag in zip(line["edited"], line["edited_tags"], strict=True):
            relation = line["gold"]["labels"][position].partition(":")[0]
            for name in ("all", class_of(tag) or "other"):
                count = counts.setdefault(name, {"changed": 0, "copulas": 0})
                count["changed"] += 1
                count["copulas"] += relation in ("cop", "aux")
    return counts


def training(row: Row) -> dict[str, Any]:
    """Return how long a row was trained; nothing of one whose members were."""
    if row.members:
        return {"training_seconds": None, "steps": None}
    finished = json.loads((row.folder / "finished.json").read_text("utf-8"))
    checkpoint = torch.load(row.folder / row.checkpoint, weights_only=True)
    return {"training_seconds": finished["seconds"], "steps": checkpoint["global_step"]}


def qualities(attacked: Path) -> dict[str, Any]:
    """Return what ``quality`` found out: means and medians, without the models' places on this
    machine.
    """
    path = attacked / QUALITY
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {name: found[name][of] if name in found else None for name, of in MEASURED.items()}
