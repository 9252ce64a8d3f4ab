"""Scores on perturbed texts made beforehand: the measures of Huang et al. (2021), section 4.

A file has a row for each perturbed text, ``perturbed TAB original TAB answer``, or columns of these
names, and is called after the operation that made it. Of the rows S of a file, with f the victim's
answer:

- standard accuracy: f(original) is right, in percent of S;
- perturbation accuracy: f(perturbed) is right, in percent of S;
- robust accuracy: f(perturbed) is right, in percent of the rows with f(original) right;
- black-box success rate: f(perturbed) is wrong, in percent of the rows where the loss of the gold
  answer has grown. These include rows that were wrong before; lower is better.

Micro averages pool the rows of all files, macro averages are means over files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robustparse.attacks.victim import LexicalVictim
from robustparse.data.columns import label_text, with_names
from robustparse.data.tables import ENDINGS, read_table
from robustparse.errors import InputError, located
from robustparse.evaluation.clean import AnsweringVictim, gold_losses, one_model, predictions
from robustparse.evaluation.rows import PerturbedAnswers
from robustparse.metrics import percent
from robustparse.models.base import Model
from robustparse.tasks.task import PAIR_COLUMNS, Task
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
        rows: how many there are.
        standard_accuracy, perturbation_accuracy, robust_accuracy, blackbox_success_rate: see the
            module; the last is None for victims without a loss.
        changed: perturbation accuracy of the rows whose two texts differ.
        answerable: perturbation accuracy of the rows that hold every word of the original which the
            answer needs (`Task.needed`), such as the slots of a logical form.
        deduplicated: perturbation accuracy of different rows.
        attainable: the rows that are `answerable` and whose original is answered rightly: the
            perturbation accuracy of a victim that loses nothing but what a text no longer says.
        unknown_words: those of perturbed texts that the victim has no vector of their own for, in
            percent of all; None where no word has one.
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

    The summaries that ``augment`` writes next to them are left out.

    Raises:
        InputError: there is none, or names the file and the line of what is no row.
    """
    folder = Path(folder)
    expected = "a folder with a file OPERATION.tsv for each operation"
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, expected=expected)
    paths = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in ENDINGS]
    paths = [path for path in paths if not _is_summary(path)]
    if not paths:
        raise InputError("holds no .tsv file", path=folder, expected=expected)
    pairs: dict[str, list[PerturbedPair]] = {}
    for path in paths:
        if path.stem in pairs:
            found = f"two files of the operation {path.stem}"
            raise InputError(found, path=path, expected="one for each operation")
        pairs[path.stem] = _read(path, task)
    return pairs


def _is_summary(path: Path) -> bool:
    others = (path.with_suffix(ending) for ending in ENDINGS if ending != ".json")
    beside = path.suffix == ".json" and any(other.exists() for other in others)
    return beside or path.name.endswith(".summary.json")


def _read(path: Path, task: Task) -> list[PerturbedPair]:
    table = read_table(path)
    first = [str(cell) for cell in table.rows[0][1].values()]
    named = table.named or {*PAIR_COLUMNS} <= {*first}
    if named and not table.named:
        table = with_names(table)
    pairs: list[PerturbedPair] = []
    width = 0  # of the first row
    for index, (line, values) in enumerate(table.rows):
        columns = ("context", *PAIR_COLUMNS) if "context" in values else PAIR_COLUMNS
        cells = [values.get(name) for name in columns] if named else [*values.values()]
        width = width or (4 if len(cells) == 4 else 3)
        if len(cells) != width or not all(map(label_text, cells)):
            what = "a premise, " if width == 4 else ""
            expected = f"{what}a perturbed text, its original and the answer, separated by tabs"
            row = "\t".join(map(str, values.values()))
            found = f"{len(cells)} columns in {row[:60]!r}"
            raise InputError(found, path=path, line=line, expected=expected)
        *texts, answer = map(label_text, cells)
        with located(path, line):
            gold = task.gold(answer)
        context = tuple(texts[0].split()) if len(texts) == 3 else ()
        both = (Sentence(tuple(one.split()), context=context) for one in texts[-2:])
        pairs.append(PerturbedPair(*(Example(index, text, gold) for text in both)))
    return pairs


