"""Zheng et al. 2020, white box, against traces worked out by hand."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from attack_fakes import GradientVictim, example, right_heads
from numpy.typing import NDArray
from sentence_judges import Asked, Judge

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.gradient_substitution import NearestWord
from robustparse.attacks.search.zheng2020_whitebox import Zheng2020WhiteBox, within_budget
from robustparse.errors import InputError
from robustparse.types import TextRows

GOLD = (2, 3, 0, 3)
SENTENCE = example("the dog saw cats", "DT NN VBD NNS", GOLD)
LEXICON = {"dog": ["wolf", "fox", "cow"], "cats": ["pets", "fox", "hens"], "the": ["a"]}
EMBEDDINGS = {
    "wolf": (3, 0),
    "fox": (6, 1),
    "cow": (0, 5),
    "pets": (0, 4),
    "hens": (-9, 0),
    "a": (9, 9),
}
NOTHING = (0, 0)


def wrong(count: int) -> tuple[int, ...]:
    return tuple(head if index >= count else 4 for index, head in enumerate(GOLD))


TABLE = {
    "the fox saw cats": GOLD,
    "the cow saw cats": wrong(2),
    "the wolf saw cats": wrong(1),
}
# Step 5 from the word in its place. The determiner has the largest gradient, and is not attackable.
GRADIENTS = {
    # (5, 0): fox (6, 1) is nearer than wolf (3, 0).
    "the dog saw cats": ((9, 9), (2, 0), (8, 8), (0, 1)),
    # One word may be changed: the dog again, though the cats have more. (6, 6): cow before wolf.
    "the fox saw cats": ((9, 9), (0, 0.5), (8, 8), (0, 3)),
    # (-5, 5): only wolf is left.
    "the cow saw cats": ((9, 9), (-1, 0), (8, 8), (0, 3)),
    "the wolf saw cats": ((9, 9), (-1, 0), (8, 8), (0, 3)),
}


def attacked(
    victim: GradientVictim,
    budget: int | None = None,
    judge: Judge | None = None,
    lexicon: dict[str, list[str]] = LEXICON,
    **settings: Any,
) -> AttackResult:
    search = {
        "gamma": 0.25,
        "drop": 1.0,
        "beyond": "skip",
        "outcome": "best",
        "substitution": NearestWord(alpha=5.0),
        **settings,
    }
    attack = Attack(
        Lexicon(lexicon),
        Zheng2020WhiteBox(**search),
        [AttackableTags(["NN", "NNS"]), *([] if judge is None else [Asked(judge)])],
        goal=AttachmentDrop(),
        budget=budget,
    )
    (result,) = attack.run([SENTENCE], victim)
    return result


class MeasuredVictim(GradientVictim):
    """A victim that tells its losses, by text; 0 for other texts."""

    losses: Mapping[str, float] = {}

    def followed(self, texts: TextRows, *_: Any) -> NDArray[np.float64]:
        words, _, lengths = texts
        texts = [
            " ".join(self.names[number] for number in row[:length].tolist())
            for row, length in zip(words, lengths.tolist(), strict=True)
        ]
        return np.array([self.losses.get(text, 0.0) for text in texts])


RISING = {
    # The fox is nearer and lowers the loss; the wolf raises it; the cow, next, raises it again.
    "fox first": (
        {"fox": -1.0, "wolf": 1.0, "cow": 2.0},
        ["dog", "fox", "wolf", "cow"],
        "the cow saw cats",
    ),
    "nothing rises": ({"fox": -1.0, "wolf": 0.0, "cow": -2.0}, None, "the dog saw cats"),
    "the first rises": (
        {"fox": 3.0, "wolf": 1.0, "cow": 2.0},
        ["dog", "fox", "cow", "wolf"],
        "the fox saw cats",
    ),
}


@pytest.mark.parametrize("case", RISING)
def test_only_changes_that_raise_the_loss_stay(case: str) -> None:
    losses, dogs, outcome = RISING[case]
    victim = MeasuredVictim(GOLD, {}, EMBEDDINGS, GRADIENTS)
    victim.losses = {f"the {dog} saw cats": loss for dog, loss in losses.items()}
    victim.losses |= {"the dog saw pets": -1.0, "the dog saw fox": -1.0, "the dog saw hens": -1.0}
    result = attacked(victim, keep="rising", outcome="last")
    assert " ".join(result.words) == outcome
    asked = [text for text, _, _ in victim.passes]
    if dogs is None:  # all candidates of the words in turn were tried
        assert {"the fox saw cats", "the dog saw pets", "the dog saw hens"} < {*asked}
    else:
        assert asked[: len(dogs)] == [f"the {dog} saw cats" for dog in dogs]
    with pytest.raises(InputError) as error:
        attacked(GradientVictim(GOLD, {}, EMBEDDINGS, GRADIENTS), keep="rising")
    assert error.value.key == "attack"


@pytest.fixture
def victim() -> GradientVictim:
    return GradientVictim(GOLD, TABLE, EMBEDDINGS, GRADIENTS)


def test_hand_trace(victim: GradientVictim) -> None:
    result = attacked(victim)
    every = (0, 1, 2, 3)
    assert victim.passes == [
        ("the dog saw cats", "margin", every),
        ("the fox saw cats", "margin", every),
        ("the cow saw cats", "margin", every),
        ("the wolf saw cats", "margin", every),  # nothing is left to put in
    ]
    assert victim.texts == [
        "the dog saw cats",
        "the fox saw cats",  # no harm, applied all the same
        "the cow saw cats",
        "the wolf saw cats",
        "the cow saw cats",  # the worst met, parsed once more
    ]
    assert " ".join(result.words) == "the cow saw cats"
    assert (result.charged, result.unique, result.edited) == (4, 4, (1,))
    assert result.success
    assert right_heads(result) == (4, 2)


def test_the_paper_ends_where_another_word_would_exceed_the_budget(victim: GradientVictim) -> None:
    result = attacked(victim, beyond="end", outcome="last")
    # At the fox the cats have the largest gradient, and one word is changed already.
    assert [text for text, _, _ in victim.passes] == ["the dog saw cats", "the fox saw cats"]
    assert " ".join(result.words) == "the fox saw cats"
    assert (result.success, result.charged) == (False, 2)


def test_the_paper_returns_the_last_sentence(victim: GradientVictim) -> None:
    again = {text: (*some[:3], (0, 0.1)) for text, some in GRADIENTS.items()}
    victim.gradients = again  # the word that is changed always comes first
    result = attacked(victim, beyond="end", outcome="last")
    assert " ".join(result.words) == "the wolf saw cats"  # the cow was worse
    assert (result.charged, right_heads(result)) == (4, (4, 3))


def test_filters_judge_each_substitute_before_it_is_taken(victim: GradientVictim) -> None:
    # (6, 6) from the fox: the cow is not admitted, the wolf is next. (-1, 0) finds nothing more.
    result = attacked(victim, judge=lambda edit: edit.word != "cow")
    assert victim.texts == [
        *("the dog saw cats", "the fox saw cats", "the wolf saw cats", "the wolf saw cats")
    ]
    assert " ".join(result.words) == "the wolf saw cats"
    assert (result.success, result.charged) == (True, 3)
    assert [text for text, _, _ in victim.passes] == victim.texts[:3]  # once a sentence


def test_a_filter_that_admits_one_of_two_words_leaves_that_one(victim: GradientVictim) -> None:
    result = attacked(victim, gamma=0.5, positions=2, judge=lambda edit: edit.word != "fox")
    # First trial: the fox is refused, the pets are put in.
    assert victim.texts[:2] == ["the dog saw cats", "the dog saw pets"]
    assert result.candidates["sums"]["all"]["judged"] >= 2


def test_a_word_whose_substitute_is_refused_is_not_replaced(victim: GradientVictim) -> None:
    victim.embeddings = EMBEDDINGS | {"dog": (5, 5)}
    victim.gradients = {
        "the dog saw cats": (NOTHING, (2, 0), NOTHING, (0, 1)),  # dog to fox, cats to pets
        "the dog saw pets": (NOTHING, NOTHING, NOTHING, (1, 0)),  # (5, 4): dog is nearest
    }
    lexicon = {"dog": ["fox"], "cats": ["pets", "dog"]}
    settings = {"gamma": 0.5, "positions": 2, "lexicon": lexicon}
    attacked(victim, judge=lambda edit: edit.word != "fox", **settings)
    assert victim.texts[:3] == ["the dog saw cats", "the dog saw pets", "the dog saw dog"]


def test_two_words_at_once_as_far_as_kappa_goes(victim: GradientVictim) -> None:
    # gamma 0.5: two words. In one trial: dog to fox; cats (0, 5) to pets.
    attacked(victim, gamma=0.5, positions=2)
    assert victim.texts == ["the dog saw cats", "the fox saw pets", "the dog saw cats"]
    assert len(victim.passes) == 2  # the second gradient is 0: the end


def test_one_word_at_a_time_up_to_kappa(victim: GradientVictim) -> None:
    # Second trial: the cats have more than the fox; fox itself was never replaced, but pets nearer.
    attacked(victim, gamma=0.5)
    assert victim.texts[:3] == ["the dog saw cats", "the fox saw cats", "the fox saw pets"]


def test_words_once_replaced_are_not_put_in_elsewhere(victim: GradientVictim) -> None:
    victim.gradients = {
        "the dog saw cats": (NOTHING, (2, 0), NOTHING, NOTHING),  # dog to fox
        "the fox saw cats": (NOTHING, (0, 1), NOTHING, NOTHING),  # fox to cow
        "the cow saw cats": (NOTHING, NOTHING, NOTHING, (6, 1)),  # fox is nearest: replaced before
    }
    attacked(victim, gamma=0.5)
    assert victim.texts[:4] == [
        *("the dog saw cats", "the fox saw cats", "the cow saw cats", "the cow saw pets")
    ]


def test_trials_are_counted_in_two_ways(victim: GradientVictim) -> None:
    # The second trial is the first to do harm.
    assert attacked(victim, trials=1).edited == ()
    assert attacked(victim, trials=2, count="all").charged == 3
    # Two without harm in a row: the first one, and the third (the fourth finds no word).
    assert attacked(victim, trials=2).charged == 4


def test_the_search_ends_once_the_score_is_low_enough(victim: GradientVictim) -> None:
    assert attacked(victim, drop=0.49).charged == 3  # two of four arcs
    assert attacked(victim, drop=0.5).charged == 4


@pytest.mark.parametrize(("budget", "words"), [(1, "dog"), (2, "dog"), (3, "cow"), (4, "cow")])
def test_budget(victim: GradientVictim, budget: int, words: str) -> None:
    result = attacked(victim, budget=budget)
    assert result.words[1] == words
    assert result.charged == budget


def test_the_earliest_of_equally_bad_sentences_wins(victim: GradientVictim) -> None:
    victim.table = dict.fromkeys(TABLE, wrong(2))
    assert " ".join(attacked(victim).words) == "the fox saw cats"


def test_kappa_counts_root_if_told_to(victim: GradientVictim) -> None:
    # floor(0.45 * 4) = 1, floor(0.45 * 5) = 2.
    attacked(victim, gamma=0.45)
    assert not any("pets" in text for text in victim.texts)
    attacked(victim, gamma=0.45, length="rooted")
    assert any("pets" in text for text in victim.texts)


def test_the_other_loss_is_asked_for_by_name(victim: GradientVictim) -> None:
    attacked(victim, loss="cross_entropy")
    assert {loss for _, loss, _ in victim.passes} == {"cross_entropy"}


@pytest.mark.parametrize("once", [False, True])
def test_within_budget_against_its_definition(once: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        words = int(rng.integers(1, 9))
        state = rng.integers(0, 2, words).astype(np.int16)
        ranked = rng.permutation(words)[: int(rng.integers(1, words + 1))]
        most = int(rng.integers(1, words + 1))
        edited, taken = {int(at) for at in np.flatnonzero(state)}, []
        for position in ranked.tolist():
            if position in edited and once:
                continue
            if position in edited or len(edited) < most:
                edited.add(position)
                taken.append(position)
        assert within_budget(ranked, state, most, once=once).tolist() == taken


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"gamma": 0}, "gamma must be in"),
        ({"trials": 0}, "trials must be >= 1"),
        ({"positions": 0}, "positions must be >= 1"),
        ({"drop": 30}, r"drop must be in \(0, 1\], got 30"),
        ({"count": "some"}, "count must be one of fruitless, all"),
        ({"beyond": "stop"}, "beyond must be one of end, skip"),
        ({"outcome": "first"}, "outcome must be one of best, last"),
        ({"length": "counted"}, "length must be one of words, rooted"),
        ({"loss": "hinge"}, "loss must be one of margin, cross_entropy"),
        ({"keep": "some"}, "keep must be one of all, rising"),
    ],
)
def test_bad_settings(setting: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Zheng2020WhiteBox(**setting)
