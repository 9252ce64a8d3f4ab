"""Training on perturbed copies: which of them, how numbered, under which vocabulary."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robustparse.data.conllu import block_of, write_treebank
from robustparse.data.fractions import draw_fraction
from robustparse.data.treebank import TreebankDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example
from sample_runs import sentences, write_sample

TRAIN = COPIES = 30


def copies() -> list[Example]:
    """The training sentences, each with a first word of its own and the last one, ``fresh``."""
    found = []
    for example in sentences(COPIES):
        words = (f"copy{example.id}", *example.sentence.words[1:-1], "fresh")
        found.append(replace(example, sentence=replace(example.sentence, words=words)))
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A training file, and its copies in two files."""
    folder: Path = tmp_path_factory.mktemp("augmented")
    train = write_sample(folder / "train.conllu", sentences(TRAIN))
    first = write_sample(folder / "a.conllu", copies()[:10])
    second = write_sample(folder / "b.conllu", copies()[10:])
    return {"train_file": str(train), "augmented_files": [str(first), str(second)]}


def firsts(data: TreebankDataModule) -> list[str]:
    return [example.sentence.words[0] for example in data.augmented_examples]


def test_all_copies_are_numbered_on_from_the_training_sentences(files):
    data = TreebankDataModule(**files)
    assert firsts(data) == [copy.sentence.words[0] for copy in copies()]
    ids = [example.id for example in [*data.train_examples, *data.augmented_examples]]
    assert ids == list(range(TRAIN + COPIES))
    assert [example.gold for example in data.augmented_examples] == [c.gold for c in copies()]


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_a_fraction_is_drawn_over_all_files_and_nests(files, unit):
    lengths = [len(copy.sentence) for copy in copies()]
    before: set[str] = set()
    for tenth in range(1, 11):
        settings = {"augmented_fraction": tenth / 10, "augmented_unit": unit, "seed": 4}
        data = TreebankDataModule(**files, **settings)
        kept = draw_fraction(lengths, tenth / 10, unit, 4)
        assert firsts(data) == [copies()[index].sentence.words[0] for index in kept]
        assert before < set(firsts(data))
        before = set(firsts(data))
        words = sum(lengths[index] for index in kept)
        if unit == "sentences":
            assert len(kept) == 3 * tenth
        else:
            assert 0 <= words - tenth / 10 * sum(lengths) < max(lengths)
        ids = [example.id for example in data.augmented_examples]
        assert ids == list(range(TRAIN, TRAIN + len(kept)))
    assert len(before) == COPIES


def test_the_vocabulary_is_the_training_files_or_the_merged_data(files):
    plain = TreebankDataModule(train_file=files["train_file"]).vocabulary
    assert TreebankDataModule(**files).vocabulary == plain
    assert "fresh" not in plain.words
    merged = TreebankDataModule(**files, vocabulary_of="merged")
    together = [*sentences(TRAIN), *copies()]
    assert merged.vocabulary == Vocabulary.from_examples(together)
    assert "fresh" in merged.vocabulary.words
    half = TreebankDataModule(**files, vocabulary_of="merged", augmented_fraction=0.5)
    drawn = [copies()[index] for index in draw_fraction([1] * COPIES, 0.5, "sentences", 0)]
    assert half.vocabulary == Vocabulary.from_examples([*sentences(TRAIN), *drawn])


def test_without_copies_the_merged_data_is_the_training_file(files):
    data = TreebankDataModule(train_file=files["train_file"], vocabulary_of="merged")
    assert data.vocabulary == TreebankDataModule(train_file=files["train_file"]).vocabulary
    assert data.augmented_examples == []


@pytest.mark.parametrize("vocabulary_of", ["train", "merged"])
def test_a_copy_has_no_label_of_its_own(files, tmp_path, vocabulary_of):
    example = sentences(1)[0]
    labels = ("weird", *example.gold.labels[1:])
    path = tmp_path / "c.conllu"
    write_treebank(path, [block_of(example.sentence, DependencyTree(example.gold.heads, labels))])
    settings = {**files, "augmented_files": [str(path)], "vocabulary_of": vocabulary_of}
    with pytest.raises(InputError, match=r"c\.conllu:1: dependency label 'weird'"):
        _ = TreebankDataModule(**settings).augmented_examples


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.5])
def test_a_fraction_out_of_range(files, fraction):
    with pytest.raises(InputError) as caught:
        TreebankDataModule(**files, augmented_fraction=fraction)
    assert caught.value.key == "augmented_fraction"


@pytest.mark.parametrize(
    ("setting", "value", "allowed"),
    [
        ("augmented_unit", "words", "sentences, tokens"),
        ("vocabulary_of", "dev", "train, merged"),
        ("punctuation", "all", "none, penn, unicode, upos"),
    ],
)
def test_a_value_that_a_setting_does_not_have(setting: str, value: str, allowed: str):
    with pytest.raises(InputError) as caught:
        TreebankDataModule("sample", **{setting: value})
    assert str(caught.value) == f"data: {setting} must be one of {allowed}, got {value!r}"
