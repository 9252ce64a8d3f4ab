"""Wang et al. 2021 against a trace worked out by hand."""

import pytest
from attack_fakes import TableVictim, example, right_heads
from search_fakes import Traced
from sentence_judges import Asked

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.rankings import DeletedWord
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.errors import InputError

GOLD = (0, 1, 2, 3)
SENTENCE = example("a b c d", "NN NN NN NN", GOLD)
LEXICON = {"a": ["m"], "b": ["x", "y"], "c": ["k"], "d": ["u"]}


def wrong(count: int) -> tuple[int, ...]:
    """Heads with `count` errors."""
    return tuple(head if index >= count else (index + 2) % 5 for index, head in enumerate(GOLD))


TABLE = {
    "<unk> b c d": wrong(2),
    "a <unk> c d": wrong(3),
    "a b <unk> d": wrong(1),
    "a b c <unk>": wrong(2),
    "a x c d": wrong(1),
    "a y c d": wrong(1),
    "m x c d": wrong(1),
    "a x c u": wrong(2),
    "a x k u": wrong(3),
    "a x k d": wrong(2),
    # One word deleted; in the last, its head is another one too.
    "b c d": (0, 1, 2),
    "a c d": (0, 1, 2),
    "a b d": (0, 1, 2),
    "a b c": (0, 1, 1),
}


def attack(budget: int | None = None, **settings) -> tuple[AttackResult, list[str]]:
    search = Traced(Wang2021(**({"gamma": 0.5} | settings)))
    engine = Attack(Lexicon(LEXICON), search, goal=AttachmentDrop(metric="mean"), budget=budget)
    (result,) = engine.run([SENTENCE], TableVictim(GOLD, TABLE))
    return result, search.requests


def test_hand_trace() -> None:
    result, requests = attack()
    # Two of four words may be changed. By errors under the unknown word: b, a before d on a tie, c.
    # x before y on a tie; m does no further harm; u does, and the budget of edits is full: c,
    # whose candidate would do more, is not visited.
    assert requests == [
        "Score U000 0U00 00U0 000U",
        *("Propose 1", "Expand 0100 0200"),
        *("Propose 0", "Expand 1100"),
        *("Propose 3", "Expand 0101"),
    ]
    assert (" ".join(result.words), result.edited, result.success) == ("a x c u", (1, 3), True)
    assert (result.charged, result.unique) == (9, 9)
    assert right_heads(result) == (4, 2)


def test_hand_trace_with_a_filter_that_refuses_one_candidate() -> None:
    # u is refused beside x, in the sentence as it stands by then: d stays, there is room for c, and
    # k does further harm.
    judged = Asked(lambda edit: edit.changed != ("a", "x", "c", "u"))
    search, victim = Traced(Wang2021(gamma=0.5)), TableVictim(GOLD, TABLE)
    goal = AttachmentDrop(metric="mean")
    (result,) = Attack(Lexicon(LEXICON), search, [judged], goal=goal).run([SENTENCE], victim)
    assert search.requests[1:] == [
        *("Propose 1", "Expand 0100 0200"),
        *("Propose 0", "Expand 1100"),
        *("Propose 3", "Expand 0101"),  # of which nothing is left
        *("Propose 2", "Expand 0110"),
    ]
    assert [(" ".join(one.current), one.word) for call in judged.calls for one in call] == [
        *(("a b c d", "x"), ("a b c d", "y"), ("a x c d", "m"), ("a x c d", "u"), ("a x c d", "k"))
    ]
    # What is refused is neither asked about nor charged; the last text is the outcome's.
    assert victim.texts[5:] == ["a x c d", "a y c d", "m x c d", "a x k d", "a x k d"]
    assert (" ".join(result.words), result.edited, result.success) == ("a x k d", (1, 2), True)
    assert (result.charged, result.unique) == (9, 9)


def test_hand_trace_with_candidates_judged_after_they_are_asked_about() -> None:
    # Of b's candidates x is the better one; of a's none does further harm, so that none is judged.
    judged = Asked(lambda edit: edit.changed != ("a", "x", "c", "u"))
    search, victim = Traced(Wang2021(gamma=0.5, judged="after")), TableVictim(GOLD, TABLE)
    goal = AttachmentDrop(metric="mean")
    (result,) = Attack(Lexicon(LEXICON), search, [judged], goal=goal).run([SENTENCE], victim)
    assert [(" ".join(one.current), one.word) for call in judged.calls for one in call] == [
        *(("a b c d", "x"), ("a x c d", "u"), ("a x c d", "k"))
    ]
    assert (" ".join(result.words), result.edited, result.success) == ("a x k d", (1, 2), True)
    assert (result.charged, result.unique) == (10, 10)  # u is asked about
    assert " ".join(attack(judged="after", budget=6)[0].words) == "a x c d"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gamma": 0.1}, "a x c d"),  # one word at least
        ({"gamma": 0.25}, "a x c d"),
        ({"gamma": 0.3}, "a x c u"),  # ceil(0.3 * 4) = 2
        ({"gamma": 0.3, "length": "rooted"}, "a x c d"),  # floor(0.3 * 5) = 1
        ({"gamma": 0.4, "length": "rooted"}, "a x c u"),  # floor(0.4 * 5) = 2
        ({"gamma": 0.75}, "a x k u"),
        ({"budget": 5}, "a b c d"),  # the ranking has spent it
        ({"budget": 7}, "a x c d"),
    ],
)
def test_budgets(settings: dict, words: str) -> None:
    assert " ".join(attack(**settings)[0].words) == words


def test_another_ranking() -> None:
    requests = attack(ranking=DeletedWord())[1]
    # Without a: b, whose head was a, hangs from ROOT, one error; so for b and c. Without d no other
    # word loses its head, but c gets a wrong one. All are equal: the leftmost comes first.
    assert requests[:2] == ["Score D000 0D00 00D0 000D", "Propose 0"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"gamma": 0.0}, "gamma must be in"),
        ({"length": "all"}, "length must be one of words"),
        ({"judged": "x"}, "judged must"),
    ],
)
def test_bad_settings(setting: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Wang2021(**setting)
