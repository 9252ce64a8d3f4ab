"""Random victims of few words that read some words alike, and what enumeration says of them."""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.allowed_inputs import Edits
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.task import Task
from robustparse.types import DependencyTree, Example, LogicalForm, Sentence, TextRows

EDITS: tuple[Edits, ...] = (1, 2, "all")
SEMANTIC = semantic_task("lambda")
KINDS = {"trees": DEPENDENCY, "labels": CLASSIFICATION, "forms": SEMANTIC}
LABELS = ("det", "obj", "nsubj")
CLASSES = ("good", "bad", "fair")
# The second form means what the first means.
FORMS = tuple(
    LogicalForm(text, "lambda")
    for text in (
        "( lambda $0 e ( and ( a $0 ) ( b $0 ) ) )",
        "( lambda $1 e ( and ( b $1 ) ( a $1 ) ) )",
        "( lambda $0 e ( a $0 ) )",
    )
)
WORDS = tuple(f"w{number}" for number in range(9))

Text = tuple[str, ...]


@dataclass
class SmallVictim:
    """Answers by a hash of the codes of a text, most often with the gold answer.

    Args:
        task: of its answers.
        gold: the answer that it prefers.
        codes: word -> its code; words with one code are read alike.
        seed: another seed is another victim.
        errors: one of so many answers is another one.
    """

    task: Task
    gold: Any
    codes: Mapping[str, str]
    seed: int
    errors: int
    asked: list[Text] = field(default_factory=list)
    batch_words: int = 400
    unknown = 1
    training_tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    training_words: Collection[str] = frozenset()

    def __post_init__(self) -> None:
        self._codes = ["", "?"]
        self._names: dict[str, int] = {}

    def read(self, words: Sequence[str]) -> Text:
        """The codes of words."""
        return tuple(self.codes.get(word, word) for word in words)

    def answer(self, words: Sequence[str]) -> Any:
        """The answer to a text."""
        return self._of_codes(self.read(words))

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        for code in self.read(words):
            if code not in self._codes:
                self._codes.append(code)
        return np.array([self._codes.index(code) for code in self.read(words)], dtype=np.int32)

    def intern_marks(self, marks: Sequence[str]) -> NDArray[np.int32]:
        return np.zeros(len(marks), dtype=np.int32)

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        known = (*LABELS, *CLASSES) if self.task is not SEMANTIC else (FORMS[0], FORMS[2])
        names = [FORMS[0] if name == FORMS[1] else name for name in names]
        return np.array([known.index(name) % 3 for name in names], dtype=np.int32)

    def predict(self, texts: TextRows) -> tuple[NDArray[Any], ...]:
        words, _, lengths = texts
        texts = [
            tuple(self._codes[row] for row in of_text[:length])
            for of_text, length in zip(words.tolist(), lengths.tolist(), strict=True)
        ]
        self.asked += texts
        answers = [self._of_codes(text) for text in texts]
        if self.task is DEPENDENCY:
            heads = np.full(words.shape, 99, dtype=np.int16)
            labels = np.full(words.shape, 99, dtype=np.int32)
            for row, tree in enumerate(answers):
                heads[row, : len(tree.heads)] = tree.heads
                labels[row, : len(tree.heads)] = self.name_ids(tree.labels)
            return heads, labels
        if self.task is CLASSIFICATION:
            return (np.eye(3)[self.name_ids(answers)],)
        rows = np.array([FORMS.index(answer) for answer in answers])
        return rows, self.name_ids(answers), np.ones(len(answers))

    def answers(self, predictions: Sequence[NDArray[Any]], lengths: Sequence[int]) -> list[Any]:
        if self.task is DEPENDENCY:
            return [
                DependencyTree(
                    tuple(heads[:length]), tuple(LABELS[label] for label in labels[:length])
                )
                for heads, labels, length in zip(
                    *(array.tolist() for array in predictions), lengths, strict=True
                )
            ]
        if self.task is CLASSIFICATION:
            return [CLASSES[label] for label in predictions[0].argmax(axis=1).tolist()]
        return [FORMS[row] for row in predictions[0].tolist()]

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        yield

    def check(self, examples: Sequence[Example]) -> None:
        pass

    def warnings(self, *_: object) -> Iterator[str]:
        return iter(())

    def _of_codes(self, codes: Text) -> Any:
        if self.task is not DEPENDENCY:
            answers = CLASSES if self.task is CLASSIFICATION else FORMS
            code = self._hash(codes)
            return answers[code // self.errors % 3] if code % self.errors == 0 else self.gold
        heads, labels = list(self.gold.heads), list(self.gold.labels)
        for at in range(len(codes)):
            code = self._hash((*codes[max(0, at - 1) : at + 2], str(at)))
            if code % self.errors == 0:
                heads[at] = code // self.errors % (len(codes) + 1)
            if code % (self.errors + 1) == 0:
                labels[at] = LABELS[code // 7 % 3]
        return DependencyTree(tuple(heads), tuple(labels))

    def _hash(self, codes: Text) -> int:
        return zlib.crc32(f"{self.seed} {' '.join(codes)}".encode())


@dataclass(frozen=True)
class Case:
    """A victim, a sentence and the words that may take the place of its words."""

    victim: SmallVictim
    example: Example
    table: SubstitutionTable

    def texts(self, edits: Edits) -> list[Text]:
        """All allowed texts, the original first."""
        words = self.example.sentence.words
        most = len(words) if edits == "all" else edits
        choices = [(word, *self.table.of(word)) for word in words]
        return [
            text
            for text in product(*choices)
            if sum(new != word for new, word in zip(text, words, strict=True)) <= most
        ]

    def right(self, text: Text) -> NDArray[np.bool_]:
        """Which parts of the answer to a text are right, by each score, `(parts, scores)`."""
        answer, gold = self.victim.answer(text), self.example.gold
        if isinstance(gold, DependencyTree):
            rows = zip(answer.heads, gold.heads, answer.labels, gold.labels, strict=True)
            return np.array([(a == b, a == b and c == d) for a, b, c, d in rows])
        same = {answer, gold} <= {*FORMS[:2]} or answer == gold
        return np.array([[same]])

    def certified(self, edits: Edits) -> NDArray[np.bool_]:
        """Which parts are right on all allowed texts."""
        return np.all([self.right(text) for text in self.texts(edits)], axis=0)

    def inputs(self, edits: Edits) -> int:
        """How many allowed texts the victim can tell apart."""
        return len({self.victim.read(text) for text in self.texts(edits)})


def case(kind: str, seed: int, most: int = 200) -> Case:
    """A random case with at most so many allowed texts."""
    rng = np.random.default_rng([seed, len(kind)])
    while True:
        length = int(rng.integers(1, 7))
        words = tuple(str(word) for word in rng.choice(WORDS, length))
        if length > 1:
            words = (words[0].capitalize(), *words[1:])
        table = {
            word: tuple(
                str(other) for other in rng.permutation([w for w in WORDS if w != word])[:n]
            )
            for word in WORDS
            if (n := int(rng.integers(0, 4)))
        }
        sizes = [1 + len(table.get(word.lower(), ())) for word in words]
        if np.prod(sizes) <= most:
            break
    codes = {}
    for word in WORDS:  # a third of the words are read as another word
        code = str(rng.choice(WORDS)) if rng.random() < 1 / 3 else word
        codes |= {word: code, word.capitalize(): code}
    gold: Any = str(rng.choice(CLASSES))
    if kind == "forms":
        gold = FORMS[int(rng.integers(3))]
    elif kind == "trees":
        heads = tuple(int(rng.integers(0, length + 1)) for _ in words)
        gold = DependencyTree(heads, tuple(str(label) for label in rng.choice(LABELS, length)))
    errors = int(rng.choice([4, 9, 30]))
    victim = SmallVictim(KINDS[kind], gold, codes, seed, errors)
    return Case(victim, Example(seed, Sentence(words), gold), SubstitutionTable(table))
