"""Training on perturbed copies: which of them, how numbered, under which vocabulary."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robustparse.data.conllu import block_of, write_treebank
from robustparse.data.datamodule import Augmentation, Batches
from robustparse.data.fractions import draw_fraction
from robustparse.data.treebank_datamodule import TreebankDataModule
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
    return {"train_file": str(train), "copies": [str(first), str(second)]}


def module(made: dict[str, Any], seed: int = 0, **augmentation: Any) -> TreebankDataModule:
    settings = Augmentation(**{"files": made["copies"], **augmentation})
    return TreebankDataModule(train_file=made["train_file"], augmentation=settings, seed=seed)


def firsts(data: TreebankDataModule) -> list[str]:
    return [example.sentence.words[0] for example in data.augmented_examples]


def test_all_copies_are_numbered_on_from_the_training_sentences(files):
    data = module(files)
    assert firsts(data) == [copy.sentence.words[0] for copy in copies()]
    ids = [example.id for example in [*data.train_examples, *data.augmented_examples]]
    assert ids == list(range(TRAIN + COPIES))
    assert [example.gold for example in data.augmented_examples] == [c.gold for c in copies()]


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_a_fraction_is_drawn_over_all_files_and_nests(files, unit):
    lengths = [len(copy.sentence) for copy in copies()]
    before: set[str] = set()
    for tenth in range(1, 11):
        data = module(files, seed=4, fraction=tenth / 10, unit=unit)
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
    assert module(files).vocabulary == plain
    assert "fresh" not in plain.words
    merged = module(files, vocabulary="merged")
    together = [*sentences(TRAIN), *copies()]
    assert merged.vocabulary == Vocabulary.from_examples(together)
    assert "fresh" in merged.vocabulary.words
    half = module(files, vocabulary="merged", fraction=0.5)
    drawn = [copies()[index] for index in draw_fraction([1] * COPIES, 0.5, "sentences", 0)]
    assert half.vocabulary == Vocabulary.from_examples([*sentences(TRAIN), *drawn])


def test_without_copies_the_merged_data_is_the_training_file(files):
    data = module(files, files=None, vocabulary="merged")
    assert data.vocabulary == TreebankDataModule(train_file=files["train_file"]).vocabulary
    assert data.augmented_examples == []


@pytest.mark.parametrize("vocabulary", ["train", "merged"])
def test_a_copy_has_no_label_of_its_own(files, tmp_path, vocabulary):
    example = sentences(1)[0]
    labels = ("weird", *example.gold.labels[1:])
    path = tmp_path / "c.conllu"
    write_treebank(path, [block_of(example.sentence, DependencyTree(example.gold.heads, labels))])
    with pytest.raises(InputError, match=r"c\.conllu:1: dependency label 'weird'"):
        _ = module({**files, "copies": [str(path)]}, vocabulary=vocabulary).augmented_examples


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.5])
def test_a_fraction_out_of_range(fraction):
    with pytest.raises(InputError) as caught:
        Augmentation(fraction=fraction)
    assert caught.value.key == "data: augmentation.fraction"


@pytest.mark.parametrize(
    ("make", "setting", "value", "allowed"),
    [
        (Augmentation, "unit", "words", "sentences, tokens"),
        (Augmentation, "vocabulary", "dev", "train, merged"),
        (TreebankDataModule, "punctuation", "all", "none, penn, unicode, upos"),
    ],
)
def test_a_value_that_a_setting_does_not_have(make: Any, setting: str, value: str, allowed: str):
    with pytest.raises(InputError) as caught:
        make(**{setting: value})
    name = f"augmentation.{setting}" if make is Augmentation else setting
    assert str(caught.value) == f"data: {name} must be one of {allowed}, got {value!r}"


def test_sizes_of_batches_are_at_least_one():
    for name in ("words", "texts", "eval_words"):
        with pytest.raises(InputError, match=f"{name} must be >= 1, got 0"):
            Batches(**{name: 0})
