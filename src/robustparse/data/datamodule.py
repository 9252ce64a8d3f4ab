"""Files of texts as a LightningDataModule: files in, encoded batches out."""

import hashlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import pytorch_lightning as pl
from pytorch_lightning.utilities import rank_zero_only
from torch import nn

from robustparse.data.columns import columns_of
from robustparse.data.fractions import FractionOf, check_fraction, draw_fraction
from robustparse.data.sampler import EvaluationLoader, TrainingLoader, forward_words
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_choice, check_least, check_seed
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example

# The longest sentence of UD English EWT has 159 words; scores take length squared memory.
MAX_LENGTH = 250
SAMPLE = "sample"  # stands for a path where the embedded sample is meant

VocabularyOf = Literal["train", "merged"]

log = logging.getLogger(__name__)
warn = rank_zero_only(log.warning)  # not in every process


class DataModule(pl.LightningDataModule, ABC):
    """Splits of a corpus, perturbed copies, and the batches of both; subclasses read files.

    Args:
        folder: holds the three files; ``sample`` stands for the embedded sample.
        train_file: takes the place of the one in ``folder``.
        dev_file: takes the place of the one in ``folder``.
        test_file: takes the place of the one in ``folder``.
        augmented_files: perturbed copies of training texts, as ``augment`` and ``attack`` write
            them, to train on too.
        batch_words: words of a global batch, over all processes.
        batch_texts: texts of a global batch at most; None sets no such limit.
        eval_batch_words: padded words of an evaluation batch; None leaves them to
            ``forward_words``.
        max_length: longest allowed text; a longer one is an error that names it.
        min_count: rarer words have no embedding of their own (2, Zheng et al. 2020).
        punctuation: which words count in scores; ``none`` leaves none out. For files of an attack
            take none or penn: unicode would judge the forms that were put in.
        seed: of the batches' content (and of the sample's grammar).
        augmented_fraction: train on this fraction of the copies only, drawn from the seed; smaller
            fractions are parts of larger ones.
        augmented_unit: what the fraction counts, ``sentences`` or ``tokens`` (Wang et al. 2021).
        vocabulary_of: the ``train`` file only, as with Zheng et al. (2020); or of the ``merged``
            data, copies included, as with Wang et al. (2021).
        allow_world_size_change: let a model with dropout resume from a checkpoint of another number
            of processes, whose masks it does not draw again. Without dropout that is always
            allowed.

    Raises:
        InputError: a file cannot be used, or a setting is out of range.
    """

    def __init__(
        self,
        folder: str | None = None,
        train_file: str | None = None,
        dev_file: str | None = None,
        test_file: str | None = None,
        augmented_files: list[str] | None = None,
        batch_words: int = 2000,
        eval_batch_words: int | None = None,
        max_length: int = MAX_LENGTH,
        min_count: int = 2,
        punctuation: PunctuationPolicy = "none",
        seed: int = 0,
        augmented_fraction: float = 1.0,
        augmented_unit: FractionOf = "sentences",
        vocabulary_of: VocabularyOf = "train",
        allow_world_size_change: bool = False,
        batch_texts: int | None = None,
    ) -> None:
        super().__init__()
        check_least("data", batch_words=batch_words, eval_batch_words=eval_batch_words)
        check_least("data", batch_texts=batch_texts, max_length=max_length, min_count=min_count)
        check_seed("data: seed", seed)
        check_fraction("augmented_fraction", augmented_fraction)
        check_choice("data: augmented_unit", augmented_unit, get_args(FractionOf))
        check_choice("data: vocabulary_of", vocabulary_of, get_args(VocabularyOf))
        check_choice("data: punctuation", punctuation, get_args(PunctuationPolicy))
        self.folder = folder
        self.files = {"train": train_file, "dev": dev_file, "test": test_file}
        self.augmented_files = augmented_files
        self.batch_words, self.eval_batch_words = batch_words, eval_batch_words
        self.batch_texts = batch_texts
        self.max_length, self.min_count = max_length, min_count
        self.punctuation, self.seed = punctuation, seed
        self.augmented_fraction, self.augmented_unit = augmented_fraction, augmented_unit
        self.vocabulary_of = vocabulary_of
        self.allow_world_size_change = allow_world_size_change
        self._warned: set[str] = set()

    # What a kind of files differs in

    @abstractmethod
    def read(self, path: str | Path) -> list[Example]:
        """Return the examples of a file."""

    @abstractmethod
    def sample(self, split: str) -> list[Example]:
        """Return a split of the embedded sample."""

    @abstractmethod
    def find(self, folder: str, split: str) -> Path:
        """Return the file of a split in a folder."""

    @abstractmethod
    def check_copies(self, copies: Sequence[Example], path: str) -> None:
        """Refuse perturbed copies whose gold answers no training example could have."""

    def doubts(self) -> Iterator[str]:
        """Yield what training on this corpus, or scores on it, suffer from; by default nothing."""
        return iter(())

    # Examples

    def examples(self, split: str) -> list[Example]:
        """Return the examples of ``train``, ``dev`` or ``test``."""
        path = self.path(split)
        return self.sample(split) if path is None else self.read(path)

    def path(self, split: str) -> Path | None:
        """Return the file of a split; None for the embedded sample.

        Raises:
            InputError: there is none.
        """
        named = self.files[split]
        if named is None and self.folder == SAMPLE:
            return None
        if named is None and self.folder is None:
            raise InputError(
                f"no {split} data",
                key=f"data.init_args.{split}_file",
                remedy=f"set data.init_args.folder or {split}_file",
            )
        return Path(named) if named is not None else self.find(str(self.folder), split)

    @cached_property
    def train_examples(self) -> list[Example]:
        """The training texts, read once."""
        return self.examples("train")

    @cached_property
    def augmented_examples(self) -> list[Example]:
        """The perturbed copies that are trained on; their ids follow the training texts'."""
        first = 1 + self.train_examples[-1].id
        return [replace(copy, id=id_) for id_, (_, copy) in enumerate(self.copies, start=first)]

    @cached_property
    def copies(self) -> list[tuple[str, Example]]:
        """File and text of the perturbed copies that are trained on, with its id there."""
        copies = []
        for path in self.augmented_files or ():
            read = self.read(path)
            self.check_copies(read, path)
            copies += [(path, copy) for copy in read]
        lengths = [len(copy.sentence) for _, copy in copies]
        kept = draw_fraction(lengths, self.augmented_fraction, self.augmented_unit, self.seed)
        return [copies[index] for index in kept]

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """Of the training texts, and of the copies where it is the merged data's.

        None where no training data are named: a model that starts from a checkpoint takes its.
        """
        if self.folder is None and self.files["train"] is None:
            return None
        copies = self.augmented_examples if self.vocabulary_of == "merged" else []
        examples = [*self.train_examples, *copies]
        return Vocabulary.from_examples(examples, self.min_count)

    @property
    def _model(self) -> Any:
        """The ``Model`` that reads the batches; this package comes before that of models."""
        return self.trainer.lightning_module  # type: ignore[union-attr]

    def _read(self, split: str) -> list[Example]:
        """Return the texts of a split, every one of which the model can read; warn once."""
        examples = self.train_examples if split == "train" else self.examples(split)
        path = self.path(split) or SAMPLE
        self._model.check_readable(examples, path, self.punctuation)
        if split not in self._warned and self._place()[0] == 0:
            self._warned.add(split)
            training = split == "train"
            of_split = self._model.warnings(examples, path, self.punctuation, training)
            for warning in chain(of_split, self.doubts() if training else ()):
                log.warning("%s", warning)
        return examples

    def _place(self) -> tuple[int, int]:
        return self.trainer.global_rank, self.trainer.world_size  # type: ignore[union-attr]

    # Batches

    def train_dataloader(self) -> TrainingLoader:
        """Return global batches of fixed content, this process's share."""
        examples = self._read("train")
        self._model.data_columns = columns_of(examples)
        self._model.trained_on = _digest(
            (one.sentence.words, one.sentence.context, one.gold) for one in examples
        )
        for path, copy in self.copies:
            self._model.check_readable([copy], path, self.punctuation)
        examples = [*examples, *self.augmented_examples]
        sentences = [example.sentence for example in examples]
        return TrainingLoader(
            self._model.encode(examples, checked=False),
            self.batch_words,
            self.seed,
            *self._place(),
            self.allow_world_size_change or not drops_out(self._model),
            _digest((one.words, one.context, one.tags) for one in sentences),
            _digest(example.gold for example in examples),
            self._model.unit,
            self.batch_texts,
        )

    def val_dataloader(self) -> EvaluationLoader:
        """Return the development texts."""
        return self._evaluation(self._read("dev"))

    def test_dataloader(self) -> EvaluationLoader:
        """Return the test texts."""
        return self._evaluation(self._read("test"))

    def predict_dataloader(self) -> EvaluationLoader:
        """Return the same, for ``Trainer.predict``."""
        return self.test_dataloader()

    def _evaluation(self, examples: Sequence[Example]) -> EvaluationLoader:
        data = self._model.encode(examples, self.punctuation, checked=False)
        device = self.trainer.strategy.root_device  # type: ignore[union-attr]
        words = forward_words(device, self.eval_batch_words)
        return EvaluationLoader(data, words, *self._place())


def _digest(parts: Iterable[object]) -> str:
    """Return what tells parts of training data from others: SHA-256, of no ids."""
    found = hashlib.sha256()
    for part in parts:
        found.update(repr(part).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def drops_out(module: nn.Module) -> bool:
    """Tell whether a module, as it is trained, draws dropout masks.

    Every process draws those of its own texts, so that another number of processes draws others.
    PyTorch calls the probability ``p`` in modules of its own for dropout and ``dropout`` in others;
    transformers has names that end in ``dropout`` or ``dropout_prob``, and our modules have
    ``dropout``. Parts in evaluation mode, as a network that is not tuned, draw none.
    """
    return any(
        isinstance(value, int | float) and value > 0
        for part in module.modules()
        if part.training
        for name, value in vars(part).items()
        if (name == "p" and "dropout" in type(part).__name__.lower())
        or name.endswith(("dropout", "dropout_prob"))
    )
