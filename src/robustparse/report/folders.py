"""Read what `robustparse attack` wrote: scores, curves and the sentences worth showing.

A folder holds ``summary.json``, ``examples.jsonl`` and, optionally, ``run.json`` (what the attack
was run with) and ``curves.json``. Every `InputError` names the file and the line or key.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from robustparse.errors import InputError
from robustparse.evaluation.lines import EXAMPLES, RUN, SUMMARY
from robustparse.files import read_text
from robustparse.report.plots import Curve, Plot
from robustparse.tasks.task import Task, named

Json = dict[str, Any]
T = TypeVar("T")

REMEDY = "give a folder that `robustparse attack --out` wrote, or run the attack again"
CURVES = "curves.json"
# How a parser decodes belongs to the parser, which is what is compared; data are known by their
# content, not by their path.
_COMPARED = ("attack", "settings", "seed", "limit", "share", "share_of")


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object, and where it stands.

    Args:
        fields: its content.
        path: the file.
        line: the line in it, from 1, where it holds several objects.
        key: the keys that lead to the object, from the outermost.
    """

    fields: Json
    path: Path
    line: int | None = None
    key: str = ""

    def get(self, key: str, kind: type[T]) -> T:
        """Return the value of a key that must be there.

        Raises:
            InputError: it is missing or of another type.
        """
        value = self.fields.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            found = f"got {value!r}" if key in self.fields else "it is missing"
            raise self.error(f"must be of type {kind.__name__}, {found}", key)
        return value

    def part(self, key: str) -> Self:
        """Return the object of a key; an empty one where the key is missing or null."""
        found = {} if self.fields.get(key) is None else self.get(key, dict)
        return replace(self, fields=found, key=self._below(key))

    def number(self, *keys: str, required: bool = False) -> float | None:
        """Follow keys to a number; null gives None, as does a missing one unless it is required.

        Raises:
            InputError: there is something else than a finite number.
        """
        part = self
        for key in keys[:-1]:
            part = part.part(key)
        value = part.fields.get(keys[-1])
        if value is None and (keys[-1] in part.fields or not required):
            return None
        if not is_number(value):
            found = repr(value) if keys[-1] in part.fields else "nothing"
            raise part.error(f"must be a number or null, got {found}", keys[-1])
        return float(value)  # type: ignore[arg-type]

    def words(self, key: str) -> tuple[str, ...]:
        """Return a list of strings that must be there and hold one at least."""
        words = self.get(key, list)
        if not words or not all(isinstance(word, str) for word in words):
            raise self.error(f"must be a list of strings, got {words!r}", key)
        return tuple(words)

    def error(self, found: str, key: str = "") -> InputError:
        """Make an error that names the file, the line and the keys."""
        return InputError(
            found, path=self.path, line=self.line, key=self._below(key) or None, remedy=REMEDY
        )

    def _below(self, key: str) -> str:
        return ": ".join(filter(None, (self.key, key)))


@dataclass(frozen=True, slots=True)
class SystemRow:
    """The scores of one system, in percent; None where not computed.

    Args:
        name: the folder's name.
        attack: the attack's name.
        task: what the system answers.
        n_sentences: attacked sentences.
        n_words: their words.
        clean: score -> value, on the original sentences.
        attacked: score -> value, on the perturbed sentences.
        success_rate: sentences in which the attack lowered the score.
        edits_per_sentence: substituted words per sentence.
        run: what the attack was run with, except for the model; None where that is not known.
        model: identifies the model by its weights; None where they are not known.
    """

    name: str
    attack: str
    task: Task
    n_sentences: int
    n_words: int
    clean: dict[str, float | None]
    attacked: dict[str, float | None]
    success_rate: float | None
    edits_per_sentence: float | None
    run: str | None = None
    model: str | None = None

    @property
    def before(self) -> float | None:
        """The headline score on the original sentences."""
        return self.clean[self.task.headline]

    @property
    def after(self) -> float | None:
        """The headline score on the perturbed sentences."""
        return self.attacked[self.task.headline]


