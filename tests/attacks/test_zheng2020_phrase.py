"""Phrase-level attacks of Zheng et al. 2020: what holds for the black box and the white box."""

import random
import zlib
from typing import Any

import numpy as np
import pytest
from attack_fakes import GradientVictim, HashVictim, example
from phrase_attacks import attacked

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.attacks.constraints.tagging.tags import AttackableTags, ForbiddenRelations
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.phrases import PhraseDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.white_box.substitutions import NearestWord
from robustparse.attacks.search.zheng2020_phrase import PhraseBlackBox, PhraseWhiteBox
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Sentence


class Words(HashVictim):
    """Chains words, save for a third of them, drawn from the whole text; knows thirty words."""

    training_words = dict.fromkeys(f"t{number}" for number in range(30)).keys()

    def answer(self, text: tuple[str, ...]) -> tuple[list[int], list[int]]:
        codes = [zlib.crc32(f"{place} {' '.join(text)}".encode()) for place in range(len(text))]
        heads = [place if code % 3 else 1 + place // 2 for place, code in enumerate(codes)]
        return heads, [0] * len(text)


def forest(size: int) -> list[Example]:
    """Sentences with two to four phrases of four or five words, punctuation among them."""
    rng = np.random.default_rng(3)
    made = []
    for number in range(size):
        heads, labels = [0], ["root"]
        for _ in range(int(rng.integers(2, 5))):
            root = len(heads) + 1
            heads += [1] + [root] * int(rng.integers(3, 5))
            labels += ["obj"] + ["punct" if rng.random() < 0.2 else "dep" for _ in heads[root:]]
        words = tuple(f"t{n}" for n in rng.integers(0, 30, len(heads)))
        tree = DependencyTree(tuple(heads), tuple(labels))
        made.append(Example(number, Sentence(words, xpos=("NN",) * len(words)), tree))
    return made


SEARCHES: dict[str, Search] = {
    "black": PhraseBlackBox(trials=20, at_once=4),
    "black, exactly": PhraseBlackBox(trials=20, edits="exactly", at_once=7),
    "white": PhraseWhiteBox(trials=4, substitution=NearestWord(alpha=30.0)),
}


def results(name: str, examples: list[Example] | None = None, **settings: Any) -> dict:
    candidates = VocabularyWords(sample=None if name == "white" else 12)
    goal = PhraseDrop(shortest=4, longest=5, gap=1 if name == "white" else 0)
    attack = Attack(candidates, SEARCHES[name], [ForbiddenRelations()], goal=goal, **settings)
    return {one.id: one for one in attack.run(examples or forest(25), Words())}


@pytest.fixture(scope="module", params=SEARCHES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def reference(name: str) -> dict[int, AttackResult]:
    return results(name)


@pytest.mark.parametrize(
    "packing",
    [{"batch_queries": 1}, {"live": 1}, {"live": 5, "batch_words": 50}, {"batch_words": 1 << 20}],
    ids=str,
)
def test_packing_changes_nothing(name: str, reference: dict, packing: dict) -> None:
    assert results(name, **packing) == reference


def test_order_and_company_change_nothing(name: str, reference: dict) -> None:
    some = random.Random(1).sample(forest(25), 9)
    assert results(name, some) == {one.id: reference[one.id] for one in some}


@pytest.mark.parametrize("budget", [1, 2, 9])
def test_a_budget_is_spent_and_not_exceeded(name: str, reference: dict, budget: int) -> None:
    for id_, result in results(name, budget=budget).items():
        assert result.charged == min(budget, reference[id_].charged)


def test_successes_are_what_they_say(name: str, reference: dict) -> None:
    """One phrase is changed, in three words at most, none of them punctuation; another one errs."""
    assert sum(one.success for one in reference.values()) > 0
    for result in reference.values():
        assert bool(result.edited) == result.success
        if not result.success:
            continue
        heads = np.array(result.example.gold.heads)
        phrase = np.where(heads > 1, heads, np.arange(1, len(heads) + 1))  # by its root
        (source,) = {int(phrase[at]) for at in result.edited}
        assert len(result.edited) <= 3
        assert all(result.example.gold.labels[at] != "punct" for at in result.edited)
        right = [np.array(one.heads) == heads for one in (result.clean, result.attacked)]
        gained = [
            int((right[0] & inside).sum() - (right[1] & inside).sum())
            for root in np.unique(phrase[1:]).tolist()
            if root != source
            for inside in [(phrase == root) & (heads > 1)]
        ]
        assert max(gained) > 0


def test_a_sentence_without_pairs_is_told_apart() -> None:
    one = example("a b c", "NN NN NN", (2, 0, 2))
    for search in (PhraseBlackBox(), PhraseWhiteBox(substitution=NearestWord(alpha=4.0))):
        result = attacked(search, HashVictim(), one)
        assert (result.targeted, result.success, result.edited) == (False, False, ())
        assert result.charged == 1


@pytest.mark.parametrize("search", [PhraseBlackBox(), PhraseWhiteBox()])
def test_another_goal_names_no_phrases(search: Search) -> None:
    attack = Attack(Lexicon({}), search, [AttackableTags()], goal=AttachmentDrop())
    with pytest.raises(InputError, match=r"need the goal robustparse\.attacks\.PhraseDrop"):
        list(attack.run([example("a b", "NN NN", (0, 1))], GradientVictim((0, 1), {}, {}, {})))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PhraseBlackBox(trials=0), "trials must be >= 1"),
        (lambda: PhraseBlackBox(at_once=0), "at_once must be >= 1"),
        (lambda: PhraseBlackBox(edits="all"), "edits must be one of up_to, exactly"),
        (lambda: PhraseWhiteBox(kappa=0), "kappa must be >= 1"),
        (lambda: PhraseWhiteBox(pairs=0), "pairs must be >= 1"),
        (lambda: PhraseWhiteBox(loss="hinge"), "loss must be one of margin, cross_entropy"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
