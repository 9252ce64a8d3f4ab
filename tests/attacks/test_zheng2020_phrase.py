"""Phrase-level attacks of Zheng et al. 2020 against traces by hand, and what holds for both."""

import random
import zlib
from typing import Any

import numpy as np
import pytest
from attack_fakes import HashVictim, SlopedVictim, example

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.attacks.constraints.tags import AttackableTags, ForbiddenRelations
from robustparse.attacks.goals import AttachmentDrop
from robustparse.attacks.phrases import PhraseDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.substitutions import NearestWord
from robustparse.attacks.search.zheng2020_phrase import PhraseBlackBox, PhraseWhiteBox
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Sentence

# Three phrases of two words hang from "v"; b, d and f are their roots.
HEADS = (2, 3, 0, 5, 3, 7, 3)
SENTENCE = example("a b v c d e f", "NN NN VB NN NN NN NN", HEADS)
LEXICON = {"a": ["a1", "a2"], "b": ["b1"], "c": ["c1"], "d": ["d1"], "e": ["e1", "e2"], "f": ["f1"]}
EMBEDDINGS = {"a1": (4, 0), "a2": (0, 4), "b1": (1, 1), "e1": (4, 0), "e2": (0, 4), "f1": (1, 1)}


def broken(*words: int) -> tuple[int, ...]:
    """Gold heads, save for these words'."""
    return tuple(1 if index in words and index else head for index, head in enumerate(HEADS))


def attacked(search: Search, victim: Any, one: Example = SENTENCE, **settings: Any) -> AttackResult:
    goal = PhraseDrop(shortest=2, longest=2)
    (result,) = Attack(goal, Lexicon(LEXICON), search, **settings).run([one], victim)
    return result


def white_box(**settings: Any) -> PhraseWhiteBox:
    return PhraseWhiteBox(**({"substitution": NearestWord(alpha=4.0)} | settings))


# Gradients of the loss at the targets' words but their roots: a is word 0, c word 3, e word 5.
GRADIENTS = {
    # Target "a b": c, d have 1 + 0, e, f have 2 + 0.5.
    "a b v c d e f (0,)": ((9, 0), (9, 0), (9, 0), (1, 0), (0, 0), (2, 0), (0, 0.5)),
    # Target "c d": a, b have 0.5 + 0.25, e, f have 0.
    "a b v c d e f (3,)": ((0, 0.5), (0.25, 0), (9, 0), (9, 0), (9, 0), (0, 0), (0, 0)),
    # Target "e f": a, b have 3 + 0, c, d have 0.
    "a b v c d e f (5,)": ((3, 0), (0, 0), (9, 0), (0, 0), (0, 0), (9, 0), (9, 0)),
    # On the way: a to a1, then to a2; both without harm.
    "a1 b v c d e f (5,)": ((0, 1), (0, 0), (9, 0), (0, 0), (0, 0), (9, 0), (9, 0)),
    "a2 b v c d e f (5,)": ((0, 1), (0, 0), (9, 0), (0, 0), (0, 0), (9, 0), (9, 0)),
}
TABLE = {
    "a2 b v c d e f": broken(1, 2, 4, 6),  # in the source, in "v", and at the roots alone
    "a b v c d e1 f1": (3, *HEADS[1:]),  # "a" has lost its head
}


def test_white_box_by_hand() -> None:
    victim = SlopedVictim(HEADS, TABLE, EMBEDDINGS, GRADIENTS)
    result = attacked(white_box(), victim)
    # First the gradient for each target; then the pairs in the order 3, 2.5, 1, 0.75, 0, 0.
    assert victim.slopes[:3] == [("a b v c d e f", "margin", (word,)) for word in (3, 5, 0)]
    assert [(text, inside) for text, _, inside in victim.slopes[3:]] == [
        ("a b v c d e f", (5,)),  # "a b" for "e f": b's gradient is 0, so a alone is replaced
        ("a1 b v c d e f", (5,)),
        ("a2 b v c d e f", (5,)),  # a1 was replaced, and so was a
        ("a b v c d e f", (0,)),  # afresh: "e f" for "a b"
    ]
    assert victim.texts == [
        "a b v c d e f",
        "a1 b v c d e f",
        "a2 b v c d e f",
        "a b v c d e1 f1",
        "a b v c d e1 f1",
    ]
    assert " ".join(result.words) == "a b v c d e1 f1"
    assert (result.edited, result.charged, result.success) == ((5, 6), 4, True)


