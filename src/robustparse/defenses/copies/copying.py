"""What adversaries share that train on changed copies of some of a batch's sentences."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

import pytorch_lightning as pl

from robustparse.data.batch import Batch, join, select
from robustparse.data.fractions import check_fraction
from robustparse.defenses.requirements import callbacks_of, data_of, model_of, warn
from robustparse.errors import InputError, check_choice, check_least, check_seed
from robustparse.models.base import Model
from robustparse.randomness import mixed_seed, stream
from robustparse.types import Example

Mode = Literal["append", "replace"]
# Of the first ENOUGH sentences drawn, a smaller fraction that changed is worth a warning.
ENOUGH, FEW = 200, 0.5


class CopyingAdversary(pl.Callback):
    """Draws some of a batch's sentences; subclasses make the copies that are trained on.

    Which sentences are drawn, and every choice in their copies, follow from (seed, epoch, sentence
    id), never from the batch's division over processes. With copies appended, the loss is divided
    by 1 + fraction times the words of the global batch, the number expected, which every process
    knows without asking; by 1 + the sum of their fractions if several adversaries append. With
    originals replaced it is divided by the words of these. If few of the first sentences drawn
    change, a warning says so: with copies appended, steps are then smaller than in clean training.

    Args:
        fraction: of the sentences, in (0, 1] (0.5, Zheng et al. 2020).
        every: make copies in every Nth batch.
        seed: of the choice of sentences and of their copies.
        mode: ``append`` the copies, to train on clean sentences as well (Zheng et al. 2020), or
            ``replace`` the originals by them, at the cost of an ordinary step.

    Attributes:
        owner: how messages call an adversary.
        why_few: what the warning says of causes and remedies.
        examples: the training sentences by their ids, once training has begun.

    Raises:
        InputError: a setting is out of range.
    """

    owner: ClassVar[str]
    why_few: str = ""

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

    @abstractmethod
    def copies(
        self, trainer: pl.Trainer, model: Model, chosen: Sequence[Example], seed: int
    ) -> list[Example]:
        """Return copies of those of the chosen sentences that change.

        Args:
            trainer: that trains.
            model: with its current weights.
            chosen: sentences of the batch.
            seed: from which, with a sentence's id, all that is drawn follows.

        Returns:
            In any order, one at most of each, with its id and with gold answers.
        """

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Look up the sentences of the batches' ids.

        Raises:
            InputError: the module or the data are not ours, or two adversaries replace the same
                sentences.
        """
        model_of(pl_module, self.owner)
        data = data_of(trainer, self.owner)
        copying = callbacks_of(trainer, CopyingAdversary)
        if sum(adversary.mode == "replace" for adversary in copying) > 1:
            raise InputError(
                "has several adversaries with mode: replace, of which the last one would undo the "
                "others' work",
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
        # Each once: another adversary may have appended copies.
        ids = dict.fromkeys(batch.ids.tolist())
        chosen = [self.examples[id_] for id_ in ids if self._draw(epoch, id_)]
        copies = self.copies(trainer, model, chosen, mixed_seed(self.seed, epoch, 0))
        self._warn_of_few(len(chosen), len(copies))
        copies.sort(key=lambda copy: copy.id)
        # Nobody wrote them: one over an encoder's limit is read in windows, as under attack.
        encoded = model.encode(copies, checked=False).batch(range(len(copies)), 0.0)
        encoded = encoded.to(batch.words.device)
        if self.mode == "append":
            words = self.fraction * float(batch.weight - batch.appended)
            changed = join(batch, encoded, words)
        else:
            changed = _replaced(batch, encoded)
        # In place: Lightning hands the same object to the training step.
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


def _replaced(batch: Batch, copies: Batch) -> Batch:
    """Return a batch with copies in the places of their originals, the first texts of their ids."""
    ids = batch.ids.tolist()
    rows = list(range(len(batch)))
    for row, id_ in enumerate(copies.ids.tolist(), start=len(batch)):
        rows[ids.index(id_)] = row
    return select(join(batch, copies, 0.0), rows)
