"""The filter that lets a word be changed once, under every search."""

from itertools import pairwise

import numpy as np
import pytest
from attack_fakes import HashVictim, example
from sentence_judges import by_id, refusals, uncounted
from test_filtered_searches import SEARCHES, engine, examples_of

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.edits import Repeat
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Answer, Expand, Propose, Score, Search, Searching
from robustparse.types import Sentence

WHITE_BOXES = [name for name in SEARCHES if "white box" in name]


def filtered(name: str, *constraints: Constraint, **settings: int) -> Attack:
    attack = engine(name, **settings)
    attack.constraints = [*constraints, *attack.constraints]
    return attack


def test_the_word_is_compared_with_the_original_one() -> None:
    original = Sentence(("a", "b", "a"))
    once = ("A", "b", "a")
    some = [
        Edit(original, original.words, 0, "A"),
        Edit(original, once, 0, "AA"),  # a second time
        Edit(original, once, 0, "a"),  # back to the original
        Edit(original, once, 1, "B"),
        Edit(original, once, 2, "A"),  # the same word elsewhere
    ]
    assert Repeat().admits(some).tolist() == [True, False, False, True, True]
    assert not len(Repeat().admits([]))


def changed_again(name: str, *constraints: Repeat) -> int:
    """How many texts differ from the one before in a word that was changed there too."""
    found = 0
    for one in examples_of(name)[:15]:
        victim = HashVictim()
        list(filtered(name, *constraints).run([one], victim))
        texts = [text for batch in victim.batches for text in batch]
        for before, after in pairwise(text for text in texts if text != one.sentence.words):
            words = list(zip(one.sentence.words, before, after, strict=True))
            # Where a changed word stands as it was, a search has begun afresh.
            afresh = any(first != second and first == third for first, second, third in words)
            found += not afresh and any(len(set(three)) == 3 for three in words)
    return found


class Unannounced(Repeat):
    """Judges alike, but searches do not know."""

    once = False


@pytest.mark.parametrize("name", WHITE_BOXES)
def test_white_boxes_change_no_word_again(name: str) -> None:
    assert changed_again(name) > 2
    assert changed_again(name, Repeat()) == 0
    assert changed_again(name, Unannounced()) == 0


@pytest.mark.parametrize("name", WHITE_BOXES)
def test_white_boxes_pass_changed_words_over(name: str) -> None:
    """They ask about no change that would be refused, where one by one all of a word's would be."""

    def results(filter_: Repeat) -> tuple[int, int]:
        found = by_id(filtered(name, filter_), examples_of(name)).values()
        return refusals(found), sum(len(result.edited) for result in found)

    refused, edited = results(Repeat())
    refused_alike, edited_alike = results(Unannounced())
    assert refused == 0 < refused_alike
    # A sentence continues with the next word in turn, a pair of phrases has no other.
    assert edited > edited_alike or (name.startswith("phrase") and edited == edited_alike)


@pytest.mark.parametrize("name", [name for name in SEARCHES if name not in WHITE_BOXES])
def test_the_other_searches_repeat_no_change_by_themselves(name: str) -> None:
    examples = examples_of(name)
    assert uncounted(filtered(name, Repeat()), examples) == uncounted(engine(name), examples)


class Twice(Search):
    """Changes the first word twice, by either request, and keeps what it is answered."""

    def __init__(self) -> None:
        self.answers: list[list[tuple[str, ...]]] = []

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        problem = (yield Propose(np.array([0, 1]))).problem
        base = np.array([1, 0], dtype=np.int16)
        for request in (
            Score(base[None], base=problem.start()),
            Expand(base, np.array([0])),
            Score(np.array([[2, 0], [2, 1], [1, 1]], dtype=np.int16), base=base),
        ):
            answer = yield request
            self.answers.append([problem.text(state) for state in answer.states])
        return base


def test_any_search_is_kept_to_it() -> None:
    search = Twice()
    lexicon = Lexicon({"a": ["c", "d"], "b": ["e"]})
    attack = Attack(lexicon, search, [Repeat()], goal=AttachmentDrop())
    list(attack.run([example("a b", "NN NN")], HashVictim()))
    # The last request's second state is asked about without the change that repeats.
    assert search.answers == [[("c", "b")], [], [("c", "e"), ("c", "e")]]