def check_originals(
    task: Task,
    pairs: Mapping[str, Sequence[PerturbedPair]],
    folder: str | Path,
    examples: Sequence[Example],
) -> None:
    """Refuse rows whose originals are not among the examples, or have other answers there.

    Raises:
        InputError: names the file and the line of the first such row.
    """
    known: dict[tuple[Words, Words], list[Any]] = {}
    for example in examples:
        known.setdefault(_text(example), []).append(example.gold)
    for name, rows in pairs.items():
        for row in rows:
            text, gold = " ".join(row.original.sentence.words), row.original.gold
            answers = known.get(_text(row.original), [])
            found, expected = f"the original {text!r:.80} is not in the data", None
            if answers:
                found = f"the answer {str(gold)!r:.80} to {text!r:.80}"
                expected = f"that of the data, {str(answers[0])!r:.80}"
            if all(task.difference(gold, answer) for answer in answers):  # or there is none
                raise InputError(
                    found,
                    path=Path(folder) / f"{name}.tsv",
                    line=row.original.line,
                    expected=expected,
                    remedy="score the split that the texts were made of, without --limit",
                )


class PairOutcome(NamedTuple):
    """What a victim makes of a pair.

    Attributes:
        pair: the texts.
        answers: to the original, and to the perturbed text.
        losses: of the gold answer to both; None for victims without a loss.
        before, after: whether each answer is right.
        answerable: whether the perturbed text holds what the answer needs.
        unknown: how many words of the perturbed text the victim has no vector of their own for.
    """

    pair: PerturbedPair
    answers: tuple[Any, Any]
    losses: tuple[float, float] | None
    before: bool
    after: bool
    answerable: bool
    unknown: int | None

    @property
    def grown(self) -> bool | None:
        """Whether the loss of the gold answer has grown."""
        return None if self.losses is None else self.losses[1] > self.losses[0]


def pair_outcomes(
    victim: AnsweringVictim, pairs: Mapping[str, Sequence[PerturbedPair]]
) -> dict[str, list[PairOutcome]]:
    """Answer the texts of each file, equal ones once."""
    every = [example for rows in pairs.values() for pair in rows for example in pair]
    different = {(_text(each), str(each.gold)): each for each in every}
    numbered = [
        Example(id_, each.sentence, each.gold) for id_, each in enumerate(different.values())
    ]
    # Nobody wrote these texts: one over an encoder's limit is read in windows, as under attack.
    answers = {each.id: each.answer for each in predictions(victim, numbered, checked=False)}
    losses = gold_losses(victim, numbered)
    rows_of = dict(zip(different, range(len(numbered)), strict=True))
    right = [_right(victim.task, answers[each.id], each) for each in numbered]

    def outcome(pair: PerturbedPair) -> PairOutcome:
        after, before = (rows_of[_text(each), str(each.gold)] for each in pair)
        both = answers[before], answers[after]
        grown = None if losses is None else (losses[before], losses[after])
        words = _words(pair.perturbed)
        held = victim.task.needed(pair.original) <= set(words)
        known = victim.embedded(words) if isinstance(victim, LexicalVictim) else None
        unknown = None if known is None else len(words) - int(known.sum())
        return PairOutcome(pair, both, grown, right[before], right[after], held, unknown)

    return {name: [outcome(pair) for pair in rows] for name, rows in pairs.items()}


