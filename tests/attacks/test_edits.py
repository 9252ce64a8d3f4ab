"""How many words a fraction of a sentence is, in every search, and the constraint on any search."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from attack_fakes import HashVictim, corpus, example
from sentence_judges import by_id, refusals, uncounted

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.edits import EditBudget
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.edit_budget import edit_budget
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.phrases import PhraseDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.beam import Beam
from robustparse.attacks.search.genetic import Genetic
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.particle_swarm import ParticleSwarm
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.rankings import DeletedWord
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.search.zheng2020_phrase import PhraseWhiteBox
from robustparse.attacks.search.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.types import Example, Sentence

EXAMPLES, LEXICON = corpus(30, seed=4)
# White boxes end at a word without candidates.
_WORDS = [f"w{number}" for number in range(60)]
FULL = {word: [_WORDS[(at + 7 * by) % 60] for by in range(1, 13)] for at, word in enumerate(_WORDS)}
SEARCHES = (
    Beam(width=2),
    GreedyByImportance(DeletedWord()),
    Genetic(population=4, generations=3),
    ParticleSwarm(population=4, iterations=3),
)
WHITE_BOXES: dict[str, Search] = {
    "words": Zheng2020WhiteBox(gamma=0.25, trials=12, beyond="skip"),
    "words, two at once": Zheng2020WhiteBox(gamma=0.25, trials=12, positions=2, beyond="skip"),
    "phrases": PhraseWhiteBox(trials=12),
}


def test_hundredths_are_exact() -> None:
    for length in range(1, 300):
        for hundredths in range(1, 101):
            expected = max(1, hundredths * length // 100)
            assert edit_budget(hundredths / 100, length) == expected
            assert edit_budget(hundredths / 100, length, up=True) == -(-hundredths * length // 100)


class Counting(HashVictim):
    """Attaches one word more wrongly for every word changed."""

    def answer(self, text: tuple[str, ...]) -> tuple[list[int], list[int]]:
        changed = sum(word.startswith("x") for word in text)
        heads = [place + 2 if place < changed else place for place in range(len(text))]
        return heads, [0] * len(text)


@pytest.mark.parametrize(
    "search",
    [
        Zheng2020(gamma=0.29),
        Zheng2020WhiteBox(gamma=0.29, positions=100),
        RandomSubstitution(gamma=0.29, trials=1),
    ],
    ids=lambda search: type(search).__name__,
)
@pytest.mark.parametrize(("words", "most"), [(100, 29), (99, 28), (3, 1)])
def test_rounding_loses_no_word(search: Search, words: int, most: int) -> None:
    """In floating point 0.29 * 100 falls short of 29."""
    assert int(0.29 * 100) == 28
    assert edits(search, words) == most


@pytest.mark.parametrize(("words", "most"), [(100, 7), (101, 8), (14, 1), (15, 2)])
def test_rounding_adds_no_word(words: int, most: int) -> None:
    """In floating point 0.07 * 100 is more than 7."""
    assert 0.07 * 100 > 7
    assert edits(Wang2021(gamma=0.07), words) == most


def edits(search: Search, words: int) -> int:
    """How many of N words a search changes where every change does harm."""
    forms = [f"w{number}" for number in range(words)]
    one = example(" ".join(forms), "NN " * words)
    lexicon = Lexicon({form: [f"x{form}"] for form in forms})
    (result,) = Attack(goal=AttachmentDrop(), candidates=lexicon, search=search).run(
        [one], Counting()
    )
    return len(result.edited)


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
    combined = [replace(edit, combined=True) for edit in some]
    assert EditBudget(0.19).admits(combined).tolist() == [True, True, True, False]
    assert EditBudget(0.19, combined=False).admits(some).tolist() == [True, True, True, False]
    assert EditBudget(0.19, combined=False).admits(combined).tolist() == [True] * 4
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


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_only_states_that_a_population_combines_may_exceed_it(search: Search) -> None:
    attack = Attack(
        Lexicon(LEXICON),
        search,
        [EditBudget(0.2, combined=False)],
        goal=AttachmentDrop(least=99),
    )
    shares = [
        len(result.edited) / len(result.words)
        for result in attack.run(EXAMPLES, HashVictim())
        if len(result.words) >= 5
    ]
    assert (max(shares) > 0.2) == isinstance(search, Genetic | ParticleSwarm)


class Unannounced(EditBudget):
    """Judges alike, but searches do not know."""

    def most_edits(self, words: int) -> int:
        return words


def white_box(name: str, *constraints: Constraint) -> tuple[Attack, list[Example]]:
    tags = AttackableTags(["NN", "VB", "DT", "JJ"])
    phrases = name == "phrases"
    goal = PhraseDrop(shortest=2, longest=6) if phrases else AttachmentDrop(least=3)
    attack = Attack(
        goal=goal,
        candidates=Lexicon(FULL),
        search=WHITE_BOXES[name],
        constraints=[*constraints, tags],
    )
    return attack, list(map(with_phrases, corpus(30, seed=5)[0])) if phrases else EXAMPLES


def with_phrases(example: Example) -> Example:
    """Two chains side by side under the last word, so that one may be changed to harm the other."""
    last = len(example.sentence) - 1
    heads = list(range(last + 1))
    heads[0] = heads[last // 2] = last + 1
    heads[last] = 0
    return replace(example, gold=replace(example.gold, heads=tuple(heads)))


def test_wang_2021_ends_where_a_constraint_lets_fewer_words_differ() -> None:
    def refused(budget: EditBudget) -> int:
        attack = Attack(
            Lexicon(LEXICON), Wang2021(gamma=0.9), [budget], goal=AttachmentDrop(least=99)
        )
        return refusals(by_id(attack, EXAMPLES).values())

    assert refused(EditBudget(0.1)) == 0 < refused(Unannounced(0.1))


@pytest.mark.parametrize("name", WHITE_BOXES)
def test_white_boxes_pass_words_over_once_the_budget_is_spent(name: str) -> None:
    """They ask about no change that would be refused, where one by one all of a word's would be."""

    def results(budget: EditBudget) -> tuple[int, int]:
        found = by_id(*white_box(name, budget)).values()
        assert all(len(one.edited) <= max(1, len(one.words) // 10) for one in found)
        return refusals(found), sum(one.charged for one in found)

    refused, charged = results(EditBudget(0.1))
    refused_alike, charged_alike = results(Unannounced(0.1))
    assert refused == 0 < refused_alike
    # Where they asked in vain the search was at its end.
    assert charged > charged_alike


class Slow(Lexicon):
    """A table that passes for a model: candidates are made for one word after the other."""

    is_model = True

    def __init__(self) -> None:
        super().__init__(LEXICON)
        self.slots = 0

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        self.slots += len(slots)
        return super().propose(slots, seed)


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


@pytest.mark.parametrize("name", ["words", "phrases"])
def test_a_budget_that_is_no_smaller_than_the_searchs_own_changes_nothing(name: str) -> None:
    assert uncounted(*white_box(name, EditBudget(1.0))) == uncounted(*white_box(name))
