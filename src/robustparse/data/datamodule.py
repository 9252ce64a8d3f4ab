"""A LightningDataModule for files of texts: files in, encoded batches out."""

import hashlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import ClassVar, Literal, Protocol, cast, get_args

import pytorch_lightning as pl
from pytorch_lightning.utilities import rank_zero_only
from torch import nn

from robustparse.data.batch import EncodedCorpus
from robustparse.data.columns import columns_of
from robustparse.data.fractions import FractionOf, check_fraction, draw_fraction
from robustparse.data.labels import labels_are_numbers
from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.sample.generator import Sample
from robustparse.data.sampler import EvaluationLoader, TrainingLoader, Unit, forward_words
from robustparse.data.splits import find_split
from robustparse.data.vocab import Vocabulary, labels_of
from robustparse.errors import InputError, check_choice, check_least, check_seed
from robustparse.files.paths import each_path, with_home
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example

# The longest sentence of UD English EWT has 159 words; scores take length squared memory.
MAX_LENGTH = 250
LIMIT = "data.init_args.max_length"
SAMPLE = "sample"  # the folder that stands for the built-in sample

VocabularyOf = Literal["train", "merged"]

log = logging.getLogger(__name__)
warn = rank_zero_only(log.warning)  # not in every process


class Reader(Protocol):
    """A model as a data module sees it.

    Attributes:
        unit: what losses are divided by.
    """

    unit: ClassVar[Unit]

    def check_readable(
        self, examples: Sequence[Example], path: str | Path, punctuation: PunctuationPolicy = "none"
    ) -> None:
        """Reject sentences of a file that the model cannot read, by file and line."""

    def warnings(self, examples: Sequence[Example], use: FileUse) -> Iterator[str]:
        """Yield warnings about whatever lowers scores on a file, or harms training."""

    def encode(
        self,
        examples: Sequence[Example],
        punctuation: PunctuationPolicy = "none",
        *,
        checked: bool = True,
    ) -> EncodedCorpus:
        """Return texts and their gold answers as numbers."""


@dataclass(frozen=True)
class Batches:
    """Sizes of batches.

    Args:
        words: the most words of a global batch, over all processes.
        texts: the most texts of a global batch; None sets no limit.
        eval_words: the most padded words of an evaluation batch; None chooses by device, see
            ``forward_words``.
        allow_world_size_change: allow a model with dropout to resume with another number of
            processes than its checkpoint, although it then draws other dropout masks.

    Raises:
        InputError: a size is below 1.
    """

    words: int = 2000
    texts: int | None = None
    eval_words: int | None = None
    allow_world_size_change: bool = False

    def __post_init__(self) -> None:
        sizes = {"words": self.words, "texts": self.texts, "eval_words": self.eval_words}
        check_least("data: batches", **sizes)


@dataclass(frozen=True)
class Augmentation:
    """Perturbed copies of training texts to train on too.

    Args:
        files: the copies, as ``augment`` and ``attack`` write them; files or patterns.
        fraction: the fraction of the copies to train on, drawn from the seed of the data module;
            the copies of a smaller fraction are among those of a larger one.
        unit: what the fraction counts, ``sentences`` or ``tokens`` (Wang et al. 2021).
        vocabulary: whether words of the ``train`` file only have embeddings, as with Zheng et al.
            (2020), or those of the ``merged`` data, as with Wang et al. (2021).

    Raises:
        InputError: a setting is out of range.
    """

    files: list[str] | None = None
    fraction: float = 1.0
    unit: FractionOf = "sentences"
    vocabulary: VocabularyOf = "train"

    def __post_init__(self) -> None:
        check_fraction("data: augmentation.fraction", self.fraction)
        check_choice("data: augmentation.unit", self.unit, get_args(FractionOf))
        check_choice("data: augmentation.vocabulary", self.vocabulary, get_args(VocabularyOf))


