"""What holds for every search: packing and order change nothing, budgets are kept, seeds decide."""

import random
from collections.abc import Sequence

import pytest
from attack_fakes import HashVictim, TableVictim, corpus, example, right_heads

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.beam import Beam, Greedy
from robustparse.attacks.search.importance import PWWS, GreedyByImportance
from robustparse.attacks.search.population.genetic import Genetic
from robustparse.attacks.search.population.particle_swarm import ParticleSwarm
from robustparse.attacks.search.rankings import (
    DeletedWord,
    GradientNorm,
    RandomOrder,
    UnknownWord,
    WeightedSaliency,
)
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.white_box.substitutions import NearestWord
from robustparse.attacks.search.white_box.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.errors import InputError

EXAMPLES, LEXICON = corpus(40)

SEARCHES: dict[str, Search] = {
    "greedy": Greedy(),
    "beam": Beam(width=3),
    "beam, concatenated": Beam(width=3, members="concatenate"),
    "unknown": GreedyByImportance(UnknownWord()),
    "deletion": GreedyByImportance(DeletedWord()),
    "weighted saliency": GreedyByImportance(WeightedSaliency()),
    "gradient": GreedyByImportance(GradientNorm()),
    "random": GreedyByImportance(RandomOrder()),
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
RANDOM = {"random", "genetic", "genetic, redrawn", "swarm", "swarm, textattack"}


def attacked(name: str, examples=EXAMPLES, **settings) -> dict[int, AttackResult]:
    """Results by id; the goal takes several errors, so that searches go on for a while."""
    goal = AttachmentDrop(metric="mean" if name == "wang" else "uas", least=3)
    attack = Attack(Lexicon(LEXICON), SEARCHES[name], [AttackableTags()], goal=goal, **settings)
    return {result.id: result for result in attack.run(examples, HashVictim())}


@pytest.fixture(scope="module", params=SEARCHES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def reference(name: str) -> dict[int, AttackResult]:
    return attacked(name)


@pytest.mark.parametrize(
    "packing",
    [{"batch_queries": 1}, {"live": 1}, {"live": 5, "batch_words": 50}, {"batch_words": 1 << 20}],
    ids=str,
)
def test_packing_changes_nothing(name: str, reference: dict, packing: dict) -> None:
    assert attacked(name, **packing) == reference


def test_order_and_company_change_nothing(name: str, reference: dict) -> None:
    some = random.Random(1).sample(EXAMPLES, 15)
    assert attacked(name, some) == {one.id: reference[one.id] for one in some}


@pytest.mark.parametrize("budget", [1, 2, 5, 17, 60])
def test_a_budget_is_spent_and_not_exceeded(name: str, reference: dict, budget: int) -> None:
    for id_, result in attacked(name, budget=budget).items():
        assert result.charged == min(budget, reference[id_].charged)
        assert result.unique <= reference[id_].unique


def test_the_reference_is_no_empty_check(reference: dict) -> None:
    assert len(reference) == len(EXAMPLES)
    assert 0 < sum(result.success for result in reference.values()) < len(EXAMPLES)
    assert max(result.charged for result in reference.values()) > 8


def test_changed_words_are_eligible_candidates(reference: dict) -> None:
    allowed = AttackableTags().tags
    for result in reference.values():
        for position in result.edited:
            word = result.example.sentence.words[position]
            assert result.example.sentence.xpos[position] in allowed
            assert result.words[position] in LEXICON[word]


def test_the_seed_matters_to_random_searches_alone(name: str, reference: dict) -> None:
    assert (attacked(name, seed=1) != reference) == (name in RANDOM)
    assert attacked(name) == reference


def test_gradients_of_a_closed_victim_are_refused() -> None:
    search = GreedyByImportance(GradientNorm())
    attack = Attack(Lexicon({}), search, goal=AttachmentDrop())
    with pytest.raises(InputError, match="asks for gradients and TableVictim gives none"):
        list(attack.run([example("a b", "NN NN")], TableVictim((0, 1), {})))


class Wavering(TableVictim):
    """Rounds otherwise when it is asked again."""

    def answer(self, text: tuple[str, ...]) -> tuple[Sequence[int], Sequence[int]]:
        heads, labels = super().answer(text)
        return (heads if len(self.batches) == 1 else [0] * len(heads)), labels


def test_an_unchanged_sentence_is_no_adversary() -> None:
    attack = Attack(Lexicon({}), Greedy(), goal=AttachmentDrop())
    (result,) = attack.run([example("a b", "NN NN", (0, 1))], Wavering((0, 1), {}))
    assert right_heads(result) == (2, 1)
    assert (result.edited, result.success) == ((), False)