def test_white_box_without_success_leaves_the_sentence_alone() -> None:
    victim = SlopedVictim(HEADS, {}, EMBEDDINGS, GRADIENTS)
    result = attacked(white_box(), victim)
    assert (result.edited, result.success, result.targeted) == ((), False, True)
    asked = list(dict.fromkeys(victim.texts))
    # Then "c d" for "a b" and "a b" for "c d"; those without any gradient ask for nothing.
    assert asked[3:] == ["a b v c d e1 f1", "a b v c1 d e f", "a2 b1 v c d e f"]


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        ({"trials": 1}, ["a1 b v c d e f", "a b v c d e1 f1"]),
        ({"pairs": 1}, ["a1 b v c d e f", "a2 b v c d e f"]),
        ({"kappa": 1, "trials": 1}, ["a1 b v c d e f", "a b v c d e1 f"]),
    ],
)
def test_white_box_settings(settings: dict, texts: list[str]) -> None:
    victim = SlopedVictim(HEADS, TABLE, EMBEDDINGS, GRADIENTS)
    attacked(white_box(**settings), victim)
    assert victim.texts[1 : 1 + len(texts)] == texts


def test_white_box_budget() -> None:
    for budget in (1, 2, 3):
        victim = SlopedVictim(HEADS, TABLE, EMBEDDINGS, GRADIENTS)
        result = attacked(white_box(), victim, budget=budget)
        assert (result.charged, result.edited) == (budget, ())


def test_the_other_loss() -> None:
    victim = SlopedVictim(HEADS, TABLE, EMBEDDINGS, GRADIENTS)
    attacked(white_box(loss="cross_entropy"), victim)
    assert {loss for _, loss, _ in victim.slopes} == {"cross_entropy"}


class Words(HashVictim):
    """Chains words, save for a third of them, drawn from the whole text; knows thirty words."""

    training_words = dict.fromkeys(f"t{number}" for number in range(30)).keys()

    def answer(self, text: tuple[str, ...]) -> tuple[list[int], list[int]]:
        codes = [zlib.crc32(f"{place} {' '.join(text)}".encode()) for place in range(len(text))]
        heads = [place if code % 3 else 1 + place // 2 for place, code in enumerate(codes)]
        return heads, [0] * len(text)


def test_black_box_goes_through_the_sources_until_one_succeeds() -> None:
    victim = SlopedVictim(HEADS, {"a b v c1 d e f": (3, *HEADS[1:])}, {}, {})
    result = attacked(PhraseBlackBox(trials=40, kappa=1, at_once=8), victim)
    assert result.edited == (3,)
    assert result.success
    texts = list(dict.fromkeys(victim.texts))
    # One word of the first source at a time: three states; then those of the second.
    first = {"a1 b v c d e f", "a2 b v c d e f", "a b1 v c d e f"}
    assert set(texts[1:4]) == first
    assert set(texts[4:]) <= {"a b v c1 d e f", "a b v c d1 e f"}
    assert result.charged % 8 == 1


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
    attack = Attack(goal, candidates, SEARCHES[name], [ForbiddenRelations()], **settings)
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
        right = [np.array(one.tree.heads) == heads for one in (result.clean, result.attacked)]
        gained = [
            int((right[0] & inside).sum() - (right[1] & inside).sum())
            for root in np.unique(phrase[1:]).tolist()
            if root != source
            for inside in [(phrase == root) & (heads > 1)]
        ]
        assert max(gained) > 0


def test_a_sentence_without_pairs_is_told_apart() -> None:
    one = example("a b c", "NN NN NN", (2, 0, 2))
    for search in (PhraseBlackBox(), white_box()):
        result = attacked(search, HashVictim(), one)
        assert (result.targeted, result.success, result.edited) == (False, False, ())
        assert result.charged == 1


@pytest.mark.parametrize("search", [PhraseBlackBox(), PhraseWhiteBox()])
def test_another_goal_names_no_phrases(search: Search) -> None:
    attack = Attack(AttachmentDrop(), Lexicon({}), search, [AttackableTags()])
    with pytest.raises(
        InputError, match=r"need the goal robustparse\.attacks\.phrases\.PhraseDrop"
    ):
        list(attack.run([example("a b", "NN NN", (0, 1))], SlopedVictim((0, 1), {}, {}, {})))


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
