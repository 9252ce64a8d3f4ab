"""Scores on perturbed texts from files: the measures of Huang et al. (2021), section 4.

A file has a row for each perturbed text, ``perturbed TAB original TAB answer``, or columns of these
names; its name is that of the operation. For the rows S of a file and the victim's answers f:

- standard accuracy: f(original) is right, in percent of S;
- perturbation accuracy: f(perturbed) is right, in percent of S;
- robust accuracy: f(perturbed) is right, in percent of the rows with f(original) right;
- black-box success rate: f(perturbed) is wrong, in percent of the rows where the loss of the gold
  answer has grown. These include rows that were wrong before; lower is better.

Micro averages pool the rows of all files, macro averages are means over files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robustparse.attacks.victim import LexicalVictim
from robustparse.data.headers import with_names
from robustparse.data.labels import label_text
from robustparse.data.tables import ENDINGS, read_table
from robustparse.data.text_files import words_of
from robustparse.errors import InputError, located
from robustparse.evaluation.clean import AnsweringVictim, gold_losses, one_model, predictions
from robustparse.evaluation.rows import PerturbedAnswers
from robustparse.files.compression import plain_name
from robustparse.files.paths import check_folder
from robustparse.metrics import percent
from robustparse.tasks.registry import pairs_of
from robustparse.tasks.task import Task, WritesPairs
from robustparse.tasks.text import PAIR_COLUMNS
from robustparse.types import Example, Sentence

Words = tuple[str, ...]


class PerturbedPair(NamedTuple):
    """A row of a file: two texts with one gold answer."""

    perturbed: Example
    original: Example


@dataclass(frozen=True)
class PairScores:
    """The measures of a file's rows, in percent; None where no row counts.

    Args:
        rows: the number of rows.
        standard_accuracy, perturbation_accuracy, robust_accuracy, blackbox_success_rate: see the
            module; the last is None for victims without a loss.
        changed: perturbation accuracy of the rows whose two texts differ.
        answerable: perturbation accuracy of the rows whose perturbed text still holds the words
            that the answer needs (`Files.needed`), such as the slots of a logical form.
        deduplicated: perturbation accuracy without repeated rows.
        attainable: the percentage of rows that are `answerable` and whose original is answered
            correctly: the highest accuracy that the victim could keep.
        unknown_words: the percentage of words in perturbed texts without a vector in the victim;
            None if the victim has no word vectors.
    """

    rows: int
    standard_accuracy: float | None
    perturbation_accuracy: float | None
    robust_accuracy: float | None
    blackbox_success_rate: float | None
    changed: float | None
    answerable: float | None
    deduplicated: float | None
    attainable: float | None
    unknown_words: float | None


def read_perturbed_pairs(folder: str | Path, task: Task) -> dict[str, list[PerturbedPair]]:
    """Read every table of a folder, by the names of the operations.

    Summaries that ``augment`` wrote next to them are ignored.

    Raises:
        InputError: there is no table, or a row is malformed; the error names the line.
    """
    files, folder = pairs_of(task), Path(folder)
    expected = "a folder with a file OPERATION.tsv (or .csv, .jsonl and so on) for each operation"
    check_folder(folder, expected=expected)
    tables = _tables(folder)
    if not tables:
        raise InputError("holds no table", path=folder, expected=expected)
    pairs: dict[str, list[PerturbedPair]] = {}
    for name, path in tables:
        if name in pairs:
            problem = f"two files of the operation {name}"
            raise InputError(problem, path=path, expected="one for each operation")
        pairs[name] = _read(path, files)
    return pairs


def _tables(folder: Path) -> list[tuple[str, Path]]:
    """Return operation and path of each table of a folder, compressed or not.

    Summaries, and hidden files, which macOS adds, are no tables.
    """
    visible = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    paths = [path for path in visible if not path.name.endswith(".summary.json")]
    unpacked = [(Path(plain_name(path)), path) for path in paths]
    return [(name.stem, path) for name, path in unpacked if name.suffix.lower() in ENDINGS]


def _read(path: Path, files: WritesPairs) -> list[PerturbedPair]:
    table = read_table(path)
    first = [str(cell).lower() for cell in table.first[1].values()]
    named = table.named or len({*PAIR_COLUMNS}.intersection(first)) > 1
    if named and not table.named:
        table = with_names(table)
    pairs: list[PerturbedPair] = []
    width = 0  # of the first row
    for index, (line, row) in enumerate(table.rows):
        values = {str(name).lower(): value for name, value in row.items()}
        columns = ("context", *PAIR_COLUMNS) if "context" in values else PAIR_COLUMNS
        if named and (missing := [name for name in columns if name not in values]):
            problem, expected = f"no column {missing[0]!r}", f"columns {', '.join(columns)}"
            raise InputError(problem, path=path, line=line, expected=expected)
        cells = [values.get(name) for name in columns] if named else [*values.values()]
        width = width or (4 if len(cells) == 4 else 3)
        if len(cells) != width or not all(map(label_text, cells)):
            what = "a premise, " if width == 4 else ""
            expected = f"{what}a perturbed text, its original and the answer, separated by tabs"
            shown = "\t".join(map(str, values.values()))
            problem = f"{len(cells)} columns in {shown[:60]!r}"
            raise InputError(problem, path=path, line=line, expected=expected)
        with located(path, line):
            gold = files.answer(label_text(cells[-1]))
            *context, perturbed, original = (words_of(cell, "text") for cell in cells[:-1])
        both = (Sentence(text, context=(*chain(*context),)) for text in (perturbed, original))
        made = (Example(index, text, gold, path=str(path), start=line) for text in both)
        pairs.append(PerturbedPair(*made))
    return pairs


def check_originals(
    task: Task,
    pairs: Mapping[str, Sequence[PerturbedPair]],
    examples: Sequence[Example],
) -> None:
    """Check that the originals of all rows are among the examples, with the same gold answers.

    Raises:
        InputError: they are not; the error names the file and the line of the first such row.
    """
    known: dict[tuple[Words, Words], list[Any]] = {}
    for example in examples:
        known.setdefault(_text(example), []).append(example.gold)
    for rows in pairs.values():
        for row in rows:
            text, gold = " ".join(row.original.sentence.words), row.original.gold
            answers = known.get(_text(row.original), [])
            problem, expected = f"the original {text!r:.80} is not in the data", None
            if answers:
                problem = f"the answer {str(gold)!r:.80} to {text!r:.80}"
                expected = f"that of the data, {str(answers[0])!r:.80}"
            if all(task.answers.difference(gold, answer) for answer in answers):  # or there is none
                raise InputError(
                    problem,
                    path=row.original.path,
                    line=row.original.line,
                    expected=expected,
                    remedy="score the split that the texts were made from, without --limit",
                )


class PairOutcome(NamedTuple):
    """A victim's answers to a pair of texts.

    Attributes:
        answers: the texts and the answers to them.
        before: whether the answer to the original is right.
        after: whether the answer to the perturbed text is right.
        answerable: whether the perturbed text holds the words that the answer needs.
        unknown: how many words of the perturbed text have no vector in the victim.
    """

    answers: PerturbedAnswers
    before: bool
    after: bool
    answerable: bool
    unknown: int | None

    @property
    def grown(self) -> bool | None:
        """Whether the loss of the gold answer has grown."""
        losses = self.answers.losses
        return None if losses is None else losses[1] > losses[0]


def pair_outcomes(
    victim: AnsweringVictim, pairs: Mapping[str, Sequence[PerturbedPair]]
) -> dict[str, list[PairOutcome]]:
    """Answer the texts of each file, equal ones once."""
    every = [example for rows in pairs.values() for pair in rows for example in pair]
    different = {(_text(each), str(each.gold)): each for each in every}
    numbered = [
        Example(id_, each.sentence, each.gold) for id_, each in enumerate(different.values())
    ]
    # A text over the encoder's limit is read in windows instead of raising an error.
    answers = {each.id: each.answer for each in predictions(victim, numbered, checked=False)}
    losses = gold_losses(victim, numbered)
    rows_of = dict(zip(different, range(len(numbered)), strict=True))
    scores = victim.task.scores
    right = [
        scores.complete(
            scores.correct(answers[each.id], each, scores.counted(each.sentence, "none"))
        )
        for each in numbered
    ]

    def outcome(operation: str, pair: PerturbedPair) -> PairOutcome:
        after, before = (rows_of[_text(each), str(each.gold)] for each in pair)
        both = answers[before], answers[after]
        grown = None if losses is None else (losses[before], losses[after])
        row = PerturbedAnswers(operation, pair.original, pair.perturbed, *both, grown)
        words = pair.perturbed.sentence.words
        held = victim.task.files.needed(pair.original) <= set(words)
        known = victim.embedded(words) if isinstance(victim, LexicalVictim) else None
        unknown = None if known is None else len(words) - int(known.sum())
        return PairOutcome(row, right[before], right[after], held, unknown)

    return {name: [outcome(name, pair) for pair in rows] for name, rows in pairs.items()}


def pair_scores(
    outcomes: Mapping[str, Sequence[PairOutcome]],
) -> tuple[dict[str, PairScores], float]:
    """Compute the measures of each file, and their averages ``micro`` and ``macro``.

    Returns:
        The measures, and the percentage of originals whose perturbed texts are all answered
        correctly.
    """
    scores = {name: _scores(rows) for name, rows in outcomes.items()}
    micro = _scores([row for rows in outcomes.values() for row in rows])
    worst: dict[tuple[Words, Words], bool] = {}
    for row in (row for rows in outcomes.values() for row in rows):
        original = _text(row.answers.original)
        worst[original] = worst.get(original, True) and row.after
    averages = {"micro": micro, "macro": _mean([*scores.values()])}
    return scores | averages, percent(sum(worst.values()), len(worst))


def checked_pairs(
    victim: AnsweringVictim, folder: str | Path, examples: Sequence[Example]
) -> dict[str, list[PerturbedPair]]:
    """Read a folder of perturbed texts and check it for a victim.

    Args:
        victim: the victim.
        folder: see `read_perturbed_pairs`.
        examples: the originals.

    Raises:
        InputError: see `read_perturbed_pairs` and `check_originals`; or the model cannot give the
            answer of a row, so that there is no loss.
    """
    pairs = read_perturbed_pairs(folder, victim.task)
    check_originals(victim.task, pairs, examples)
    if (known := one_model(victim)) is not None:
        for rows in pairs.values():
            with located(rows[0].original.path):
                known.model.codec.encode([row.perturbed for row in rows], "none")
    return pairs


def pairs_report(outcomes: Mapping[str, Sequence[PairOutcome]]) -> dict[str, Any]:
    """Return the keys of ``scores.json`` about perturbed texts."""
    scores, worst = pair_scores(outcomes)
    rows = {name: asdict(one) for name, one in scores.items()}
    return {"perturbed_files": rows, "worst_case": worst}


def _scores(rows: Sequence[PairOutcome]) -> PairScores:
    texts = [(row.answers.perturbed, row.answers.original) for row in rows]
    after = np.array([row.after for row in rows])
    before = np.array([row.before for row in rows])
    grown = None if rows[0].grown is None else np.array([row.grown for row in rows])
    changed = np.array([new.sentence.words != old.sentence.words for new, old in texts])
    answerable = np.array([row.answerable for row in rows])
    unknown = [row.unknown for row in rows if row.unknown is not None]
    words = sum(len(new.sentence.words) for new, _ in texts)
    first = {(*map(_text, both), str(both[1].gold)): at for at, both in enumerate(texts)}
    return PairScores(
        rows=len(rows),
        standard_accuracy=_share(before),
        perturbation_accuracy=_share(after),
        robust_accuracy=_share(after[before]),
        blackbox_success_rate=None if grown is None else _share(~after[grown]),
        changed=_share(after[changed]),
        answerable=_share(after[answerable]),
        deduplicated=_share(after[[*first.values()]]),
        attainable=_share(before & answerable),
        unknown_words=percent(sum(unknown), words) if unknown else None,
    )


def _mean(scores: Sequence[PairScores]) -> PairScores:
    """Return the means over files; files without a value are left out."""

    def mean(name: str) -> float | None:
        known = [value for score in scores if (value := getattr(score, name)) is not None]
        return float(np.mean(known)) if known else None

    names = [field.name for field in fields(PairScores) if field.name != "rows"]
    return PairScores(sum(score.rows for score in scores), *map(mean, names))


def _share(marked: np.ndarray) -> float | None:
    return percent(int(marked.sum()), len(marked)) if len(marked) else None


def _text(example: Example) -> tuple[Words, Words]:
    """Return the context and the words, which identify a text."""
    return example.sentence.context, example.sentence.words
