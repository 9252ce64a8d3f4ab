"""TextFooler against its algorithm written out for one text after the other, in float64.

Both recipes' settings, on random texts, victims of four labels, and parts whose answers follow from
hashes: the outcome, whether it succeeds, and how many queries are charged.
"""

import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled
from test_label_flips import LABELS, Probabilities, equation

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.attacks.constraints.tagging.current_tag import CurrentTag
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.attacks.constraints.words import StopWords
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import DeletedWord, UnknownWord
from robustparse.types import Sentence

STOP = ["s0", "s1"]
WORDS = [*STOP, *(f"w{number}" for number in range(20))]
CANDIDATES = {word: [f"{word}c{by}" for by in range(int(word[1:]) % 6)] for word in WORDS[2:]}
WINDOW = 5


def code(*words: str) -> int:
    return zlib.crc32(" ".join(words).encode())


def tag(words: Sequence[str], at: int) -> str:
    """A tagger that looks at the word before, too."""
    return ("NN", "NN", "VB", "JJ")[code(*words[max(0, at - 1) : at + 1]) % 4]


def embedded(text: str) -> np.ndarray:
    """A sum of vectors, of which those of candidates are near that of their word."""
    rows = []
    for word in text.split():
        stem, _, rest = word.partition("c")
        own = np.random.default_rng(code(stem)).normal(size=8)
        rows.append(own + (np.random.default_rng(code(word)).normal(size=8) if rest else 0.0))
    return np.sum(rows, axis=0)


class Tagger:
    def substituted(self, places: Any, candidates: Any) -> list[list[str]]:
        return [
            [tag([*words[:at], word, *words[at + 1 :]], at) for word in some]
            for (words, at), some in zip(places, candidates, strict=True)
        ]


class Encoder:
    def to(self, _: object) -> "Encoder":
        return self

    def eval(self) -> "Encoder":
        return self

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        return np.stack([embedded(text) for text in texts])


@dataclass(frozen=True)
class Options:
    """What differs between the paper and the released code."""

    put: tuple[str, ...] = ()
    short: float | None = None
    noun_verb: bool = False
    judged: Any = "before"
    accept: Any = "current"

    def attack(self) -> Attack:
        ranking = UnknownWord if self.put else DeletedWord
        settings: dict[str, Any] = {"measure": "textfooler", "reference": "current"}
        return Attack(
            Lexicon(CANDIDATES),
            GreedyByImportance(
                ranking(words="all", flip=True), "similar", self.judged, self.accept
            ),
            [
                ProtectedStops(),
                CurrentTag(window=1, whole=4, noun_verb=self.noun_verb),
                SentenceSimilarity(
                    "x",
                    minimum=0.2,
                    window=WINDOW,
                    short="check" if self.short is None else self.short,
                    **settings,
                ),
            ],
            goal=LabelFlip(),
        )

    def admits(self, original: list[str], current: list[str], at: int, word: str) -> bool:
        """Whether tags and similarity let a candidate through."""
        changed = [*current[:at], word, *current[at + 1 :]]
        own, other = tag(original, at), tag(changed, at)
        if own != other and not (self.noun_verb and {own, other} == {"NN", "VB"}):
            return False
        short = len(current) < WINDOW and self.short is not None
        return similarity(current, changed, at) >= (self.short if short else 0.2)


def similarity(current: list[str], changed: list[str], at: int) -> float:
    begin = min(max(0, at - WINDOW // 2), max(0, len(current) - WINDOW))
    one, other = (embedded(" ".join(t[begin : begin + WINDOW])) for t in (current, changed))
    cosine = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    return 1.0 - float(np.arccos(cosine))


class ProtectedStops(StopWords):
    """The two stop words, without a file."""

    _words = frozenset(STOP)


def by_hand(text: list[str], victim: Probabilities, options: Options) -> tuple[str, bool, int]:
    """Algorithm 1: the outcome, whether it succeeds, and the queries."""
    y = int(victim.of(text).argmax())
    importance = [equation(victim, text, at, list(options.put)) for at in range(len(text))]
    charged, current = 1 + len(text), list(text)
    original = level = victim.of(text)[y]
    for at in sorted(range(len(text)), key=lambda at: -importance[at]):
        everything = CANDIDATES.get(text[at], [])
        kept = [word for word in everything if options.admits(text, current, at, word)]
        charged += len(everything if options.judged == "after" else kept)
        if not kept:
            continue
        texts = [[*current[:at], word, *current[at + 1 :]] for word in kept]
        rows = np.stack([victim.of(one) for one in texts])
        flips = [row for row in range(len(kept)) if rows[row].argmax() != y]
        if flips:
            best = max(flips, key=lambda row: similarity(current, texts[row], at))
            return " ".join(texts[best]), True, charged
        best = int(rows[:, y].argmin())
        if rows[best, y] < (level if options.accept == "current" else original):
            current, level = texts[best], rows[best, y]
    return " ".join(current), False, charged


class Steady(Probabilities):
    """Four labels, the first three words deciding on most of it: flips are no matter of course."""

    def of(self, text: Sequence[str]) -> np.ndarray:
        share = np.random.default_rng(code(*(word[:2] for word in text[:3]))).random(4) ** 4
        return 0.75 * share / share.sum() + 0.25 * super().of(text)


PAPER = Options()
RELEASED = Options(("<unk>",), 0.1, True, "after", "original")


@pytest.fixture
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PerceptronTags, "load", lambda: Tagger())
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = lambda *_, **__: Encoder()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)


def texts() -> list[list[str]]:
    rng = np.random.default_rng(0)
    return [[str(word) for word in rng.choice(WORDS, 1 + at % 9)] for at in range(90)]


def found(options: Options, victim: Callable[[], Probabilities]) -> dict[int, Any]:
    asked, examples = victim(), []
    for number, text in enumerate(texts()):
        gold = LABELS[int(asked.of(text).argmax())]
        one: Any = Labelled(number, Sentence(tuple(text)), gold)
        examples.append(one)
    return {
        each.problem.id: (" ".join(each.words), each.success, each.queries.charged)
        for each in options.attack().search_runs(examples, asked)
    }


ONE_BY_ONE = [
    *(Options(put=RELEASED.put), Options(short=0.1), Options(noun_verb=True)),
    *(Options(judged="after"), Options(accept="original")),
]


@pytest.mark.usefixtures("_parts")
@pytest.mark.parametrize(
    ("options", "victim"),
    [
        *((PAPER, Probabilities), (RELEASED, Probabilities)),
        *((options, Steady) for options in (PAPER, RELEASED, *ONE_BY_ONE)),
    ],
)
def test_outcomes_and_queries_are_those_of_the_algorithm(options: Options, victim: Any) -> None:
    results = found(options, victim)
    assert results == {at: by_hand(text, victim(), options) for at, text in enumerate(texts())}
    successes = sum(success for _, success, _ in results.values())
    assert 5 <= successes <= 85  # successes and failures


@pytest.mark.usefixtures("_parts")
def test_every_option_makes_a_difference() -> None:
    paper = found(PAPER, Steady)
    assert all(found(options, Steady) != paper for options in ONE_BY_ONE)
