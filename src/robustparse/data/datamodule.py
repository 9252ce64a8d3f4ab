"""A treebank as a LightningDataModule: files in, numbered batches out."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

import pytorch_lightning as pl

from robustparse.data.batch import EncodedCorpus
from robustparse.data.conllu import (
    UNLEARNED,
    check_labels,
    check_readable,
    find_split,
    read_treebank,
    unknown_labels,
)
from robustparse.data.masks import drops_out
from robustparse.data.sampler import EvaluationLoader, TrainingLoader, forward_words
from robustparse.data.shares import Unit, check_share, draw_share
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least, check_seed
from robustparse.metrics import PunctuationPolicy, unmatched_punctuation
from robustparse.types import Example

# The longest sentence of UD English EWT has 159 words; scores take length squared memory.
MAX_LENGTH = 250
_LIMIT = "data.init_args.max_length"
SAMPLE = "sample"  # stands for a path where the embedded sample is meant

Source = Literal["train", "merged"]

log = logging.getLogger(__name__)


class Numberer(Protocol):
    """What the data module needs of a parser."""

    vocabulary: Vocabulary

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that it cannot read."""
        ...

    def unmatched(self, examples: Sequence[Example]) -> str:
        """Return a warning where it reads tags and knows none of these sentences', else nothing."""
        ...

    def number(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy, checked: bool
    ) -> EncodedCorpus:
        """Words as rows of the parser's table, labels as its ids; checked first, if asked."""
        ...


