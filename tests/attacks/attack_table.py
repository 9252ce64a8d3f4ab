"""One table of attacks, for the laws that hold for all of them."""

import string
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from attack_fakes import HashVictim, corpus
from numpy.typing import NDArray
from search_fakes import Climb
from sentence_judges import Asked, Judge, code, rises_slowly, stays_close

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.characters import CharacterEdits
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.edits import Repeat
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.constraints.words import ForbiddenRelations
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.goals.phrases import PhraseDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.beam import Beam, Greedy
from robustparse.attacks.search.genetic import Genetic
from robustparse.attacks.search.gradient_substitution import NearestCharacter, NearestWord
from robustparse.attacks.search.importance import PWWS, GreedyByImportance
from robustparse.attacks.search.particle_swarm import ParticleSwarm
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.rankings import (
    DeletedWord,
    GradientNorm,
    RandomOrder,
    UnknownWord,
    WeightedSaliency,
)
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.search.zheng2020_phrase import PhraseBlackBox, PhraseWhiteBox
from robustparse.attacks.search.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.models.victim import ModelVictim
from robustparse.types import DependencyTree, Example, Sentence
from sample_runs import sentences, trained_parser

EXAMPLES, LEXICON = corpus(40)
OTHERS, OTHER_LEXICON = corpus(30, seed=4)
# White boxes end at a word without candidates.
_WORDS = [f"w{number}" for number in range(60)]
FULL = {word: [_WORDS[(at + 7 * by) % 60] for by in range(1, 13)] for at, word in enumerate(_WORDS)}
CLASSES = AttackableTags(["NN", "VB", "DT", "JJ"])


