"""The sentences of a finished attack in formats of other programs.

``log.csv`` and ``log.parquet`` have the columns of TextAttack's CSV log, so that notebooks made for
it work. ``dataset`` is a folder that ``datasets.load_dataset`` reads, with a card that says how the
sentences were made. Equal attacks give equal bytes.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from robustparse.evaluation.dataset_folder import (
    Card,
    as_parquet,
    remove_dataset,
    write_dataset,
)
from robustparse.evaluation.finished_folders import read_finished, read_run
from robustparse.evaluation.records import ExampleRecord, RunRecord, Summary, data_name
from robustparse.files.writing import write_bytes
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task

Format = Literal["csv", "parquet", "dataset"]
"""The formats of `write_log`."""

TEXTS = ("original_text", "perturbed_text")
COLUMNS = (
    *TEXTS,
    *("original_score", "perturbed_score"),
    *("original_output", "perturbed_output", "ground_truth_output"),
    *("num_queries", "result_type"),
)
"""The columns of TextAttack's CSV log, in its order."""


def remove_logs(folder: Path) -> None:
    """Remove what `write_log` wrote into the folder of an attack that has more sentences now."""
    for path in _tables(folder).values():
        path.unlink(missing_ok=True)
    remove_dataset(folder / "dataset")


def _tables(folder: Path) -> dict[Format, Path]:
    return {"csv": folder / "log.csv", "parquet": folder / "log.parquet"}


def write_log(folder: Path, formats: Sequence[Format], license: str = "unknown") -> list[Path]:
    """Write the sentences of an attack in other formats, next to the attack's own files.

    Args:
        folder: the output folder of a finished attack.
        formats: the formats to write.
        license: the licence of the sentences, for the card of the dataset.

    Returns:
        The files.

    Raises:
        InputError: the attack is not finished, a file of it is damaged, or a file cannot be
            written.
    """
    summary, records = read_finished(folder)
    task = named(summary["task"], summary.get("language"))
    log = [dict(zip(COLUMNS, _log_row(task, record), strict=True)) for record in records]
    paths = {format: path for format, path in _tables(folder).items() if format in formats}
    for format, path in paths.items():
        write_bytes(path, _as_csv(log) if format == "csv" else as_parquet(log))
    if "dataset" not in formats:
        return [*paths.values()]
    about = (
        f"`robustparse attack` tried to change these {summary['n_sentences']} sentences so that a "
        "model answers them wrongly; `success` tells whether it did. `answer` is the gold answer "
        "to the original sentence."
    )
    card = attack_card(summary, read_run(folder), about, license)
    rows = [_dataset_row(task, record) for record in records]
    return [*paths.values(), *write_dataset(folder / "dataset", rows, card)]


def _log_row(task: Task, record: ExampleRecord) -> Iterator[Any]:
    """Yield the values of `COLUMNS`; changed words stand in double square brackets."""
    edited = set(record["edited"])
    for words in (record["tokens"], record["adversarial_tokens"]):
        spelt = [(at, word) for at, word in enumerate(words) if word]
        marked = (f"[[{word}]]" if at in edited else word for at, word in spelt)
        text = " ".join(marked)
        pair = "context" in record
        yield f"Premise: {' '.join(record['context'])}\nHypothesis: {text}" if pair else text
    yield _score(task, record, record["clean"])
    yield _score(task, record, record["attacked"])
    for answer in (record["clean"], record["attacked"], record["gold"]):
        yield _answer_text(task, answer)
    yield record["queries"]["charged"]
    if record["skipped"]:
        yield "Skipped"
    else:
        yield "Successful" if record["success"] else "Failed"


def _score(task: Task, record: ExampleRecord, answer: dict[str, Any]) -> float:
    """Return TextAttack's score: 1 minus the gold label's probability, or the share of errors."""
    probabilities = answer.get("probabilities", {})
    if probabilities:
        return round(1 - float(probabilities.get(record["gold"].get("label"), 0.0)), 4)
    right = answer[task.scores.headline]
    return 0.0 if right is None else round(1 - float(right) / 100, 4)


def _answer_text(task: Task, answer: dict[str, Any]) -> str:
    """Return an answer as text: a label or a form by itself, a tree as JSON."""
    decoded = task.answers.from_record(answer)
    if isinstance(decoded, str):
        return str(decoded)
    return json.dumps(task.answers.to_record(decoded), ensure_ascii=False)


def _dataset_row(task: Task, record: ExampleRecord) -> dict[str, Any]:
    """Return a row of the dataset: plain texts, answers, and what the attack did."""
    context = {"context": " ".join(record["context"])} if "context" in record else {}
    return {
        "id": record["id"],
        **context,
        "original": " ".join(record["tokens"]),
        "perturbed": " ".join(filter(None, record["adversarial_tokens"])),
        "answer": _answer_text(task, record["gold"]),
        "answer_to_original": _answer_text(task, record["clean"]),
        "answer_to_perturbed": _answer_text(task, record["attacked"]),
        "edited": list(record["edited"]),
        "success": record["success"],
        "skipped": record["skipped"],
        "queries": record["queries"]["charged"],
    }


def _as_csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def attack_card(summary: Summary, run: RunRecord, about: str, license: str) -> Card:
    """Return the card of a dataset that an attack made.

    Args:
        summary: the attack's summary.
        run: the attack's settings.
        about: what the rows are.
        license: the licence of the sentences.
    """
    of_data, rate = run["sha256"]["data"], summary["success_rate"]
    facts = {
        "model": ", ".join(run["victims"]),
        "data": f"{data_name(run['data'])}, SHA-256 {of_data or 'unknown'}",
        "recipe": summary["attack"],
        "seed": summary.get("seed"),
        "success rate": "none attacked" if rate is None else f"{rate:.1f} %",
    }
    title = f"Sentences attacked by {summary['attack']}"
    return Card(title, about, summary["task"], facts, run["settings"], license)