@dataclass(frozen=True, slots=True)
class AttackedSentence:
    """One sentence on which an attack succeeded.

    Args:
        line: its line of ``examples.jsonl``.
        changed: parts of the answer that the attack changed, those of substituted words left out.
        wrong_before: wrong parts of the answer to the original sentence.
        wrong_after: wrong parts of the answer to the perturbed sentence.
    """

    line: Json
    changed: int
    wrong_before: int
    wrong_after: int

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the original sentence."""
        return tuple(self.line["tokens"])

    @property
    def swaps(self) -> list[tuple[str, str]]:
        """The substituted words and what became of them."""
        return [(self.words[i], self.line["adversarial_tokens"][i]) for i in self.line["edited"]]


@dataclass(frozen=True, slots=True)
class AttackFolder:
    """What one folder holds.

    Args:
        row: the scores of ``summary.json``.
        plots: the plots of ``curves.json``, or none.
        sentences: those that the attack succeeded on.
        summary: all of ``summary.json``.
        run: ``run.json``; empty where there is none.
    """

    row: SystemRow
    plots: tuple[Plot, ...]
    sentences: tuple[AttackedSentence, ...]
    summary: Record
    run: Json


def read_folder(folder: Path, name: str) -> AttackFolder:
    """Read one attack's output folder.

    Args:
        folder: the folder.
        name: what the report calls the system.

    Raises:
        InputError: the folder or a file is missing or is not as `attack` writes it.
    """
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, remedy=REMEDY)
    summary = _read_object(folder / SUMMARY)
    run = _read_run(folder)
    row = _read_row(summary, run, name)
    lines = read_text(folder / EXAMPLES).split("\n")  # U+2028 may stand in a word
    sentences = [
        _read_sentence(_as_object(line, folder / EXAMPLES, number), row.task)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    curves = folder / CURVES
    plots = _read_plots(curves) if curves.exists() else ()
    return AttackFolder(row, plots, tuple(s for s in sentences if s is not None), summary, run)


def most_telling(sentences: Sequence[AttackedSentence], count: int = 3) -> list[AttackedSentence]:
    """Choose the sentences that show best what an attack does.

    Sentences of 6 to 14 words with one or two edits come first; among those, the ones in which the
    attack changed most besides the substituted words, then the ones with fewest edits and words.
    Each original sentence is shown once.
    """

    def rank(sentence: AttackedSentence) -> tuple[bool, int, int, int]:
        length, edits = len(sentence.words), len(sentence.line["edited"])
        return not (edits in (1, 2) and 6 <= length <= 14), -sentence.changed, edits, length

    best: dict[tuple[str, ...], AttackedSentence] = {}
    for sentence in sorted(sentences, key=rank):
        best.setdefault(sentence.words, sentence)
    return list(best.values())[:count]


def is_number(value: object) -> bool:
    """Tell whether a value is a finite number and no boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def _read_row(summary: Record, run: Json, name: str) -> SystemRow:
    name_of_task = summary.get("task", str)
    try:
        task = named(name_of_task)
    except InputError as error:
        raise InputError(
            error.found, path=summary.path, key=error.key, expected=error.expected
        ) from None
    scores = {
        side: {score: part.number(score, required=True) for score in task.scores}
        for side in ("clean", "attacked")
        if (part := replace(summary, fields=summary.get(side, dict), key=side))
    }
    digests = run.get("sha256")
    digests = digests if isinstance(digests, dict) else {}
    compared = json.dumps([digests.get("data"), *map(run.get, _COMPARED)], sort_keys=True)
    weights = digests.get("checkpoint")
    return SystemRow(
        name=name,
        attack=summary.get("attack", str),
        task=task,
        n_sentences=summary.get("n_sentences", int),
        n_words=summary.get("n_words", int),
        clean=scores["clean"],
        attacked=scores["attacked"],
        success_rate=summary.number("success_rate", required=True),
        edits_per_sentence=summary.number("edits_per_sentence", required=True),
        run=compared if run else None,
        model=None if weights is None else json.dumps([weights, run.get("decoder")]),
    )


def _read_sentence(record: Record, task: Task) -> AttackedSentence | None:
    """Read the sentence of a line; None where the attack failed."""
    before, after = record.words("tokens"), record.words("adversarial_tokens")
    if len(before) != len(after):
        raise record.error(f"must hold {len(before)} words, got {len(after)}", "adversarial_tokens")
    for answer in ("gold", "clean", "attacked"):
        record.get(answer, dict)
    pairs = enumerate(zip(before, after, strict=True))
    line = {**record.fields, "edited": [i for i, (b, a) in pairs if b != a]}
    try:
        sentence = AttackedSentence(line, *task.changes(line))
    except InputError as error:
        raise InputError(
            error.found, path=record.path, line=record.line, key=error.key, expected=error.expected
        ) from None
    return sentence if record.get("success", bool) else None


def _read_run(folder: Path) -> Json:
    try:
        run = json.loads((folder / RUN).read_text("utf-8"))
    except (OSError, ValueError):  # the page can do without
        return {}
    return run if isinstance(run, dict) else {}


def _read_plots(path: Path) -> tuple[Plot, ...]:
    found = _as_json(read_text(path), path)
    plots = []
    for record in found if isinstance(found, list) else [found]:
        if not isinstance(record, dict):
            raise InputError(
                f"got {record!r}", path=path, expected="plots: objects with title and curves"
            )
        plot = Record(record, path)
        title, x, y = (plot.get(key, str) for key in ("title", "x_label", "y_label"))
        curves = tuple(_read_curve(curve, plot) for curve in plot.get("curves", list))
        plots.append(Plot(title, x, y, curves))
    return tuple(plots)


def _read_curve(fields: object, plot: Record) -> Curve:
    if not isinstance(fields, dict):
        raise plot.error(f"must hold objects with name, x and y, got {fields!r}", "curves")
    curve = Record(fields, plot.path, key="curves")
    name = curve.get("name", str)
    x, y = curve.get("x", list), curve.get("y", list)
    numbers = all(is_number(v) for v in x) and all(v is None or is_number(v) for v in y)
    if len(x) != len(y) or not numbers or all(v is None for v in y):
        raise curve.error(f"x and y must be equally many numbers, got {x!r} and {y!r}", name)
    points = [(a, b) for a, b in zip(x, y, strict=True) if b is not None]
    return Curve(name, tuple(a for a, _ in points), tuple(b for _, b in points))


def _read_object(path: Path) -> Record:
    return _as_object(read_text(path), path)


def _as_object(text: str, path: Path, line: int | None = None) -> Record:
    found = _as_json(text, path, line)
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise InputError(f"got {kind}", path=path, line=line, expected="a JSON object")
    return Record(found, path, line)


def _as_json(text: str, path: Path, line: int | None = None) -> object:
    try:
        found: object = json.loads(text)
        return found
    except ValueError as error:
        raise InputError(f"not JSON ({error})", path=path, line=line, remedy=REMEDY) from None
