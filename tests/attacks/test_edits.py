"""The filter that keeps any search within a budget of edits."""

from collections.abc import Sequence

import pytest
from attack_fakes import HashVictim, corpus
from sentence_judges import by_id, uncounted
from test_filtered_searches import engine, examples_of

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.edits import EditBudget
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.beam import Beam
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.population.genetic import Genetic
from robustparse.attacks.search.population.particle_swarm import ParticleSwarm
from robustparse.attacks.search.rankings import DeletedWord
from robustparse.attacks.search.requests import Search
from robustparse.errors import InputError
from robustparse.types import Sentence

EXAMPLES, LEXICON = corpus(30, seed=4)
SEARCHES = (
    Beam(width=2),
    GreedyByImportance(DeletedWord()),
    Genetic(population=4, generations=3),
    ParticleSwarm(population=4, iterations=3),
)


def test_words_are_counted_against_the_original() -> None:
    original = Sentence(tuple("abcdefghij"))
    once = ("A", *original.words[1:])
    some = [
        Edit(original, original.words, 3, "D"),  # a first word
        Edit(original, once, 0, "AA"),  # the same word again
        Edit(original, once, 0, "a"),  # back to the original
        Edit(original, once, 3, "D"),  # a second word
    ]
    assert EditBudget(0.19).admits(some).tolist() == [True, True, True, False]
    assert EditBudget(0.2).admits(some).tolist() == [True, True, True, True]
    # Even of a short sentence one word may be changed.
    short = Sentence(("Yes", "."))
    assert EditBudget(0.1).admits([Edit(short, short.words, 0, "No")]).tolist() == [True]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_every_search_keeps_to_it(search: Search) -> None:
    def attacked(*constraints: Constraint) -> list[AttackResult]:
        goal = AttachmentDrop(least=99)  # never reached: the searches change all they may
        attack = Attack(Lexicon(LEXICON), search, list(constraints), goal=goal)
        return list(attack.run(EXAMPLES, HashVictim()))

    def shares(results: list[AttackResult]) -> list[float]:
        return [len(one.edited) / len(one.words) for one in results if len(one.words) >= 5]

    assert max(shares(attacked())) > 0.2
    within = shares(attacked(EditBudget(0.2)))
    assert 0.1 < max(within) <= 0.2


class Unannounced(EditBudget):
    """Judges alike, but searches do not know."""

    def most_edits(self, words: int) -> None:  # type: ignore[override]
        return None


@pytest.mark.parametrize("name", ["white box", "white box, two at once", "phrase, white box"])
def test_white_boxes_pass_words_over_once_the_budget_is_spent(name: str) -> None:
    """They ask about no change that would be refused, where one by one all of a word's would be."""

    def results(budget: EditBudget) -> tuple[int, int]:
        attack = engine(name)
        attack.constraints = [budget, *attack.constraints]
        found = by_id(attack, examples_of(name)).values()
        assert all(len(one.edited) <= max(1, len(one.words) // 10) for one in found)
        judged, passed = sum(one.candidates.sums for one in found)[0, -2:].tolist()
        return judged - passed, sum(one.charged for one in found)

    refused, charged = results(EditBudget(0.1))
    refused_alike, charged_alike = results(Unannounced(0.1))
    assert refused == 0 < refused_alike
    # Where they asked in vain the search was at its end.
    assert charged > charged_alike


class Slow(Lexicon):
    """A table that passes for a model: candidates are made for one word after the other."""

    def __init__(self) -> None:
        super().__init__(LEXICON)
        self.slots = 0

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        self.slots += len(slots)
        return super().propose(slots, seed)

    def is_model(self) -> bool:
        return True


def test_a_greedy_search_makes_no_candidates_once_the_budget_is_spent() -> None:
    goal, search = AttachmentDrop(least=99), GreedyByImportance(DeletedWord())

    def results(budget: EditBudget) -> tuple[int, dict[int, AttackResult]]:
        slow = Slow()
        found = uncounted(Attack(slow, search, [budget], goal=goal), EXAMPLES)
        return slow.slots, found

    slots, found = results(EditBudget(0.1))
    slots_alike, found_alike = results(Unannounced(0.1))
    assert slots < 0.7 * slots_alike
    assert found == found_alike


@pytest.mark.parametrize("name", ["white box", "phrase, white box"])
def test_a_budget_that_is_no_smaller_than_the_searchs_own_changes_nothing(name: str) -> None:
    attack = engine(name)
    attack.constraints = [EditBudget(1.0), *attack.constraints]
    examples = examples_of(name)
    assert uncounted(attack, examples) == uncounted(engine(name), examples)


@pytest.mark.parametrize("gamma", [0.0, 1.01, -0.5])
def test_a_share_that_is_none(gamma: float) -> None:
    with pytest.raises(InputError, match=rf"edit budget: gamma must be in \(0, 1\], got {gamma}"):
        EditBudget(gamma)
