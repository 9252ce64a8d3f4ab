"""Zheng et al. 2020 against a trace worked out by hand."""

from collections.abc import Sequence

import pytest
from attack_fakes import TableVictim, example, right_heads

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError

GOLD = (3, 3, 4, 0, 6, 4, 4)
SENTENCE = example("The big dog chased a cat .", "DT JJ NN VBD DT NN .", GOLD, number=5)
LEXICON = {
    "chased/VBD": ["hunted", "CHASED", "saw", "ran", "saw"],
    "chased": ["never"],
    "big": ["large", "huge"],
    "dog": ["wolf"],
    "cat": ["fox"],
    "a": ["one"],
}


def wrong(count: int) -> tuple[int, ...]:
    """Heads with `count` errors among the first six words."""
    return tuple(head if index >= count else 7 for index, head in enumerate(GOLD))


TABLE = {
    "<unk> big dog chased a cat .": wrong(1),
    "The <unk> dog chased a cat .": wrong(3),
    "The big <unk> chased a cat .": wrong(2),
    "The big dog <unk> a cat .": wrong(4),
    "The big dog chased <unk> cat .": wrong(6),  # worst of all, but a determiner
    "The big dog chased a <unk> .": wrong(2),
    "The big dog hunted a cat .": wrong(1),
    "The big dog saw a cat .": wrong(3),
    "The big dog ran a cat .": wrong(3),
    "The large dog chased a cat .": wrong(1),
    "The huge dog chased a cat .": wrong(1),
    "The large dog saw a cat .": wrong(2),
}


def attack(
    victim: TableVictim, budget: int | None = None, seed: int = 0, **settings
) -> AttackResult:
    engine = Attack(
        goal=AttachmentDrop(punctuation="unicode"),
        candidates=Lexicon(LEXICON),
        search=Zheng2020(**({"gamma": 0.35} | settings)),
        constraints=[AttackableTags()],
        budget=budget,
        seed=seed,
    )
    return next(iter(engine.run([SENTENCE], victim)))


@pytest.fixture
def victim() -> TableVictim:
    return TableVictim(wrong(1), TABLE)


def test_hand_trace(victim: TableVictim) -> None:
    result = attack(victim)
    # kappa = floor(0.35 * 6) = 2: chased (4 errors), then big (3), though "a" has more.
    assert victim.texts == [
        "The big dog chased a cat .",
        "<unk> big dog chased a cat .",
        "The <unk> dog chased a cat .",
        "The big <unk> chased a cat .",
        "The big dog <unk> a cat .",
        "The big dog chased <unk> cat .",
        "The big dog chased a <unk> .",
        "The big dog hunted a cat .",
        "The big dog saw a cat .",
        "The big dog ran a cat .",
        "The large dog chased a cat .",
        "The huge dog chased a cat .",
        "The large dog saw a cat .",
    ]
    # saw before ran on a tie; no adjective does harm, so the first is applied all the same.
    assert " ".join(result.words) == "The large dog saw a cat ."
    assert result.edited == (1, 3)
    assert (result.charged, result.unique, sum(result.counted)) == (12, 12, 6)
    assert right_heads(result) == (5, 4)
    assert result.success
    assert result.clean.heads == wrong(1)
    assert result.attacked.heads == wrong(2)
    assert result.id == 5


def test_scores_come_from_the_final_parse_not_from_the_search(victim: TableVictim) -> None:
    victim.table = TABLE | {"The large dog saw a cat .": GOLD}
    result = attack(victim)
    assert " ".join(result.words) == "The large dog saw a cat ."
    assert right_heads(result)[1] == 6
    assert not result.success


def test_harmless_words_may_be_left_alone(victim: TableVictim) -> None:
    result = attack(victim, harmless="skip")
    assert " ".join(result.words) == "The big dog saw a cat ."
    assert result.edited == (3,)
    assert result.charged == 12


def test_psi_keeps_the_first_candidates(victim: TableVictim) -> None:
    assert " ".join(attack(victim, psi=1).words) == "The large dog hunted a cat ."


def test_kappa_follows_counted_words_or_all(victim: TableVictim) -> None:
    # floor(0.3 * 6) = 1 and floor(0.3 * 7) = 2.
    assert attack(victim, gamma=0.3, length="counted").edited == (3,)
    assert attack(victim, gamma=0.3).edited == (1, 3)
    assert attack(victim, gamma=0.01).edited == (3,)


@pytest.mark.parametrize(
    ("budget", "words", "charged"),
    [
        (1, "The big dog chased a cat .", 1),
        (4, "The big dog chased a cat .", 4),
        (7, "The big dog chased a cat .", 7),
        (9, "The big dog saw a cat .", 9),  # hunted, saw; nothing left for "big"
        (100, "The large dog saw a cat .", 12),
    ],
)
def test_budget(victim: TableVictim, budget: int, words: str, charged: int) -> None:
    result = attack(victim, budget=budget)
    assert " ".join(result.words) == words
    assert result.charged == charged <= budget
    assert len(victim.texts) == charged + 1  # and the closing parse


def test_equal_ranks_are_drawn_uniformly_and_repeatably() -> None:
    flat = TableVictim(wrong(1), {})
    positions = (1, 2, 3, 5)
    counts = dict.fromkeys(positions, 0)
    for seed in range(400):
        first = attack(flat, gamma=0.01, seed=seed)
        assert seed % 10 or first.edited == attack(flat, gamma=0.01, seed=seed).edited
        counts[first.edited[0]] += 1
    # Chi-squared with 3 degrees of freedom: 16.3 is exceeded once in a thousand.
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 16.3


def test_random_ranking_asks_for_no_ranking(victim: TableVictim) -> None:
    seen = set()
    for seed in range(30):
        result = attack(victim, seed=seed, ranking="random")
        assert len(result.edited) == 2
        assert set(result.edited) <= {1, 2, 3, 5}
        seen.add(result.edited)
        assert not any("<unk>" in text for text in victim.texts)
        assert result.charged == 1 + sum({1: 2, 2: 1, 3: 3, 5: 1}[place] for place in result.edited)
    assert len(seen) == 6


@pytest.mark.parametrize("ranking", ["unknown", "random"])
def test_candidates_are_made_for_the_chosen_words_only(victim: TableVictim, ranking: str) -> None:
    class Watched(Lexicon):
        asked: tuple[int, ...] = ()

        def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
            self.asked += tuple(slot.position for slot in slots)
            return super().propose(slots, seed)

    lexicon = Watched(LEXICON)
    search = Zheng2020(gamma=0.35, ranking=ranking)
    goal = AttachmentDrop(punctuation="unicode")
    (result,) = Attack(lexicon, search, [AttackableTags()], goal=goal).run([SENTENCE], victim)
    assert lexicon.asked == result.edited


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ({"gamma": 0.0}, "must be in (0, 1], got 0.0"),
        ({"gamma": 15}, "must be in (0, 1], got 15"),
        ({"psi": 0}, "must be >= 1, got 0"),
        ({"length": "all"}, "must be one of words, counted, got 'all'"),
        ({"ranking": "gradient"}, "must be one of unknown, random, got 'gradient'"),
        ({"harmless": "last"}, "must be one of first, skip, got 'last'"),
    ],
)
def test_bad_settings(setting: dict, found: str) -> None:
    with pytest.raises(InputError) as error:
        Zheng2020(**setting)
    assert (error.value.key, error.value.found) == (f"search: {next(iter(setting))}", found)