class Words(HashVictim):
    """Chains words, save for a third of them, drawn from the whole text; knows thirty words."""

    training_words = dict.fromkeys(f"t{number}" for number in range(30)).keys()

    def answer(self, text: tuple[str, ...]) -> tuple[list[int], list[int]]:
        codes = [zlib.crc32(f"{place} {' '.join(text)}".encode()) for place in range(len(text))]
        heads = [place if code % 3 else 1 + place // 2 for place, code in enumerate(codes)]
        return heads, [0] * len(text)


@cache
def forest() -> list[Example]:
    """Sentences with two to four phrases of four or five words, punctuation among them."""
    rng = np.random.default_rng(3)
    made = []
    for number in range(25):
        heads, labels = [0], ["root"]
        for _ in range(int(rng.integers(2, 5))):
            root = len(heads) + 1
            heads += [1] + [root] * int(rng.integers(3, 5))
            labels += ["obj"] + ["punct" if rng.random() < 0.2 else "dep" for _ in heads[root:]]
        words = tuple(f"t{n}" for n in rng.integers(0, 30, len(heads)))
        tree = DependencyTree(tuple(heads), tuple(labels))
        made.append(Example(number, Sentence(words, xpos=("NN",) * len(words)), tree))
    return made


def with_phrases(example: Example) -> Example:
    """Two chains side by side under the last word: a victim that looks at neighbours errs at the
    end of the first one if the second one's first word is changed.
    """
    last = len(example.sentence) - 1
    heads = list(range(last + 1))
    heads[0] = heads[last // 2] = last + 1
    heads[last] = 0
    return replace(example, gold=replace(example.gold, heads=tuple(heads)))


PHRASES = [with_phrases(one) for one in corpus(54, seed=5)[0]]


class Measured(Asked):
    """A constraint that measures a similarity by a function, and admits what a judge says."""

    def __init__(self, similarity: Callable[[Edit], float], judge: Judge = lambda _: True) -> None:
        super().__init__(judge)
        self.similarity = similarity
        self.compared: list[list[Edit]] = []

    def similarities(self, edits: Sequence[Edit]) -> NDArray[np.float64]:
        self.compared.append(list(edits))
        return np.array([self.similarity(edit) for edit in edits])


class Shorter(Constraint):
    """Candidates of at most N letters."""

    def __init__(self, letters: int) -> None:
        self.letters = letters

    def accept(self, slots, candidates, victim):
        return [np.array([len(w) <= self.letters for w in some], np.bool_) for some in candidates]


@dataclass(frozen=True)
class Case:
    """An attack, what it attacks, and whether it draws anything at random."""

    search: Search
    candidates: CandidateGenerator
    constraints: Sequence[Constraint] = (AttackableTags(),)
    goal: Goal = AttachmentDrop(least=3)  # noqa: RUF009  # several errors: searches go on a while
    examples: Sequence[Example] = tuple(EXAMPLES)
    victim: Callable[[], Any] = HashVictim
    draws: bool = False

    def attack(self, **settings: Any) -> Attack:
        return Attack(
            self.candidates, self.search, list(self.constraints), goal=self.goal, **settings
        )

    def run(self, examples: Iterable[Example] | None = None, **settings: Any) -> "Results":
        """What becomes of the sentences, by id."""
        some = self.examples if examples is None else examples
        return {one.id: one for one in self.attack(**settings).run(some, self.victim())}


Results = dict[int, AttackResult]

SEARCHES: dict[str, Search] = {
    "greedy": Greedy(),
    "beam": Beam(width=3),
    "beam, concatenated": Beam(width=3, members="concatenate"),
    "unknown": GreedyByImportance(UnknownWord()),
    "deletion": GreedyByImportance(DeletedWord()),
    "weighted saliency": GreedyByImportance(WeightedSaliency()),
    "gradient": GreedyByImportance(GradientNorm()),
    "random order": GreedyByImportance(RandomOrder()),
    "pwws": PWWS(),
    "genetic": Genetic(population=5, generations=3),
    "genetic, redrawn": Genetic(
        population=5, generations=3, selection="textattack", repeats="redraw"
    ),
    "swarm": ParticleSwarm(population=5, iterations=3),
    "swarm, textattack": ParticleSwarm(population=5, iterations=3, direction="textattack"),
    "wang": Wang2021(gamma=0.4),
    "white box": Zheng2020WhiteBox(
        gamma=0.6, drop=1.0, positions=8, substitution=NearestWord(alpha=30.0)
    ),
}
DRAWING = {"random order", "genetic", "genetic, redrawn", "swarm", "swarm, textattack"}

# Under constraints on sentences, which judge states that are reached in different ways.
CONSTRAINED: dict[str, Search] = {
    "beam": Beam(width=3),
    "beam, concatenated": Beam(width=2, members="concatenate"),
    "unknown": GreedyByImportance(UnknownWord()),
    "deletion": GreedyByImportance(DeletedWord()),
    "pwws": PWWS(),
    "genetic": Genetic(population=6, generations=4),
    "genetic, redrawn": Genetic(population=6, generations=4, repeats="redraw"),
    "swarm": ParticleSwarm(population=6, iterations=4),
    "swarm, textattack": ParticleSwarm(population=6, iterations=4, direction="textattack"),
    "wang": Wang2021(gamma=0.4),
    "zheng": Zheng2020(gamma=0.4, psi=4),
    "white box": Zheng2020WhiteBox(gamma=0.25, trials=12),
    "white box, two at once": Zheng2020WhiteBox(gamma=0.25, trials=12, positions=2),
    "phrase, black box": PhraseBlackBox(trials=20, at_once=4),
    "phrase, white box": PhraseWhiteBox(trials=12),
    "random": RandomSubstitution(gamma=0.4, trials=12),
}


def goal_of(name: str) -> Goal:
    if name.startswith("phrase"):
        return PhraseDrop(shortest=2, longest=6)
    return AttachmentDrop(metric="mean" if name == "wang" else "uas", least=3)


def examples_of(name: str) -> list[Example]:
    return PHRASES if name.startswith("phrase") else OTHERS


def constrained(name: str, *constraints: Constraint) -> Case:
    """One of the searches above, under constraints on sentences."""
    table = FULL if name.startswith(("white", "phrase", "random")) else OTHER_LEXICON
    return Case(
        CONSTRAINED[name],
        Lexicon(table),
        [*constraints, CLASSES],
        goal_of(name),
        examples_of(name),
    )


def _judges() -> list[Asked]:
    return [Asked(rises_slowly), Asked(stays_close)]


def _union(search: Search, draws: bool = False) -> Case:
    other = {word: [*some[::-1][:3], "w1", "W2"] for word, some in OTHER_LEXICON.items()}
    both = Union([Lexicon(OTHER_LEXICON), Lexicon(other)])
    constraints = [CLASSES, Shorter(2), Asked(lambda edit: "1" not in edit.word)]
    return Case(search, both, constraints, AttachmentDrop(), OTHERS, draws=draws)


def _phrase(search: Search, sample: int | None, gap: int) -> Case:
    goal = PhraseDrop(shortest=4, longest=5, gap=gap)
    words = VocabularyWords(sample=sample)
    return Case(
        search, words, [ForbiddenRelations(["punct"])], goal, forest(), Words, sample is not None
    )


CASES: dict[str, Case] = {
    **{
        name: Case(search, Lexicon(LEXICON), goal=goal_of(name), draws=name in DRAWING)
        for name, search in SEARCHES.items()
    },
    "zheng, strict": Case(
        Zheng2020(gamma=0.3, psi=4),
        Lexicon(LEXICON),
        goal=AttachmentDrop(metric="las", success="strict", punctuation="penn"),
        draws=True,
    ),
    "climb": Case(Climb(), Lexicon(LEXICON), goal=AttachmentDrop(metric="las"), draws=True),
    "most similar": Case(
        GreedyByImportance(UnknownWord(), "similar"),
        Lexicon(OTHER_LEXICON),
        [
            Measured(lambda edit: code([*edit.current, *edit.changed]) % 1000, rises_slowly),
            CLASSES,
        ],
        AttachmentDrop(),
        OTHERS,
    ),
    "phrases, black": _phrase(PhraseBlackBox(trials=20, at_once=4), 12, 0),
    "phrases, black, exactly": _phrase(
        PhraseBlackBox(trials=20, edits="exactly", at_once=7), 12, 0
    ),
    "phrases, white": _phrase(
        PhraseWhiteBox(trials=4, substitution=NearestWord(alpha=30.0)), None, 1
    ),
    "climb, union": _union(Climb(), draws=True),
    "zheng, union": _union(Zheng2020(gamma=0.4, psi=4), draws=True),
    "wang, union": _union(Wang2021(gamma=0.5)),
    **{f"{name}, constrained": constrained(name, *_judges()) for name in CONSTRAINED},
    **{
        f"{name}, no repeats": constrained(name, Repeat(), *_judges())
        for name in CONSTRAINED
        if "white box" in name
    },
}


@cache
def _parser(characters: bool) -> ModelVictim:
    return ModelVictim([trained_parser(characters=characters)])


def of_parsers() -> dict[str, Case]:
    """White boxes that follow the gradients of real parsers, in float64."""
    nearest = NearestWord(alpha=3.0)
    return {
        "words": Case(
            Zheng2020WhiteBox(trials=3, positions=2, substitution=nearest),
            TrainingWords(),
            goal=AttachmentDrop(),
            examples=sentences(60, "test")[::10],
            victim=lambda: _parser(False),
        ),
        "phrases": Case(
            PhraseWhiteBox(trials=6, substitution=nearest),
            VocabularyWords(sample=None),
            [ForbiddenRelations(["punct"])],
            PhraseDrop(),
            sentences(60, "test"),
            lambda: _parser(False),
        ),
        "characters": Case(
            Zheng2020WhiteBox(trials=4, substitution=NearestCharacter()),
            CharacterEdits(edits=["substitute"], sample=None, alphabet=string.ascii_lowercase),
            [ForbiddenRelations(["punct"])],
            AttachmentDrop(),
            sentences(60, "test")[::10],
            lambda: _parser(True),
        ),
    }
