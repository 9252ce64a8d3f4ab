"""Problems: casing, duplicates, filters in order, positions, and the attack from its YAML."""

from pathlib import Path

import numpy as np
import pytest
from attack_fakes import HashVictim, TableVictim, example
from jsonargparse import ArgumentParser

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.masked_lm import MaskedLM
from robustparse.attacks.candidates.neighbours import EmbeddingNeighbours
from robustparse.attacks.candidates.sememes import Sememes
from robustparse.attacks.candidates.union import Union, verbatim
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.similarity import VectorSimilarity
from robustparse.attacks.constraints.tagging.same_tag import DictionaryTag
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.problem import UNKNOWN, Problem
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.casing import in_casing_of
from robustparse.errors import InputError

CONFIG = Path(__file__).parents[2] / "configs" / "attack" / "zheng2020_blackbox.yaml"

ONE = example("Dogs chase IBM cats", "NNS VBP NNP NNS", (2, 0, 4, 2), number=1)
TWO = example("of cats", "IN NNS", (2, 0), number=2)
LEXICON = {
    "dogs": ["wolves", "DOGS", "foxes", "Wolves"],
    "ibm": ["apple"],
    "cats": ["lions", "bees"],
}


def build(constraints: list[Constraint]) -> list[Problem]:
    victim, statistics = HashVictim(), Statistics()
    builder = ProblemBuilder(victim, Lexicon(LEXICON), constraints, AttachmentDrop(), 0, statistics)
    problems = builder.build([ONE, TWO])
    assert all(not problem.words and not problem.ptr.any() for problem in problems)
    # In two steps, the later one on both sides of the earlier: the result is the same as in one.
    eligible = [np.flatnonzero(problem.eligible) for problem in problems]
    at_once = builder.extend(problems, eligible)
    problems = builder.extend(problems, [some[1:2] for some in eligible])
    problems = builder.extend(problems, [np.delete(some, slice(1, 2)) for some in eligible])
    for one, other in zip(problems, at_once, strict=True):
        assert one.words == other.words
        assert (one.ptr == other.ptr).all()
        assert (one.rows == other.rows).all()
    for problem in problems:
        assert [victim.names[row] for row in problem.rows] == list(problem.words)
        assert [victim.names[row] for row in problem.original] == list(problem.sentence.words)
    assert not statistics.model_seconds
    return problems


def test_all_missing_files_are_named_at_once() -> None:
    candidates = Union([EmbeddingNeighbours("vectors.txt"), Sememes("senses.json")])
    constraints = [DictionaryTag(features="feats.conllu"), VectorSimilarity("others.txt")]
    with pytest.raises(InputError) as error:
        ProblemBuilder(HashVictim(), candidates, constraints, AttachmentDrop(), 0, Statistics())
    _, *named = str(error.value).splitlines()
    paths = [line.partition(":")[0].strip() for line in named]
    assert paths == ["vectors.txt", "senses.json", "feats.conllu", "others.txt"]


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("dog", ["cat", "nasa", "mixed"]),
        ("Dog", ["Cat", "NASA", "MiXed"]),
        ("DOG", ["CAT", "NASA", "MIXED"]),
        ("I", ["Cat", "NASA", "MiXed"]),
        ("dOg", ["cat", "NASA", "miXed"]),
        ("42", ["cat", "NASA", "miXed"]),
        ("Cat", ["NASA", "MiXed"]),
    ],
)
def test_casing(original: str, expected: list[str]) -> None:
    assert in_casing_of(original, ["cat", "NASA", "miXed", "cat"]) == expected


def test_casing_chosen_on_purpose_stays() -> None:
    assert verbatim("dog", ["dOg", "dog", "Dog", "dOg", "d0g"]) == ["dOg", "Dog", "d0g"]


def test_candidates_are_cased_deduplicated_and_never_the_word_itself() -> None:
    one, two = build([])
    assert one.words == ("Wolves", "Foxes", "APPLE", "lions", "bees")
    assert one.ptr.tolist() == [0, 2, 2, 3, 5]
    assert two.ptr.tolist() == [0, 0, 2]
    assert one.gold.heads.tolist() == [2, 0, 4, 2]
    assert one.gold.labels.tolist() == [0, 0, 0, 0]


def test_states_become_words() -> None:
    one, _ = build([])
    assert one.text(one.start()) == ONE.sentence.words
    assert one.text(np.array([2, 0, 1, 2])) == ("Foxes", "chase", "APPLE", "bees")
    with pytest.raises(ValueError, match="unknown word"):
        one.text(np.array([0, UNKNOWN, 0, 0]))


def test_constraints_apply_in_order_to_the_survivors() -> None:
    seen: list[list[str]] = []

    class DropFirst(Constraint):
        def accept(self, slots, candidates, victim):
            seen.append([word for words in candidates for word in words])
            return [np.arange(len(words)) > 0 for words in candidates]

    one, two = build([AttackableTags(["NNS"]), DropFirst(), DropFirst()])
    assert seen[:2] == [
        ["Wolves", "Foxes", "lions", "bees", "lions", "bees"],
        ["Foxes", "bees", "bees"],
    ]
    assert (one.words, two.words) == ((), ())
    assert one.eligible.tolist() == [True, False, False, True]


def test_more_candidates_than_a_state_can_tell_apart() -> None:
    many = Lexicon({"cats": [f"w{number}" for number in range(1 << 15)]})
    builder = ProblemBuilder(HashVictim(), many, [], AttachmentDrop(), 0, Statistics())
    with pytest.raises(InputError, match="32768 candidates for one word of sentence 3"):
        builder.extend(builder.build([TWO]), [np.array([1])])


def test_models_report_their_seconds() -> None:
    class Model(Constraint):
        is_model = True

        def accept(self, slots, candidates, victim):
            return super().accept(slots, candidates, victim)

    attack, statistics = Attack(Lexicon(LEXICON), Zheng2020(), [Model()]), Statistics()
    list(attack.run([ONE], TableVictim((0, 0, 0, 0), {}), statistics))
    assert list(statistics.model_seconds) == ["Model"]
    assert 0 < statistics.model_seconds["Model"] < statistics.seconds


def parsed(**changes: object) -> Attack:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(Attack, "attack")
    parser.add_argument("--settings", action="config")
    arguments = [f"--attack={CONFIG}"]
    arguments += [f"--attack.{key}={value}" for key, value in changes.items()]
    config = parser.parse_args(arguments)
    return parser.instantiate(config).attack


def test_the_configuration_of_zheng_2020() -> None:
    attack = parsed()
    assert isinstance(attack.candidates, CachedCandidates)
    generator = attack.candidates.generator
    assert isinstance(generator, MaskedLM)
    assert (generator.top_k, generator.sample) == (50, None)
    assert (attack.search.gamma, attack.search.psi) == (0.15, 50)
    assert attack.goal.success == "reported"
    assert [type(one).__name__ for one in attack.constraints] == [
        *("AttackableTags", "ForbiddenRelations", "DictionaryTag")
    ]


def test_the_configuration_takes_no_other_class() -> None:
    with pytest.raises(Exception, match="subclass of CandidateGenerator"):
        parsed(candidates="collections.Counter")
