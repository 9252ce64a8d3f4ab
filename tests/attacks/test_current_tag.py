"""CurrentTag against NLTK's own tagger on every changed text, and in a search."""

import random
from typing import Any

import pytest
from attack_fakes import example
from nltk.tag.perceptron import PerceptronTagger
from search_fakes import TableClassifier, trace
from test_tag_constraints import TEXT, nltk_tagger

from robustparse.attacks.candidates.generator import Merged
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.tagging.current_tag import CurrentTag
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import DeletedWord
from robustparse.errors import InputError
from robustparse.tagsets import interchangeable
from robustparse.types import Sentence

WORDS = ["run", "runs", "quickly", "Paris", "red", "the", "seen", "well-known", "1999", "judge"]


def edits(size: int) -> list[Edit]:
    """Changes at every place of texts of one length, of which other words have been changed."""
    rng, text, made = random.Random(size), TEXT.split(), []
    for begin in range(0, len(text) - size, 7):
        original = tuple(text[begin : begin + size])
        current = tuple(rng.choice(WORDS) if rng.random() < 0.3 else word for word in original)
        for at in range(size):
            made += [Edit(Sentence(original), current, at, word) for word in rng.sample(WORDS, 3)]
    return made


def expected(tagger: PerceptronTagger, edit: Edit, window: int | None, whole: int) -> bool:
    """The rule of the released code, by tagging one text after the other."""
    at, changed = edit.position, list(edit.changed)
    own = tagger.tag(list(edit.sentence.words))[at][1]
    if window is not None and len(changed) > whole:
        begin = max(0, at - window)
        found = tagger.tag(changed[begin : at + window + 1])[at - begin][1]
    else:
        found = tagger.tag(changed)[at][1]
    return interchangeable(own, found, True)


@pytest.mark.parametrize("size", [1, 10, 11, 25])
@pytest.mark.parametrize(
    ("settings", "window", "whole"),
    [({}, 4, 10), ({"window": 1}, 1, 10), ({"window": None}, None, 10), ({"whole": 11}, 4, 11)],
)
def test_it_tags_what_nltk_would(
    size: int, settings: dict[str, Any], window: int | None, whole: int
) -> None:
    tagger, asked = nltk_tagger(), edits(size)
    constraint = CurrentTag(**settings, noun_verb=True)
    right = [expected(tagger, edit, window, whole) for edit in asked]
    found = constraint.admits(asked).tolist()
    assert found == right
    # Alone as together, and known words as fresh ones.
    assert [constraint.admits([edit])[0] for edit in asked[::5]] == right[::5]
    assert constraint.admits([]).shape == (0,)
    assert size == 1 or 0 < sum(right) < len(right)


def test_the_window_and_the_other_changes_matter() -> None:
    """Else the table above would show nothing."""
    nltk_tagger()  # skips without its data
    asked = edits(25)
    narrow = CurrentTag(window=0, whole=0).admits(asked)
    assert (narrow != CurrentTag().admits(asked)).any()
    unchanged = [Edit(one.sentence, one.sentence.words, one.position, one.word) for one in asked]
    assert (CurrentTag().admits(unchanged) != CurrentTag().admits(asked)).any()


class LastLetter:
    """A tagger by the last letter of the word; after an adverb every word is one."""

    def substituted(self, places, candidates):
        tags = {"n": "NN", "v": "VB", "r": "RB"}
        return [
            ["RB" if words[at - 1 : at] == ("sor",) else tags[word[-1]] for word in some]
            for (words, at), some in zip(places, candidates, strict=True)
        ]


def test_only_words_in_the_place_of_words_are_judged() -> None:
    """Around a judged word, inserted words count as words and omitted ones as none."""
    tagger = nltk_tagger()  # skips the test without its data
    constraint, text = CurrentTag(window=1, whole=0), ("the", "red", "judge", "runs", "fast")
    for word in ("quickly run", "", Merged("quickly")):
        assert constraint.admits([Edit(Sentence(text), text, 1, word)]).tolist() == [True]
    current = ("the", "very red", "judge", "", "fast")
    judged = [Edit(Sentence(text), current, 2, word) for word in WORDS]
    own = tagger.tag([*text])[2][1]
    found = [tagger.tag(["red", word, "fast"])[1][1] for word in WORDS]
    assert constraint.admits(judged).tolist() == [interchangeable(own, tag, False) for tag in found]


def test_a_change_is_refused_because_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PerceptronTags, "load", lambda: LastLetter())
    lexicon, table = {"pr": ["sor"], "qn": ["bn", "bv"]}, {"qn": 0.4, "pr": 0.2}

    def attacked(text: str, scores: dict[str, float], **settings: bool) -> str:
        search, victim = GreedyByImportance(DeletedWord()), TableClassifier(table | scores)
        return trace(search, text, lexicon, victim, constraints=[CurrentTag(**settings)]).words

    # "bv" scores higher than "bn", and is a verb.
    scores = {"pr bn": 0.3, "pr bv": 0.35}
    assert attacked("pr qn", scores) == "pr bn"
    assert attacked("pr qn", scores, noun_verb=True) == "pr bv"
    # After "sor", which is taken first, nothing is a noun.
    assert attacked("pr qn", {"sor qn": 0.3, "sor bn": 0.4, "sor bv": 0.45}) == "sor qn"


def test_bad_settings_and_missing_data(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as error:
        CurrentTag(window=-1)
    assert error.value.key == "current tag: window"
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(InputError) as error:
        CurrentTag().admits([Edit(example("a b", "DT NN").sentence, ("a", "b"), 0, "c")])
    assert "nltk.downloader averaged_perceptron_tagger_eng" in error.value.remedy