class TreebankDataModule(pl.LightningDataModule):
    """A treebank in CoNLL-U or CoNLL-X.

    Args:
        folder: holds the three files, named ``*train.conllu``, ``*dev.conllu``, ``*test.conllu``
            (or ``.conllx``, ``.conll``); ``sample`` stands for the embedded sample treebank.
        train_file, dev_file, test_file: name files one by one, over ``folder``.
        augmented_files: perturbed copies of training sentences, as ``augment`` and ``attack`` write
            them, to train on too.
        batch_words: words of a global batch, over all processes.
        eval_batch_words: padded words of an evaluation batch; None leaves them to
            ``forward_words``.
        max_length: longest allowed sentence; a longer one is an error that names it.
        min_count: rarer words have no embedding of their own (2, Zheng et al. 2020).
        punctuation: which words count in scores; ``none`` leaves none out. For files of an attack
            take none or penn: unicode would judge the forms that were put in.
        seed: of the batches' content (and of the sample's grammar).
        augmented_fraction: train on this fraction of the copies only, drawn from the seed; smaller
            fractions are parts of larger ones.
        augmented_unit: what the fraction counts, ``sentences`` or ``tokens`` (Wang et al. 2021).
        vocabulary_of: the ``train`` file alone, as with Zheng et al. (2020); or of the ``merged``
            data, copies included, as with Wang et al. (2021).
        allow_world_size_change: let a parser with dropout resume from a checkpoint of another
            number of processes, whose masks it does not draw again. Without dropout that is always
            allowed.

    Raises:
        InputError: see ``read_treebank``; or a setting is out of range.
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
        augmented_unit: Unit = "sentences",
        vocabulary_of: Source = "train",
        allow_world_size_change: bool = False,
    ) -> None:
        super().__init__()
        check_least("data", batch_words=batch_words, eval_batch_words=eval_batch_words)
        check_least("data", max_length=max_length, min_count=min_count)
        check_seed("data: seed", seed)
        check_share(augmented_fraction, "augmented_fraction")
        self.folder = folder
        self.files = {"train": train_file, "dev": dev_file, "test": test_file}
        self.augmented_files = augmented_files
        self.batch_words, self.eval_batch_words = batch_words, eval_batch_words
        self.max_length, self.min_count = max_length, min_count
        self.punctuation, self.seed = punctuation, seed
        self.augmented_fraction, self.augmented_unit = augmented_fraction, augmented_unit
        self.vocabulary_of, self.allow_world_size_change = vocabulary_of, allow_world_size_change
        self._warned: set[str] = set()

    def examples(self, split: str, parsed: bool = True) -> list[Example]:
        """Return the examples of ``train``, ``dev`` or ``test``; ``parsed`` as in
        ``read_treebank``.
        """
        path = self.path(split)
        if path is None:
            from robustparse.data.sample.treebank import sample_treebank

            return getattr(sample_treebank(self.seed), split)  # type: ignore[no-any-return]
        return read_treebank(path, self.max_length, parsed, _LIMIT)

    def path(self, split: str) -> Path | None:
        """Return the file of a split; None for the embedded sample.

        Raises:
            InputError: no file is named, or the folder has none.
        """
        named = self.files[split]
        if named is None and self.folder == SAMPLE:
            return None
        if named is None and self.folder is None:
            raise InputError(f"no {split} data: set data.init_args.folder or {split}_file")
        return Path(named) if named is not None else find_split(str(self.folder), split)

    @cached_property
    def train_examples(self) -> list[Example]:
        """The training sentences, read once."""
        return self.examples("train")

    @cached_property
    def augmented_examples(self) -> list[Example]:
        """The perturbed copies that are trained on, numbered on from the training sentences."""
        first = len(self.train_examples)
        return [replace(copy, id=id_) for id_, (_, copy) in enumerate(self.copies, start=first)]

    @cached_property
    def copies(self) -> list[tuple[str, Example]]:
        """File and sentence of the perturbed copies that are trained on, as they stand there."""
        labels = {label for example in self.train_examples for label in example.gold.labels}
        copies = []
        for path in self.augmented_files or ():
            read = read_treebank(path, self.max_length, limit=_LIMIT)
            check_labels(read, path, labels)
            copies += [(path, copy) for copy in read]
        lengths = [len(copy.sentence) for _, copy in copies]
        kept = draw_share(lengths, self.augmented_fraction, self.augmented_unit, self.seed)
        return [copies[index] for index in kept]

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """Of the training sentences, and of the copies where it is the merged data's.

        None where no training data are named: a parser that starts from a checkpoint takes its.
        """
        if self.folder is None and self.files["train"] is None:
            return None
        copies = self.augmented_examples if self.vocabulary_of == "merged" else []
        return Vocabulary.from_examples([*self.train_examples, *copies], self.min_count)

    @property
    def _parser(self) -> Numberer:
        return self.trainer.lightning_module  # type: ignore[union-attr, return-value]

    def _read(self, split: str, parsed: bool = True) -> list[Example]:
        """Return the sentences of a split, every one of which the parser can read."""
        examples = self.train_examples if split == "train" else self.examples(split, parsed)
        path = self.path(split) or SAMPLE
        check_readable(examples, path, self._parser.check, self.punctuation if parsed else "none")
        if self._first_time(f"tags of {split}") and (remark := self._parser.unmatched(examples)):
            log.warning("%s: %s", path, remark)
        return examples

    def _first_time(self, topic: str) -> bool:
        """Whether this process is to say something about a topic, as the first one does once."""
        said = topic in self._warned or self._place()[0] != 0
        self._warned.add(topic)
        return not said

    def _place(self) -> tuple[int, int]:
        return self.trainer.global_rank, self.trainer.world_size  # type: ignore[union-attr]

    def train_dataloader(self) -> TrainingLoader:
        """Global batches of fixed content, this process's share."""
        examples = self._read("train")
        for path, copy in self.copies:
            check_readable([copy], path, self._parser.check, self.punctuation)
        examples = [*examples, *self.augmented_examples]
        self._warn_of_labels("train", examples, "teach heads alone")
        data = self._parser.number(examples, self.punctuation, checked=False)
        module = self.trainer.lightning_module  # type: ignore[union-attr]
        may_change = self.allow_world_size_change or not drops_out(module)
        words = "\n".join("\t".join(example.sentence.words) for example in examples)
        digest = hashlib.sha256(words.encode()).hexdigest()
        return TrainingLoader(data, self.batch_words, self.seed, *self._place(), may_change, digest)

    def val_dataloader(self) -> EvaluationLoader:
        """Return the development sentences."""
        return self._evaluation(self._scored("dev"), self.punctuation)

    def test_dataloader(self) -> EvaluationLoader:
        """The test sentences."""
        return self._evaluation(self._scored("test"), self.punctuation)

    def predict_dataloader(self) -> EvaluationLoader:
        """Return the test sentences; neither parses nor labels of theirs are looked at."""
        return self._evaluation(self._read("test", parsed=False), "none")

    def _scored(self, split: str) -> list[Example]:
        """Return the sentences of a split; a warning if a label of theirs cannot be right."""
        examples = self._read(split)
        self._warn_of_labels(split, examples, UNLEARNED)
        remark = unmatched_punctuation(examples, self.punctuation)
        if remark and self._first_time(f"punctuation of {split}"):
            log.warning("%s: %s", self.path(split) or SAMPLE, remark)
        return examples

    def _warn_of_labels(self, split: str, examples: Sequence[Example], effect: str) -> None:
        """Say once, if the parser does not know a label of a split, what comes of it."""
        if not self._first_time(f"labels of {split}"):
            return
        known = self._parser.vocabulary.label_ids
        if remark := unknown_labels(examples, self.path(split) or SAMPLE, known, effect):
            log.warning("%s", remark)

    def _evaluation(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> EvaluationLoader:
        data = self._parser.number(examples, punctuation, checked=False)
        device = self.trainer.strategy.root_device  # type: ignore[union-attr]
        words = forward_words(device, self.eval_batch_words)
        return EvaluationLoader(data, words, *self._place())