class DataModule(pl.LightningDataModule, ABC):
    """The splits of a corpus, perturbed copies of its texts, and batches; subclasses read files.

    Args:
        folder: the folder of the three files, or ``sample`` for the built-in sample.
        train_file: a file that replaces the one in ``folder``, or a pattern of several, such as
            ``UD_*/*-train.conllu``, which are read as one.
        dev_file: the same for the development data.
        test_file: the same for the test data.
        batches: sizes of batches.
        augmentation: perturbed copies to train on.
        max_length: longest allowed text; a longer one is an error that names it.
        min_count: rarer words have no embedding of their own (2, Zheng et al. 2020).
        punctuation: which words are not scored. For files of an attack use ``none`` or ``penn``:
            ``unicode`` would look at the words that the attack inserted.
        seed: seed of the batches and of the sample.

    Attributes:
        endings: the endings of the files in a folder.
        corpus: makes the built-in sample of a seed.

    Raises:
        InputError: a file cannot be used, or a setting is out of range.
    """

    endings: ClassVar[Sequence[str]]
    corpus: ClassVar[Callable[[int], Sample]]

    def __init__(
        self,
        folder: str | None = None,
        train_file: str | None = None,
        dev_file: str | None = None,
        test_file: str | None = None,
        batches: Batches = Batches(),
        augmentation: Augmentation = Augmentation(),
        max_length: int = MAX_LENGTH,
        min_count: int = 2,
        punctuation: PunctuationPolicy = "none",
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_least("data", max_length=max_length, min_count=min_count)
        check_seed("data: seed", seed)
        check_choice("data: punctuation", punctuation, get_args(PunctuationPolicy))
        self.folder = folder
        self.files = {"train": train_file, "dev": dev_file, "test": test_file}
        self.batches, self.augmentation = batches, augmentation
        self.max_length, self.min_count = max_length, min_count
        self.punctuation, self.seed = punctuation, seed
        self._warned: set[str] = set()

    # Defined by subclasses

    @abstractmethod
    def read(self, path: str | Path) -> list[Example]:
        """Return the examples of a file, or those of all files that match a pattern."""

    def doubts(self) -> Iterator[str]:
        """Yield warnings about the corpus; by default none."""
        return iter(())

    # Examples

    @property
    def read_options(self) -> ReadOptions:
        """How files are read; subclasses add the columns."""
        return ReadOptions(max_length=self.max_length, limit=LIMIT)

    def find(self, folder: str, split: str) -> Path:
        """Return the file of a split in a folder, or the pattern of several; see `find_split`."""
        return find_split(folder, split, self.endings)

    def examples(self, split: str) -> list[Example]:
        """Return the examples of ``train``, ``dev`` or ``test``."""
        if (path := self.path(split)) is not None:
            return self.read(path)
        sample = type(self).corpus(self.seed).split(split)
        for example in sample:
            self.read_options.check_length(example.sentence)
        return sample

    def path(self, split: str) -> Path | None:
        """Return the file of a split, or the pattern of several; None for the built-in sample.

        Raises:
            InputError: no file is set for the split, or the folder has none.
        """
        file, key = self.files[split], f"data.init_args.{split}_file"
        if file is not None:
            return with_home(file, key)
        if self.folder == SAMPLE:
            return None
        if self.folder is None:
            remedy = f"set data.init_args.folder or {split}_file"
            raise InputError(f"no {split} data", key=key, remedy=remedy)
        return self.find(str(with_home(self.folder, "data.init_args.folder")), split)

    @cached_property
    def train_examples(self) -> list[Example]:
        """The training texts, read once."""
        return self.examples("train")

    @cached_property
    def augmented_examples(self) -> list[Example]:
        """The perturbed copies to train on; their ids follow those of the training texts."""
        first = 1 + self.train_examples[-1].id
        return [replace(copy, id=id_) for id_, (_, copy) in enumerate(self.copies, start=first)]

    @cached_property
    def copies(self) -> list[tuple[str, Example]]:
        """The perturbed copies to train on, with their files and the ids of the files."""
        copies = []
        if not self.augmentation.files and replace(self.augmentation, files=None) != Augmentation():
            warn("data: augmentation has no effect without files")
        for path in map(str, each_path(self.augmentation.files or ())):
            of_file = self.read(path)
            self.check_copies(of_file, path)
            copies += [(path, copy) for copy in of_file]
        lengths = [len(copy.sentence) for _, copy in copies]
        settings = self.augmentation
        kept = draw_fraction(lengths, settings.fraction, settings.unit, self.seed)
        return [copies[index] for index in kept]

    def check_copies(self, copies: Sequence[Example], path: str) -> None:
        """Reject perturbed copies with a label that no training text has.

        Raises:
            InputError: names file, line and label.
        """
        known = {each for example in self.train_examples for each in labels_of(example.gold)}
        for copy in copies:
            if unknown := sorted(set(labels_of(copy.gold)) - known):
                problem = f"label {unknown[0].strip()!r}, which no training text has"
                names = shorten(", ".join(map(str.strip, sorted(known))), 200, placeholder=" …")
                expected = f"one of {names}"
                raise InputError(problem, path=path, line=copy.line, expected=expected)

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary of the training texts, see `Augmentation.vocabulary`.

        None without training data: a model then has the vocabulary of its checkpoint.
        """
        if self.folder is None and self.files["train"] is None:
            return None
        copies = self.augmented_examples if self.augmentation.vocabulary == "merged" else []
        examples = [*self.train_examples, *copies]
        return Vocabulary.from_examples(examples, self.min_count)

    @property
    def digest(self) -> str:
        """Digest of the training data, without copies."""
        return _digest(
            (example.sentence.words, example.sentence.context, example.gold)
            for example in self.train_examples
        )

    @property
    def data_columns(self) -> list[str] | None:
        """Names of the columns of the training data; None if they have no names."""
        return columns_of(self.train_examples)

    @property
    def numeric_labels(self) -> bool:
        """Whether the labels of the training data are numbers in their file."""
        return labels_are_numbers(self.train_examples)

    @property
    def _model(self) -> Reader:
        """The model that reads the batches."""
        return cast(Reader, self.trainer.lightning_module)  # type: ignore[union-attr]

    def _read(self, split: str) -> list[Example]:
        """Return the texts of a split after checking them; log each warning once."""
        examples = self.train_examples if split == "train" else self.examples(split)
        path = self.path(split) or SAMPLE
        self._model.check_readable(examples, path, self.punctuation)
        if split not in self._warned and self._rank_and_world_size()[0] == 0:
            self._warned.add(split)
            use = FileUse(path, self.punctuation, training=split == "train")
            of_split = self._model.warnings(examples, use)
            for warning in chain(of_split, self.doubts() if use.training else ()):
                log.warning("%s", warning)
        return examples

    def _rank_and_world_size(self) -> tuple[int, int]:
        return self.trainer.global_rank, self.trainer.world_size  # type: ignore[union-attr]

    # Batches

    def train_dataloader(self) -> TrainingLoader:
        """Return this process's share of the training batches."""
        examples = self._read("train")
        for path, copy in self.copies:
            self._model.check_readable([copy], path, self.punctuation)
        examples = [*examples, *self.augmented_examples]
        sentences = [example.sentence for example in examples]
        module = self.trainer.lightning_module  # type: ignore[union-attr]
        return TrainingLoader(
            self._model.encode(examples, checked=False),
            self.batches.words,
            self.seed,
            *self._rank_and_world_size(),
            self.batches.allow_world_size_change or not drops_out(module),
            _digest((sentence.words, sentence.context, sentence.tags) for sentence in sentences),
            _digest(example.gold for example in examples),
            self._model.unit,
            self.batches.texts,
        )

    def val_dataloader(self) -> EvaluationLoader:
        """Return the development texts."""
        return self._evaluation(self._read("dev"))

    def test_dataloader(self) -> EvaluationLoader:
        """Return the test texts."""
        return self._evaluation(self._read("test"))

    def predict_dataloader(self) -> EvaluationLoader:
        """Return the test texts."""
        return self.test_dataloader()

    def _evaluation(self, examples: Sequence[Example]) -> EvaluationLoader:
        data = self._model.encode(examples, self.punctuation, checked=False)
        device = self.trainer.strategy.root_device  # type: ignore[union-attr]
        words = forward_words(device, self.batches.eval_words)
        return EvaluationLoader(data, words, *self._rank_and_world_size())


def _digest(values: Iterable[object]) -> str:
    """Return the SHA-256 digest of values."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def drops_out(module: nn.Module) -> bool:
    """Tell whether a module draws dropout masks in training.

    Every process draws the masks of its texts, so that they depend on the number of processes.
    PyTorch's dropout modules call the rate ``p``, other modules of PyTorch and ours ``dropout``;
    the names of transformers end in ``dropout`` or ``dropout_prob``. Submodules in evaluation mode,
    such as frozen networks, draw no masks.
    """
    return any(
        isinstance(value, int | float) and value > 0
        for submodule in module.modules()
        if submodule.training
        for name, value in vars(submodule).items()
        if (name == "p" and "dropout" in type(submodule).__name__.lower())
        or name.endswith(("dropout", "dropout_prob"))
    )
