"""The base class of adversaries that train on changed copies of some sentences of a batch."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import pytorch_lightning as pl

from robustparse.data.batch import Batch, join, select
from robustparse.data.datamodule import warn
from robustparse.data.fractions import check_fraction
from robustparse.defenses.requirements import (
    callbacks_of,
    check_undivided,
    data_of,
    model_of,
)
from robustparse.errors import InputError, check_choice, check_least, check_seed
from robustparse.models.base import Model
from robustparse.randomness import mixed_seed, stream
from robustparse.types import Example

Mode = Literal["append", "replace"]
# Warn if less than the fraction FEW of the first ENOUGH drawn sentences changed.
ENOUGH, FEW = 200, 0.5


class CopyingAdversary(pl.Callback):
    """Draws some sentences of a batch; subclasses make the copies on which the model is trained.

    The drawn sentences, and all random choices in their copies, follow from (seed, epoch, sentence
    id), independently of how the batch is divided over processes. If copies are appended, the loss
    is divided by (1 + fraction) times the words of the global batch, which is the expected number
    of words and known to every process; several appending adversaries add up their fractions. If
    copies replace originals, the loss is divided by the words of the originals. A warning is given
    if few of the first drawn sentences change, because with appended copies the steps are then
    smaller than in clean training.

    Args:
        fraction: the fraction of sentences to copy, in (0, 1] (0.5, Zheng et al. 2020).
        every: make copies in every Nth batch.
        seed: the seed of the choice of sentences and of their copies.
        mode: ``append`` the copies, to train on clean sentences as well (Zheng et al. 2020), or
            ``replace`` the originals by them, at the cost of an ordinary step.

    Attributes:
        owner: the adversary's name in messages.
        why_few: causes and remedies for the warning.
        examples: training sentences by id, set when training begins.
        passed_over: how many of the last chosen sentences have a wrong answer as they are, so that
            nothing had to be changed; they do not count for the warning.

    Raises:
        InputError: a setting is out of range.
    """

    owner: ClassVar[str]
    why_few: str = ""
    passed_over: int = 0

    def __init__(
        self, *, fraction: float = 0.5, every: int = 1, seed: int = 0, mode: Mode = "append"
    ) -> None:
        check_fraction(f"{self.owner}: fraction", fraction)
        check_least(self.owner, every=every)
        check_seed(f"{self.owner}: seed", seed)
        check_choice(f"{self.owner}: mode", mode, get_args(Mode))
        self.fraction, self.every, self.seed, self.mode = fraction, every, seed, mode
        self.examples: dict[int, Example] = {}
        self._drawn = self._made = 0

    @property
    def cost(self) -> float:
        """How many clean steps cost as much as a step, on average, without making the copies."""
        return 1 + (self.fraction / self.every if self.mode == "append" else 0)

    @abstractmethod
    def copies(
        self, trainer: pl.Trainer, model: Model, chosen: Sequence[Example], seed: int
    ) -> list[Example]:
        """Return copies of the chosen sentences, except those that do not change.

        Args:
            trainer: the running trainer.
            model: the model with its current weights.
            chosen: sentences of the batch.
            seed: all random choices follow from (seed, sentence id).

        Returns:
            At most one copy per sentence, in any order, with the sentence's id and a gold answer.
        """

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Look up the training sentences by id.

        Raises:
            InputError: the strategy divides the model, the model or the data module is not one of
                robustparse, or two adversaries replace sentences.
        """
        check_undivided(trainer)
        model_of(pl_module, self.owner)
        data = data_of(trainer, self.owner)
        copying = callbacks_of(trainer, CopyingAdversary)
        if sum(adversary.mode == "replace" for adversary in copying) > 1:
            raise InputError(
                "has several adversaries with mode: replace; the last one would undo the others' "
                "work",
                key="trainer.callbacks",
                remedy="keep one of them, or append",
            )
        examples = [*data.train_examples, *data.augmented_examples]
        self.examples = {example.id: example for example in examples}
        self._drawn = self._made = 0

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Put copies into the batch."""
        if batch_idx % self.every:
            return
        model, epoch = model_of(pl_module, self.owner), trainer.current_epoch
        # Another adversary may have appended copies with the same ids.
        ids = dict.fromkeys(batch.ids.tolist())
        chosen = [self.examples[id_] for id_ in ids if self._draw(epoch, id_)]
        copies = self.copies(trainer, model, chosen, mixed_seed(self.seed, epoch, 0))
        self._warn_of_few(len(chosen) - self.passed_over, len(copies))
        copies.sort(key=lambda copy: copy.id)
        # A copy over the encoder's limit is read in windows instead of raising an error.
        encoded = model.encode(copies, checked=False).batch(range(len(copies)), 0.0)
        encoded = encoded.to(batch.words.device)
        self.put(trainer, model, batch, encoded)

    def put(self, trainer: pl.Trainer, model: Model, batch: Batch, copies: Batch) -> None:
        """Put copies into the batch, in place: the training step gets the same object.

        Args:
            trainer: the running trainer.
            model: the trained model.
            batch: the batch.
            copies: the copies of its texts.
        """
        if self.mode == "append":
            words = self.fraction * float(batch.weight - batch.appended)
            changed = join(batch, copies, words)
        else:
            changed = replaced(batch, copies)
        vars(batch).update(vars(changed))

    def _warn_of_few(self, drawn: int, made: int) -> None:
        """Warn once if few of the first sentences drawn changed."""
        before = self._drawn
        self._drawn, self._made = self._drawn + drawn, self._made + made
        if before < ENOUGH <= self._drawn and self._made < FEW * self._drawn:
            warn(
                f"{self.owner}: only {self._made} of the first {self._drawn} sentences drawn "
                f"changed. {self.why_few}"
            )

    def _draw(self, epoch: int, sentence: int) -> bool:
        draw = stream(mixed_seed(self.seed, epoch, 1), sentence).random()
        return bool(draw < self.fraction)


def replaced(batch: Batch, copies: Batch) -> Batch:
    """Return the batch with each copy in place of the first text of its id."""
    ids = batch.ids.tolist()
    rows = list(range(len(batch)))
    for row, id_ in enumerate(copies.ids.tolist(), start=len(batch)):
        rows[ids.index(id_)] = row
    return select(join(batch, copies, 0.0), rows)
