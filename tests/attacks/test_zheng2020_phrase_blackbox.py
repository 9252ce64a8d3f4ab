"""The phrase-level black box of Zheng et al. 2020 with scripted draws, and what it draws."""

import numpy as np
import phrase_attacks
import pytest
from attack_fakes import GradientVictim, TableVictim, example
from search_fakes import Scripted, Traced

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.goals.phrases import PhraseDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.zheng2020_phrase import PhraseBlackBox

# Two phrases of three words hang from "v"; b and e are their roots.
HEADS = (2, 4, 2, 0, 6, 4, 6)
SENTENCE = example("a b c v d e f", "NN NN NN VB NN NN NN", HEADS)
LEXICON = {"a": ["a1", "a2"], "b": ["b1"], "c": ["c1", "c2"], "d": ["d1"], "f": ["f1", "f2"]}


def broken(*words: int) -> tuple[int, ...]:
    """Gold heads, save for these words'."""
    return tuple(3 if index in words else head for index, head in enumerate(HEADS))


TABLE = {
    "a b1 c v d e f": broken(0, 2, 3),  # errs in the source and in "v"
    "a2 b c2 v d e f": broken(5),  # errs at the root of the target
    "a b c v d e f1": broken(4, 5),  # errs in the source: "d" is no target of its own phrase
    "a b c v d e f2": broken(0),  # "a" has lost its head: the first success
    "a b c v d1 e f2": broken(0, 2),  # two words have
}
# Of four trials, asked about three at once.
FIRST = (
    [1, 2, 2, 1],  # how many words of "a b c"
    # Their places: the lowest numbers of each trial. b; a and c; b and c; a.
    [0.5, 0.1, 0.9, *(0.2, 0.7, 0.4), *(0.9, 0.3, 0.6), *(0.0, 0.8, 0.2)],
    # A candidate for each word, for those that stay too.
    [2, 1, 2, *(2, 1, 2), *(1, 1, 1), *(1, 1, 1)],
)
SECOND = (
    [2, 1, 2, 2],  # how many words of "d e f", where "e" has no candidates: d and f
    [0.8, 0.1, *(0.6, 0.4), *(0.3, 0.5), *(0.5, 0.6)],  # d and f; f; d and f; d and f
    [1, 1, *(1, 2), *(1, 2), *(1, 2)],
)


def attacked(
    search: PhraseBlackBox, *draws: list[float], budget: int | None = None
) -> tuple[AttackResult, list[str]]:
    rng = Scripted(*draws)
    traced = Traced(search, rng)
    goal = PhraseDrop(shortest=3, longest=3)
    attack = Attack(Lexicon(LEXICON), traced, goal=goal, budget=budget)
    (result,) = attack.run([SENTENCE], TableVictim(HEADS, TABLE))
    assert not rng.draws
    return result, traced.requests


def test_by_hand() -> None:
    result, requests = attacked(PhraseBlackBox(trials=4, kappa=2, at_once=3), *FIRST, *SECOND)
    assert requests == [
        "Propose 0 1 2",
        *("Score 0100000 2020000 0110000", "Score 1000000"),
        "Propose 4 5 6",
        "Score 0000101 0000002 0000102",
    ]
    # The first success of a round, not the worst one; the fourth trial is not asked about.
    assert " ".join(result.words) == "a b c v d e f2"
    assert (result.edited, result.success, result.targeted) == ((6,), True, True)
    assert (result.charged, result.unique) == (8, 8)


def test_a_budget_that_ends_within_a_round() -> None:
    # The clean parse, four trials of the first source, one of the second.
    search = PhraseBlackBox(trials=4, kappa=2, at_once=3)
    result, requests = attacked(search, *FIRST, *SECOND, budget=6)
    assert requests[-1] == "Score 0000101 0000002 0000102"
    assert (result.edited, result.success, result.charged) == ((), False, 6)


def test_exactly_n_words_where_there_are_as_many() -> None:
    # The number of words is not drawn: three of "a b c", and both of "d e f" that have candidates.
    draws = ([0.3, 0.2, 0.1], [1, 1, 2], [0.9, 0.8], [1, 2])
    result, requests = attacked(PhraseBlackBox(trials=1, kappa=3, edits="exactly"), *draws)
    assert requests == ["Propose 0 1 2", "Score 1120000", "Propose 4 5 6", "Score 0000102"]
    assert (" ".join(result.words), result.edited) == ("a b c v d1 e f2", (4, 6))
    assert (result.charged, result.success) == (3, True)


@pytest.mark.parametrize(("edits", "most"), [("up_to", (1, 2, 3)), ("exactly", (3,))])
def test_places_and_words_are_drawn_uniformly(edits: str, most: tuple[int, ...]) -> None:
    # "a b c d" and "f g" are phrases; nothing ever goes wrong.
    heads = (0, 5, 5, 5, 1, 1, 8, 1)
    one = example("v a b c d e f g", " ".join(["NN"] * 8), heads)
    lexicon = Lexicon({word: [f"{word}{n}" for n in range(4)] for word in "abcdfg"})
    traced = Traced(PhraseBlackBox(trials=3000, edits=edits))
    goal = PhraseDrop(shortest=2, longest=4)
    (result,) = Attack(lexicon, traced, goal=goal).run([one], TableVictim(heads, {}))
    assert result.charged == 6001
    texts = [state for request in traced.requests for state in request.split()[1:]]
    states = np.array([list(map(int, state)) for state in texts if len(state) == 8])
    assert states.shape == (6000, 8)
    left, right = states[:3000], states[3000:]
    assert not left[:, [0, 5, 6, 7]].any()
    assert not right[:, :6].any()
    sizes = np.count_nonzero(left, axis=1)
    # Counts of a binomial lie within 200 of their mean, seven standard deviations at least.
    for size in most:
        assert abs((sizes == size).sum() - 3000 / len(most)) < 200
    assert set(sizes) == set(most)
    assert set(np.count_nonzero(right, axis=1)) == {min(size, 2) for size in most}
    for column in left[:, 1:5].T:
        assert abs(np.count_nonzero(column) - 3000 * np.mean(most) / 4) < 200
        shares = np.bincount(column, minlength=5)[1:] / np.count_nonzero(column)
        assert np.abs(shares - 0.25).max() < 0.06


def test_black_box_goes_through_the_sources_until_one_succeeds() -> None:
    heads = phrase_attacks.HEADS
    victim = GradientVictim(heads, {"a b v c1 d e f": (3, *heads[1:])}, {}, {})
    result = phrase_attacks.attacked(PhraseBlackBox(trials=40, kappa=1, at_once=8), victim)
    assert result.edited == (3,)
    assert result.success
    texts = list(dict.fromkeys(victim.texts))
    # One word of the first source at a time: three states; then those of the second.
    first = {"a1 b v c d e f", "a2 b v c d e f", "a b1 v c d e f"}
    assert set(texts[1:4]) == first
    assert set(texts[4:]) <= {"a b v c1 d e f", "a b v c d1 e f"}
    assert result.charged % 8 == 1
