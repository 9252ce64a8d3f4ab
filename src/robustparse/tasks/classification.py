"""Text classification: a label for each text or pair of texts, scored by accuracy.

The first text of a pair, as in entailment, is the context (`Sentence.context`). It is never edited.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.sample.reviews import sample_reviews
from robustparse.data.text_files import read_texts
from robustparse.errors import InputError
from robustparse.files.paths import Sources
from robustparse.metrics import percent
from robustparse.tasks.certificate_drawing import CERTIFICATE_LEGEND, draw_answer
from robustparse.tasks.task import Answers, Pictures, Record, Task
from robustparse.tasks.text import TableFiles, TextScores, template
from robustparse.types import Example, Label

_USUAL = 10  # texts per label from which a label without texts is reported
_NAME_THEM = (
    "; it knows none of the file's labels: rename them in the file, or, for a --victim, give "
    "--victim.labels the file's labels in the order of the model's outputs, such as "
    '\'["0", "1"]\''
)


class ClassificationFiles(TableFiles):
    """Tables of texts, or pairs of texts, and labels."""

    corpus = staticmethod(sample_reviews)

    def read(self, path: Sources, options: ReadOptions = ReadOptions()) -> list[Example]:
        """See `read_texts`."""
        return read_texts(path, options)

    def answer(self, text: str) -> str:
        """Return the label."""
        return text.strip()

    def warnings(
        self, examples: Sequence[Example], known: Collection[str], use: FileUse
    ) -> Iterator[str]:
        """Warn of labels without texts or unknown to the classifier, and of quoted texts."""
        if len(examples) > 1 and all(map(_is_quoted, examples)):
            yield (
                f"{use.path}: every text is in quotation marks, which become words or parts of "
                "words; remove them, or name the file .csv if it follows the rules of CSV"
            )
        unknown = [example for example in examples if example.gold not in known]
        if unknown:
            first = unknown[0]
            names = shorten(", ".join(map(repr, known)), 80, placeholder=" …")
            yield (
                f"{first.place(use.path)}: label {first.gold!r}, which the classifier does not "
                f"know (its labels are {names}): texts with this or other such labels, "
                f"{len(unknown)} in all, {'are not learnt' if use.training else 'count as wrong'}"
                + (_NAME_THEM if len(unknown) == len(examples) and not use.training else "")
            )
        used = {example.gold for example in examples}
        unused = [label for label in known if label not in used]
        if unused and len(examples) >= _USUAL * len(known):
            names = " or ".join(map(repr, unused))
            effect = (
                "training may unlearn it" if use.training else "a text that gets it counts as wrong"
            )
            yield (
                f"{use.path}: no text has the label {names}, and the classifier has {len(known)} "
                f"labels: {effect}"
            )


def _is_quoted(example: Example) -> bool:
    text = " ".join(example.sentence.words)
    return len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]


class ClassificationAnswers(Answers):
    """Labels: `str`, or `Label` with probabilities if a model gave them."""

    def to_record(self, answer: str) -> dict[str, Any]:
        """Return the label, and the probabilities of all labels if they are known."""
        known = answer.probabilities if isinstance(answer, Label) else {}
        rounded = {name: round(value, 4) for name, value in known.items()}
        return {"label": str(answer), **({"probabilities": rounded} if rounded else {})}

    def lines(self, answer: str, words: Sequence[str]) -> list[str]:
        """Return the label, and its probability if it is known."""
        known = answer.probabilities if isinstance(answer, Label) else {}
        return [f"{answer} ({known[answer]:.2f})" if answer in known else str(answer)]

    def from_record(self, record: Record) -> Label:
        """See `Answers.from_record`."""
        label, probabilities = record.get("label"), record.get("probabilities")
        if not isinstance(label, str):
            raise InputError(f"got {label!r}", key="label", expected="a string")
        known = {} if probabilities is None else probabilities
        if not isinstance(known, dict) or not all(
            isinstance(share, int | float) and 0 <= share <= 1 for share in known.values()
        ):
            expected = "an object: label -> number from 0 to 1"
            raise InputError(f"got {known!r}", key="probabilities", expected=expected)
        return Label(label, known)

    def kind(self, record: Record) -> str:
        """Return the gold label."""
        return str(self.from_record(record["gold"]))


class ClassificationScores(TextScores):
    """Accuracy."""

    headline = "accuracy"
    names = ("accuracy",)
    further = ()

    def correct(self, answer: str, example: Example, counted: NDArray[np.bool_]) -> dict[str, int]:
        """Return 1 for a text, and whether its label is right."""
        return {"counted": 1, "correct": int(answer == example.gold)}

    def score(self, sums: Mapping[str, int]) -> dict[str, float | None]:
        """Compute the accuracy."""
        whole = sums.get("counted", 0)
        return {"accuracy": percent(sums.get("correct", 0), whole) if whole else None}


def _draw(record: Record) -> str:
    """Draw both texts, and the probability of each label before and after."""
    gold, before, after = ClassificationAnswers().of(record)
    labels = dict.fromkeys([gold, *before.probabilities, before, after])
    return template("labels.html.j2").render(
        record=record, gold=gold, before=before, after=after, labels=labels
    )


def _draw_certificate(record: Record) -> str:
    """Draw a text, its label, and the texts with another label."""
    answers = ClassificationAnswers()

    def answer_of(answer: Record) -> str:
        label = answers.from_record(answer)
        probability = label.probabilities.get(label)
        return label if probability is None else f"{label} ({100 * probability:.1f} %)"

    return draw_answer(record, "accuracy", answers.from_record(record["gold"]), answer_of)


_LEGEND = (
    '<ul class="legend"><li><mark>word</mark>substituted</li><li>Bars are probabilities; '
    "wrong labels have another color. The most probable label, the answer, is bold.</li></ul>"
)
CLASSIFICATION = Task(
    "classification",
    ClassificationFiles(),
    ClassificationAnswers(),
    ClassificationScores(),
    Pictures(_draw, _LEGEND, _draw_certificate, CERTIFICATE_LEGEND),
)
