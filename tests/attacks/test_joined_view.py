"""What constraints see of a pair: the text, or both texts as one, as TextAttack has it."""

import numpy as np
import pytest
from attack_fakes import FakeVictim

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.bert_score import BERTScore
from robustparse.attacks.constraints.edits import EditBudget
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.attacks.constraints.tagging.same_tag import TaggerTag
from robustparse.errors import InputError
from robustparse.types import Floats, Sentence, View

PAIR = Sentence(("x", "y", "z"), context=tuple("abcdef"))
SINGLE = Sentence(PAIR.words)
# The second of two changes.
EDIT = Edit(PAIR, ("x", "y", "W"), 1, "V")


def test_both_texts_are_one() -> None:
    joined = EDIT.seen("joined")
    assert joined.sentence == Sentence(tuple("abcdefxyz"))
    assert (joined.current, joined.changed) == (tuple("abcdefxyW"), tuple("abcdefxVW"))
    alone = Edit(SINGLE, SINGLE.words, 1, "V")
    assert alone.seen("joined") == alone
    assert Slot(4, PAIR, 2).seen("joined") == Slot(4, Sentence(tuple("abcdefxyz")), 8)


@pytest.mark.parametrize(
    ("sentence", "view", "admitted", "most"),
    [(PAIR, "text", False, 1), (PAIR, "joined", True, 3), (SINGLE, "joined", False, 3)],
)
def test_budgets_count_words(sentence: Sentence, view: View, admitted: bool, most: int) -> None:
    # A quarter of 3 words is 1 after rounding up to it, a quarter of 9 is 2.
    budget = EditBudget(0.25, view=view)
    edit = Edit(sentence, EDIT.current, EDIT.position, EDIT.word)
    assert budget.admits([edit]).tolist() == [admitted]
    assert budget.most_edits(len(sentence)) == most


@pytest.mark.parametrize(
    ("view", "short", "read"),
    [
        ("text", "check", ["x V W", "x y W"]),
        ("text", "pass", []),
        ("joined", "pass", ["e f x V W", "e f x y W"]),  # 5 of 9 words: not short
    ],
)
def test_windows_and_short_texts(
    monkeypatch: pytest.MonkeyPatch, view: View, short: str, read: list[str]
) -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> list[Floats]:
        seen.extend(texts)
        return [np.ones(1)] * len(texts)

    similarity = SentenceSimilarity("none", reference="current", window=5, short=short, view=view)  # type: ignore[arg-type]
    monkeypatch.setattr(similarity, "_embed", embed)
    assert similarity.admits([EDIT]).tolist() == [True]
    assert seen == read


@pytest.mark.parametrize(("view", "read"), [("text", "x y z"), ("joined", "a b c d e f x y z")])
def test_taggers_read(monkeypatch: pytest.MonkeyPatch, view: View, read: str) -> None:
    class Tags:
        def substituted(self, places: list, words: list) -> list[list[str]]:
            assert [(" ".join(text), text[at]) for text, at in places] == [(read, "y")]
            return [["NN" for _ in some] for some in words]

    tagger = TaggerTag(reference="tagger", view=view)
    monkeypatch.setitem(vars(tagger), "_tagger", Tags())
    masks = tagger.accept([Slot(0, PAIR, 1)], [["v", "w"]], FakeVictim())
    assert masks[0].tolist() == [True, True]


@pytest.mark.parametrize(("view", "context"), [("text", ""), ("joined", "a b c d e f ")])
def test_whole_texts_are_compared(
    monkeypatch: pytest.MonkeyPatch, view: View, context: str
) -> None:
    seen: list[tuple[str, str]] = []

    def scores(pairs: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> list[float]:
        seen.extend((" ".join(changed), " ".join(original)) for changed, original in pairs)
        return [1.0] * len(pairs)

    score = BERTScore("none", view=view)
    monkeypatch.setattr(score, "_scores", scores)
    monkeypatch.setattr(score, "_fits", lambda texts: np.ones(len(texts), dtype=np.bool_))
    assert score.admits([EDIT]).tolist() == [True]
    assert seen == [(f"{context}x V W", f"{context}x y z")]


def test_another_view_is_refused() -> None:
    for build in (
        lambda: EditBudget(view="both"),  # type: ignore[arg-type]
        lambda: SentenceSimilarity("none", view="both"),  # type: ignore[arg-type]
        lambda: TaggerTag(view="both"),  # type: ignore[arg-type]
        lambda: BERTScore("none", view="both"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError) as caught:
            build()
        assert str(caught.value.key).endswith(": view")