def pair_scores(
    outcomes: Mapping[str, Sequence[PairOutcome]],
) -> tuple[dict[str, PairScores], float]:
    """Compute the measures of each file, and as ``micro`` and ``macro`` those of all.

    Returns:
        The measures, and the percentage of originals all of whose perturbed texts are answered
        rightly.
    """
    scores = {name: _scores(rows) for name, rows in outcomes.items()}
    micro = _scores([row for rows in outcomes.values() for row in rows])
    worst: dict[tuple[Words, Words], bool] = {}
    for row in (row for rows in outcomes.values() for row in rows):
        original = _text(row.pair.original)
        worst[original] = worst.get(original, True) and row.after
    averages = {"micro": micro, "macro": _mean([*scores.values()])}
    return scores | averages, percent(sum(worst.values()), len(worst))


def checked_pairs(
    victim: AnsweringVictim, folder: str | Path, examples: Sequence[Example]
) -> dict[str, list[PerturbedPair]]:
    """Read a folder of perturbed texts that a victim is to answer.

    Args:
        victim: answers all texts.
        folder: see `read_perturbed_pairs`.
        examples: the originals.

    Raises:
        InputError: see `read_perturbed_pairs` and `check_originals`; or a row's answer is none that
            the model could have learnt, so that it has no loss.
    """
    pairs = read_perturbed_pairs(folder, victim.task)
    check_originals(victim.task, pairs, folder, examples)
    if (known := one_model(victim)) is not None:
        _check_answers(known.model, pairs, folder)
    return pairs


def pairs_report(outcomes: Mapping[str, Sequence[PairOutcome]]) -> dict[str, Any]:
    """Return what ``scores.json`` says of a folder of perturbed texts."""
    scores, worst = pair_scores(outcomes)
    rows = {name: asdict(one) for name, one in scores.items()}
    return {"perturbed_files": rows, "worst_case": worst}


def rows_of_pairs(outcomes: Mapping[str, Sequence[PairOutcome]]) -> Iterator[PerturbedAnswers]:
    """Yield the rows of ``perturbed.jsonl``."""
    for operation, rows in outcomes.items():
        for row in rows:
            texts = row.pair.original, row.pair.perturbed
            yield PerturbedAnswers(operation, *texts, *row.answers, row.losses)


def _check_answers(
    model: Model, pairs: Mapping[str, Sequence[PerturbedPair]], folder: str | Path
) -> None:
    for name, rows in pairs.items():
        with located(Path(folder) / f"{name}.tsv"):
            model.gold_columns([row.perturbed for row in rows], "none")


def _right(task: Task, answer: object, example: Example) -> bool:
    counted = task.counted(example.sentence, "none")
    sums = task.correct(answer, example, counted)
    return all(sums[name] == sums["counted"] for name in task.sums)


def _scores(rows: Sequence[PairOutcome]) -> PairScores:
    after = np.array([row.after for row in rows])
    before = np.array([row.before for row in rows])
    grown = None if rows[0].grown is None else np.array([row.grown for row in rows])
    changed = np.array([_words(row.pair.perturbed) != _words(row.pair.original) for row in rows])
    answerable = np.array([row.answerable for row in rows])
    first = {(*map(_text, row.pair), str(row.pair.original.gold)): i for i, row in enumerate(rows)}
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
        unknown_words=_unknown_words(rows),
    )


def _unknown_words(rows: Sequence[PairOutcome]) -> float | None:
    counts = [row.unknown for row in rows if row.unknown is not None]
    return (
        percent(sum(counts), sum(len(_words(row.pair.perturbed)) for row in rows))
        if counts
        else None
    )


def _mean(scores: Sequence[PairScores]) -> PairScores:
    """Return the means over files; those without a value are left out."""

    def mean(name: str) -> float | None:
        known = [value for one in scores if (value := getattr(one, name)) is not None]
        return float(np.mean(known)) if known else None

    names = [field.name for field in fields(PairScores) if field.name != "rows"]
    return PairScores(sum(one.rows for one in scores), *map(mean, names))


def _share(marked: np.ndarray) -> float | None:
    return percent(int(marked.sum()), len(marked)) if len(marked) else None


def _text(example: Example) -> tuple[Words, Words]:
    """Return what a text is told from others by: its context and its words."""
    return example.sentence.context, example.sentence.words


def _words(example: Example) -> Words:
    return example.sentence.words
