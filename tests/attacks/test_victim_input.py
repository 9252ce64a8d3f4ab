"""The states that a request asks about, and states as texts: deleted words, keys."""

from itertools import product

import numpy as np
from attack_fakes import HashVictim, example

from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.engine.victim_input import texts_of
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.problem import DELETED, UNKNOWN, Problem
from robustparse.attacks.search.requests import Expand
from robustparse.data.reading import Reading


def test_every_state_reads_as_its_words() -> None:
    victim = HashVictim()
    lexicon = Lexicon({"a": ["x", "y"], "c": ["z"]})
    builder = ProblemBuilder(victim, lexicon, [], AttachmentDrop(), 0, Statistics())
    built = builder.build([example("a b c", "DT NN VB")])
    (problem,) = builder.extend(built, [np.arange(3)])
    forms = [
        {0: "a", 1: "x", 2: "y", UNKNOWN: "<unk>"},
        {0: "b", UNKNOWN: "<unk>"},
        {0: "c", 1: "z", UNKNOWN: "<unk>"},
    ]
    states = np.array(list(product(*[[*form, DELETED] for form in forms])), dtype=np.int16)
    texts = texts_of([(problem, states)], victim.unknown)
    marks = victim.intern_marks(["DT", "NN", "VB"]).tolist()
    for row, state in enumerate(states.tolist()):
        kept = [at for at, code in enumerate(state) if code != DELETED]
        words = [forms[at][state[at]] for at in kept] or ["<unk>"]
        length = int(texts.lengths[row])
        assert [victim.names[number] for number in texts.words[row, :length]] == words
        assert not texts.words[row, length:].any()
        # The mark of a text without words is its first word's: of a pair it brings the premise.
        assert texts.marks[row, :length].tolist() == [marks[at] for at in kept or [0]]
    # Read together, states of sentences of other lengths are the same texts.
    (other,) = builder.build([example("b a b a b", "NN DT NN DT NN", number=1)])
    (longer,) = builder.extend([other], [np.array([1, 3])])
    changed = np.array([[0, 2, DELETED, UNKNOWN, 0], [0, 0, 0, 1, 0]], dtype=np.int16)
    parts = [(longer, changed), (problem, states), (longer, changed)]
    together = texts_of(parts, victim.unknown)
    names = [
        " ".join(victim.names[number] for number in row[:length])
        for row, length in zip(together.words.tolist(), together.lengths.tolist(), strict=True)
    ]
    assert names[:2] == names[-2:] == ["b y <unk> b", "b a b x b"]
    kept = victim.intern_marks(["NN", "DT", "DT", "NN"]).tolist()
    assert together.marks[0].tolist() == [*kept, 0]
    alone = together.words[2:-2, : texts.words.shape[1]]
    assert (alone == texts.words).all()
    assert (together.lengths[2:-2] == texts.lengths).all()


def test_expand_lists_one_change_each() -> None:
    xyz = example("x y z", "NN NN NN")
    problem = Problem(
        example=xyz,
        reading=Reading.word_for_word(xyz.sentence),
        original=np.array([5, 6, 7], dtype=np.int32),
        marks=np.zeros(3, dtype=np.int32),
        eligible=np.ones(3, dtype=np.bool_),
        ptr=np.array([0, 2, 2, 5]),
        rows=np.array([10, 11, 20, 21, 22], dtype=np.int32),
        words=("a", "b", "c", "d", "e"),
        gold=None,
        counted=np.ones(3, dtype=np.bool_),
        most_edits=3,
    )
    state = np.array([0, 0, 2], dtype=np.int16)
    asked = Expand(state, np.array([2, 0])).asked(problem)[0]
    assert asked.tolist() == [[0, 0, 1], [0, 0, 3], [1, 0, 2], [2, 0, 2]]
    limited = Expand(state, np.array([2, 0]), np.array([1, 1])).asked(problem)[0]
    assert limited.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert Expand(state, np.array([1])).asked(problem)[0].shape == (0, 3)
    states = np.array([[1, UNKNOWN, 3], [2, 0, 0]], dtype=np.int16)
    assert texts_of([(problem, states)], 9).words.tolist() == [[10, 9, 22], [11, 6, 7]]
