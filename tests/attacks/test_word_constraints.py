"""Constraints without a model: tags, stop words, length, positions, training words, vectors."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nltk.corpus
import numpy as np
import pytest
from attack_fakes import HashVictim, example

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.tagging.tags import (
    NEVER_ATTACKED,
    WANG_2021_FORBIDDEN,
    AttackableTags,
    ForbiddenTags,
)
from robustparse.attacks.constraints.vector_cosine import WordVectorCosine
from robustparse.attacks.constraints.words import (
    MinimumLength,
    ProtectedPositions,
    ProtectedSpans,
    SeenInTraining,
    Slots,
    StopWordCandidates,
    StopWords,
)
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError
from robustparse.types import LogicalForm

SENTENCE = example("The OLD man must look up , - in 1999", "DT JJ NN MD VB RP , HYPH IN CD")


def allowed(constraint: Constraint, one=SENTENCE) -> str:
    mask = constraint.attackable(one)
    return " ".join(
        word for word, free in zip(one.sentence.words, mask.tolist(), strict=True) if free
    )


def test_slots_are_words_of_the_gold_form() -> None:
    form = LogicalForm("( lambda $0 e ( and ( in $0 1999 ) ( man $0 ) ) )", "lambda")
    assert allowed(Slots(), replace(SENTENCE, gold=form)) == "The OLD must look up , -"
    assert allowed(Slots()) == "The OLD man must look up , - in 1999"


def test_lists_of_tags() -> None:
    assert allowed(ForbiddenTags()) == "OLD man must look up"
    assert allowed(ForbiddenTags([])) == "The OLD man must look up , in 1999"
    assert allowed(ForbiddenTags(["NN"])) == "The OLD must look up , in 1999"
    assert allowed(AttackableTags("any")) == "The OLD man must look up , in 1999"
    assert allowed(AttackableTags("any"), example("a b", "")) == "a b"
    listed = "PRP PRP$ DT CC IN CD UH WDT WP WP$ -LRB- -RRB- . `` '' : , ? ;"
    universal = "PRON DET CCONJ SCONJ ADP NUM INTJ PUNCT"
    assert frozenset([*listed.split(), *universal.split()]) == WANG_2021_FORBIDDEN
    for tag in NEVER_ATTACKED:
        one = example("x", tag)
        assert not any(map(allowed, [ForbiddenTags([]), AttackableTags("any")], [one, one]))
    for one in (ForbiddenTags(), AttackableTags()):
        with pytest.raises(InputError, match="no tag for every word"):
            one.attackable(example("a", ""))


def test_stop_words_lengths_and_positions(tmp_path) -> None:
    (tmp_path / "stop.txt").write_text("the\nold\nup\n")
    path = str(tmp_path / "stop.txt")
    assert allowed(StopWords(path)) == "man must look , - in 1999"
    assert allowed(StopWords(path, fold=False)) == "The OLD man must look , - in 1999"
    own = allowed(StopWords(source="textfooler"))
    assert own == "OLD man look , - 1999"
    assert allowed(StopWords(source="textfooler", fold=False)) == f"The {own}"
    with pytest.raises(InputError, match=f"textfooler.*{path}") as error:
        StopWords(path, source="textfooler")
    assert error.value.key == "stop words: source"
    assert allowed(MinimumLength(4)) == "must look 1999"
    assert allowed(MinimumLength(1)) == " ".join(SENTENCE.sentence.words)
    composed = example("\u00e9t\u00e9 e\u0301te\u0301", "NN NN")
    assert allowed(MinimumLength(4), composed) == ""
    assert allowed(MinimumLength(3), composed) == " ".join(composed.sentence.words)
    assert allowed(ProtectedPositions([0, -1, 3, 99, -99])) == "OLD man look up , - in"
    assert allowed(ProtectedPositions([0, -1]), example("a", "NN")) == ""


def test_stop_words_as_candidates(tmp_path) -> None:
    path = tmp_path / "stop.txt"
    path.write_text("the\nOld\n")
    words = [["The", "old", "new"], []]
    slots = [Slot(0, SENTENCE.sentence, at) for at in range(2)]
    constraint, exact = StopWordCandidates(str(path)), StopWordCandidates(str(path), fold=False)
    for each, kept in ((constraint, [False, False, True]), (exact, [True, True, True])):
        masks = each.accept(slots, words, HashVictim())
        assert [mask.tolist() for mask in masks] == [kept, []]
    assert constraint.attackable(SENTENCE).all()


def test_the_stop_words_of_textfooler_against_those_of_nltk() -> None:
    own = StopWords(source="textfooler")._words
    assert len(own) == 266
    assert {"although", "hundred", "couldn't", "yourselves", "a"} <= own
    assert not {"have", "did", "very", "#", "", "MIT License"} & own
    assert all(word == word.lower().strip() for word in own)


def test_spans_of_single_sentences_are_protected() -> None:
    other = example("The OLD man must look", "DT JJ NN MD VB", number=7)
    spans = ProtectedSpans({SENTENCE.id: [[0, 2], [8, 9]], 7: [[4, 4]]})
    assert allowed(spans) == "must look up , -"
    assert allowed(spans, other) == "The OLD man must"
    assert allowed(spans, example("a b", "NN NN", number=8)) == "a b"
    with pytest.raises(
        InputError, match=r"sentence 7 has 5 words, but its span is \[4, 5\]"
    ) as error:
        ProtectedSpans({7: [[4, 5]]}).attackable(other)
    assert error.value.key == "protected spans"


def test_the_real_stop_words(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    if not os.environ.get("NLTK_DATA") and (shared := os.environ.get("ROBUSTPARSE_SHARED")):
        monkeypatch.setattr(nltk.data, "path", [str(Path(shared) / "nltk_data")])
    try:
        nltk.data.find("corpora/stopwords")
    except LookupError:
        pytest.skip("NLTK's stop words are not installed (set NLTK_DATA or ROBUSTPARSE_SHARED)")
    assert allowed(StopWords()) == "OLD man must look , - 1999"


def test_missing_stop_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(language: str) -> None:
        raise LookupError("no stop words")

    monkeypatch.setattr(nltk.corpus, "stopwords", SimpleNamespace(words=missing))
    with pytest.raises(InputError, match=r"nltk\.downloader stopwords") as error:
        StopWords().attackable(SENTENCE)
    assert error.value.key == "stop words"


def accepted(constraint: Constraint, word: str, candidates: str, victim=None) -> str:
    slot, words = Slot(0, example(word, "NN").sentence, 0), candidates.split()
    other = Slot(0, example("xyz", "NN").sentence, 0)
    # With other slots, as in a batch; they must not mix.
    masks = constraint.accept([other, slot, other], [[], words, words], victim or HashVictim())
    assert [len(mask) for mask in masks] == [0, len(words), len(words)]
    (alone,) = constraint.accept([slot], [words], victim or HashVictim())
    assert alone.tolist() == masks[1].tolist()
    return " ".join(word for word, good in zip(words, alone.tolist(), strict=True) if good)


def test_candidates_seen_in_training(tmp_path) -> None:
    victim = HashVictim()
    victim.training_words = {"cat", "bark"}
    assert accepted(SeenInTraining(), "dog", "cat Cat cow BARK", victim) == "cat Cat BARK"
    (tmp_path / "words.txt").write_text("cat\nParis\n")
    listed = SeenInTraining(str(tmp_path / "words.txt"))
    assert accepted(listed, "dog", "cat CAT Paris paris bark", victim) == "cat CAT Paris"


VECTORS = {"big": (1, 0), "Large": (2, 2), "large": (-1, 0), "huge": (1, 2), "nil": (0, 0)}


def vector_file(tmp_path) -> str:
    rows = "".join(f"{word} {a} {b}\n" for word, (a, b) in VECTORS.items())
    (tmp_path / "vectors.txt").write_text(rows)
    return str(tmp_path / "vectors.txt")


@pytest.mark.parametrize("minimum", [-1.0, 0.3, 0.5, np.sqrt(0.5), 0.71, 1.0])
def test_cosines_with_the_original_word(tmp_path, minimum: float) -> None:
    words = "big BIG large Huge nil unheard"
    cosine = {"big": 1.0, "BIG": 1.0, "large": np.sqrt(0.5), "Huge": np.sqrt(0.2)}
    near = [word for word in words.split() if cosine.get(word, -2.0) >= minimum - 1e-9]
    path = vector_file(tmp_path)
    assert accepted(WordVectorCosine(path, minimum=minimum), "Big", words) == " ".join(near)
    lenient = WordVectorCosine(path, minimum=minimum, unknown="accept")
    assert accepted(lenient, "Big", words) == " ".join([*near, "nil", "unheard"])
    for unknown in ("nil", "xyz"):
        assert accepted(WordVectorCosine(path), unknown, words) == ""
        assert accepted(lenient, unknown, words) == words
    assert WordVectorCosine("none").accept([], [], HashVictim()) == []


def test_constraints_hold_on_every_returned_sentence(tmp_path) -> None:
    constraints = [
        AttackableTags("any"),
        ProtectedPositions([0]),
        MinimumLength(3),
        WordVectorCosine(vector_file(tmp_path), minimum=0.3),
    ]
    everything = Lexicon({word.lower(): list(VECTORS) for word in VECTORS})
    text = "big huge Big nil Huge big"
    examples = [example(text, "NN " * 6, number=number) for number in range(8)]
    attack = Attack(everything, Zheng2020(gamma=0.6), constraints, goal=AttachmentDrop())
    edited = 0
    for result in attack.run(examples, HashVictim()):
        for position in result.edited:
            edited += 1
            assert position > 0
            new = VECTORS[result.words[position].lower().replace("large", "Large")]
            old = VECTORS[text.split()[position].lower()]
            assert np.dot(new, old) >= 0.3 * np.linalg.norm(new) * np.linalg.norm(old) > 0
    assert edited > 8
