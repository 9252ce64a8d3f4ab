"""Gold answers carried over to a sentence reworded."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from robustparse.data.conllu import read_treebank
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.task import Files
from robustparse.types import DependencyTree, Example, Sentence

TASK = DEPENDENCY
WITHOUT_RANGE = """\
# newdoc
# sent_id = 1
# text = Do not feed the cats
# note
# note
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t_\t_
2\tnot\t_\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tfeed\tfeed\tVERB\tVB\tVerbForm=Fin|Mood=Imp\t0\troot\t_\tCxn=free=rc
4\tthe\tthe\tDET\tDT\t_\t5\tdet\t_\t_
5\tcats\tcat\tNOUN\tNNS\tNumber=Plur\t3\tobj\t_\t_

"""


def test_a_dropped_word_leaves_the_lines_of_its_sentence(
    examples: list[Example], tmp_path: Path
) -> None:
    words = ("Do", "not", "feed", "the", "cats")
    found = TASK.files.project(examples[0], words, range(5))
    assert found is not None
    assert TASK.files.write(found) == WITHOUT_RANGE
    path = tmp_path / "copy.conllu"
    path.write_text(TASK.files.write(found))
    assert read_treebank(path) == [found]
    assert found.sentence.xpos == ("VB", "RB", "VB", "DT", "NNS")
    assert found.sentence.feats == examples[0].sentence.feats[:5]


def test_as_many_words_keep_ranges(examples: list[Example]) -> None:
    sentence = examples[0].sentence
    found = TASK.files.project(examples[0], [word.upper() for word in sentence.words], range(6))
    assert found is not None
    assert found.gold == examples[0].gold
    assert found.sentence.upos == sentence.upos
    written = TASK.files.write(found)
    assert written == TASK.files.write(examples[0], words=found.sentence.words)
    assert "1-2\tDON'T" in written


# "The cats saw the dog yesterday which barked": heads 2 3 0 5 3 3 8 5.
@pytest.mark.parametrize(
    ("origins", "heads"),
    [
        (
            (5, 0, 1, 2, 3, 4, 6, 7),
            (4, 3, 4, 0, 6, 4, 8, 6),
        ),  # "Yesterday the cats ..."
        ((1, 2, 3, 4), (2, 0, 4, 2)),
        ((0, 2, 3, 4), None),  # the head of "The" is gone
        ((0, 1, 3, 4), None),  # the root is
        ((0, 1, 2, 3, 4, 4), None),  # "dog" was split
        ((0, 1, 2, 3, 4, -1), None),
        ((0, 1, -1), None),
    ],
)
def test_arcs_go_between_the_words_that_stand_for_others(
    examples: list[Example], origins: Sequence[int], heads: tuple[int, ...] | None
) -> None:
    words = [f"w{place}" for place in range(len(origins))]
    for block in (examples[2].block, ""):
        example = Example(7, examples[2].sentence, examples[2].gold, block)
        found = TASK.files.project(example, words, origins)
        if heads is None:
            assert found is None
        else:
            assert found is not None
            labels = tuple(example.gold.labels[origin] for origin in origins)
            assert (found.id, found.gold) == (7, DependencyTree(heads, labels))
            assert found.sentence.words == tuple(words)
            assert bool(found.block) == bool(block)


def test_an_answer_of_the_whole_text_stays() -> None:
    """Whatever happens to its words; new ones have no tag."""
    sentence = Sentence(("don't", "go"), ("AUX", "VERB"), context=("why", "?"))
    example = Example(3, sentence, "neutral", "line")
    found = Files.project(TASK.files, example, ("please", "do", "not"), (-1, 0, 0))
    reworded = Sentence(("please", "do", "not"), ("_", "AUX", "AUX"), context=("why", "?"))
    assert found == Example(3, reworded, "neutral", "line")
