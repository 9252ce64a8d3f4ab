"""Tags by spaCy or Stanza: of the changed sentence, in a window, and libraries that are missing."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from attack_fakes import HashVictim, example

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.tagging.pipeline_tag import PipelineTag
from robustparse.errors import InputError


def tag(words: list[str]) -> list[str]:
    """A tagger that looks at all words: the tag is the word's rank by length."""
    return [f"T{sorted(map(len, words)).index(len(word))}" for word in words]


def fake_library(monkeypatch: pytest.MonkeyPatch, name: str) -> list[list[str]]:
    """A spaCy or Stanza that tags as above; returns what it was asked, as it comes."""
    asked: list[list[str]] = []

    def tagged(words: list[str]) -> list[SimpleNamespace]:
        asked.append(list(words))
        return [SimpleNamespace(tag_=one, xpos=one) for one in tag(list(words))]

    library = ModuleType(name)
    if name == "spacy":
        tokens = ModuleType("spacy.tokens")
        tokens.Doc = lambda vocab, words: words
        monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
        pipeline = SimpleNamespace(vocab=None, pipe=lambda docs: map(tagged, docs))
        library.load = lambda model, exclude: pipeline
    else:
        library.Pipeline = lambda *_, **__: (
            lambda texts: SimpleNamespace(
                sentences=[SimpleNamespace(words=tagged(words)) for words in texts]
            )
        )
    monkeypatch.setitem(sys.modules, name, library)
    return asked


@pytest.mark.parametrize("library", ["spacy", "stanza"])
@pytest.mark.parametrize("window", [None, 0, 1])
@pytest.mark.parametrize("reference", ["corpus", "tagger"])
def test_taggers_see_the_changed_sentence(monkeypatch, library, window, reference) -> None:
    asked = fake_library(monkeypatch, library)
    one = example("a bbb cc ddddd", "T0 T1 T9 T3")
    slots = [Slot(0, one.sentence, position) for position in range(4)]
    candidates = [["x", "xx", "xxxxxxx"], ["yy", "yyy"], ["z", "zz"], []]
    constraint = PipelineTag(library, window=window, reference=reference)
    found = constraint.accept(slots, candidates, HashVictim())
    for position, (words, mask) in enumerate(zip(candidates, found, strict=True)):
        reach = 9 if window is None else window
        begin, end = max(0, position - reach), position + reach + 1

        def tag_of(word: str, at=position, begin=begin, end=end) -> str:
            words = list(one.sentence.words)
            words[at] = word
            return tag(words[begin:end])[at - begin]

        original = one.sentence.words[position]
        expected = tag_of(original) if reference == "tagger" else one.sentence.xpos[position]
        assert mask.tolist() == [tag_of(word) == expected for word in words]
    assert len(asked) == len(set(map(tuple, asked)))
    assert constraint.accept([], [], HashVictim()) == []


@pytest.mark.parametrize("library", ["spacy", "stanza"])
def test_missing_taggers(monkeypatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    slot = Slot(0, example("man", "NN").sentence, 0)
    with pytest.raises(InputError, match=f"run `pip install {library}`"):
        PipelineTag(library).accept([slot], [["x"]], HashVictim())
    module = fake_library(monkeypatch, library) or sys.modules[library]
    for name in ("load", "Pipeline"):
        monkeypatch.setattr(module, name, None, raising=False)
    with pytest.raises(InputError, match=f"{library} cannot load"):
        PipelineTag(library).accept([slot], [["x"]], HashVictim())
    with pytest.raises(InputError, match="library must be one of spacy, stanza"):
        PipelineTag("flair")
    with pytest.raises(InputError, match="window must be >= 0"):
        PipelineTag(library, window=-1)
