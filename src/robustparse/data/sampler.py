"""Batches whose content follows from (seed, epoch) only.

The texts are sorted by length, pairs by that of the context first, ties in an order drawn from
(seed, epoch), cut into global batches of at most B words (and, where that is asked for, N texts),
and the batches are shuffled. Every process holds the same plan and takes every world_size-th text
of each batch, so neither the number of processes nor an interruption changes what a step is trained
on; (epoch, position) is all that a run resumes from.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from robustparse.data.batch import Batch, EncodedCorpus
from robustparse.errors import InputError

# The last batch, of what is left over, takes sentences from its neighbour until it has this many
# or half of both, so that every process of a run on one machine has work in every step.
MIN_SENTENCES = 16


Unit = Literal["words", "texts"]
"""What losses are divided by."""


def plan_batches(
    lengths: NDArray[np.int64],
    batch_words: int,
    seed: int,
    epoch: int,
    batch_texts: int | None = None,
    contexts: NDArray[np.int64] | None = None,
) -> list[NDArray[np.int64]]:
    """Return the global batches of an epoch, as indices of texts.

    The number of batches and the lengths in them are the same in every epoch; which of the texts of
    equal length stand together, and the order of the batches, change.

    Args:
        lengths: in words, ``(texts,)``.
        batch_words: words of a batch at most.
        seed: of the order.
        epoch: counted from 0.
        batch_texts: texts of a batch at most; None sets no such limit.
        contexts: words of each text's context, ``(texts,)``, which no limit counts.

    Raises:
        InputError: a sentence is longer than ``batch_words``.
    """
    if len(lengths) and lengths.max() > batch_words:
        longest = int(lengths.argmax())
        raise InputError(
            f"{batch_words}, and sentence {longest + 1} has {lengths[longest]} words",
            key="data.init_args.batch_words",
            remedy="raise batch_words",
        )
    rng = np.random.Generator(np.random.Philox(key=[seed, epoch]))
    shuffled = rng.permutation(len(lengths))
    keys = [lengths] if contexts is None else [lengths, contexts]  # the last one counts first
    order = shuffled[np.lexsort([-key[shuffled] for key in keys])]
    cuts: list[int] = []
    words = begin = 0
    for index, length in enumerate(lengths[order]):
        if words + length > batch_words or index - begin == batch_texts:
            cuts.append(index)
            words, begin = 0, index
        words += length
    if cuts:
        previous = cuts[-2] if len(cuts) > 1 else 0
        fitting = np.searchsorted(lengths[order][::-1].cumsum(), batch_words, side="right")
        wanted = min(MIN_SENTENCES, (len(order) - previous) // 2, int(fitting))
        cuts[-1] = min(cuts[-1], len(order) - wanted)
    batches = np.split(order, cuts)
    return [batches[index] for index in rng.permutation(len(batches))]


class EpochSampler:
    """Holds the epoch: Lightning calls ``set_epoch`` on a loader's ``sampler``, nothing else."""

    def __init__(self) -> None:
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Note the epoch: called by Lightning at the start of each."""
        self.epoch = epoch


class TrainingLoader:
    """Yields this process's share of each global batch, resumable at any step.

    Args:
        data: the training sentences.
        batch_words: the limit of a global batch, in words over all processes.
        seed: of the plan.
        rank, world_size: this process among all.
        allow_world_size_change: whether training may resume that another number of them began.
        words, answers: identify the words of the texts, with contexts and tags, and their gold
            answers; ``data`` cannot, since its numbers depend on what was read before.
        unit: what a batch's weight counts.
        batch_texts: the limit of a global batch in texts, if it has one.
    """

    def __init__(
        self,
        data: EncodedCorpus,
        batch_words: int,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
        allow_world_size_change: bool = True,
        words: str = "",
        answers: str = "",
        unit: Unit = "words",
        batch_texts: int | None = None,
    ) -> None:
        self.data, self.batch_words, self.seed = data, batch_words, seed
        self.rank, self.world_size = rank, world_size
        self.allow_world_size_change = allow_world_size_change
        self.unit, self.batch_texts = unit, batch_texts
        self._content = {"words": words, "answers": answers}
        self.sampler = EpochSampler()
        self._start = self._handed_out = 0
        plan = self._batches_of(epoch=0)
        self._batches = len(plan)
        if any(len(batch) < world_size for batch in plan):
            raise InputError(
                f"a batch of {batch_words} words holds fewer sentences than there are processes "
                f"({world_size})",
                key="data.init_args.batch_words",
                remedy="raise batch_words or use fewer processes",
            )

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        # Lightning may drop the iterator before its end: reset here, not after the last batch.
        start, self._start = self._start, 0
        plan = self._batches_of(self.sampler.epoch)
        for position in range(start, len(plan)):
            self._handed_out = position + 1
            whole = plan[position]
            weight = self.data.lengths[whole].sum() if self.unit == "words" else len(whole)
            yield self.data.batch(whole[self.rank :: self.world_size], float(weight))

    def state_dict(self) -> dict[str, Any]:
        """Where training stands, in batches handed out, and what the plan follows from."""
        position = self._handed_out % self._batches
        place = {"epoch": self.sampler.epoch, "position": position}
        return {**place, **self._plan(), **self._content, "world_size": self.world_size}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from there; takes effect at the next first batch.

        The global batches are the same for another number of processes.

        Raises:
            InputError: the state comes from other batches or other texts, or from another number
                of processes where these may not resume it.
        """
        remedy = "resume with the same data, or start anew with model.init_args.init_from"
        for name, value in self._plan().items():
            if state[name] != value:
                found = f"the checkpoint was trained with {name} {state[name]}, now it is {value}"
                raise InputError(found, key=name, remedy=remedy)
        for name, digest in self._content.items():
            if state[name] != digest:
                other = "texts or tags" if name == "words" else "gold answers of its texts"
                found = f"the checkpoint was trained on other {other}, though on as many"
                raise InputError(found, remedy=remedy)
        before = state["world_size"]
        if before != self.world_size and not self.allow_world_size_change:
            raise InputError(
                f"the checkpoint was trained with {before} processes, now there are "
                f"{self.world_size}, for which dropout would draw other masks",
                key="trainer.devices",
                remedy=f"resume with {before} processes, or set "
                "data.init_args.allow_world_size_change to true",
            )
        self.sampler.epoch, self._start = state["epoch"], state["position"]
        self._handed_out = self._start

    def _batches_of(self, epoch: int) -> list[NDArray[np.int64]]:
        limits = (self.batch_words, self.seed, epoch, self.batch_texts)
        return plan_batches(self.data.lengths, *limits, self.data.contexts)

    def _plan(self) -> dict[str, int | None]:
        return {
            "seed": self.seed,
            "batch_words": self.batch_words,
            "batch_texts": self.batch_texts,
            "texts": len(self.data),
        }


def forward_words(device: torch.device, given: int | None) -> int:
    """Return padded words of a forward pass: as many as given, else what suits the device.

    On a CPU few: activations stay in its cache, and sentences of nearly the same length need little
    padding (about a third faster than 8000 for a BiLSTM on UD English EWT). A GPU wants many.

    Raises:
        InputError: fewer than one was given.
    """
    if given is not None and given < 1:
        raise InputError(f"must be >= 1, got {given}", key="batch_words")
    if given is not None:
        return given
    return 1000 if device.type == "cpu" else 20_000


class EvaluationLoader:
    """Each sentence once, sorted by length, split over the processes without padding.

    Pairs are sorted by their contexts first, which are read along with the texts.

    Args:
        data: the sentences.
        batch_words: the limit of a batch in padded words, those of contexts included.
        rank, world_size: this process among all.

    Raises:
        InputError: there are fewer sentences than processes, one of which would have no batch.
    """

    def __init__(
        self, data: EncodedCorpus, batch_words: int, rank: int = 0, world_size: int = 1
    ) -> None:
        if world_size > max(len(data), 1):
            raise InputError(
                f"{len(data)} sentences for {world_size} processes",
                key="trainer.devices",
                remedy="give more sentences or use fewer processes",
            )
        self.data = data
        # The last key counts first.
        order = np.lexsort([data.lengths, data.contexts])[rank::world_size]
        self._batches: list[NDArray[np.int64]] = []
        first = longest = 0
        for index, text in enumerate(order.tolist()):
            longest = max(longest, int(data.lengths[text]))
            if (longest + data.contexts[text]) * (index - first + 1) > batch_words:
                if index > first:
                    self._batches.append(order[first:index])
                first, longest = index, int(data.lengths[text])
        if first < len(order):
            self._batches.append(order[first:])

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Batch]:
        for batch in self._batches:
            yield self.data.batch(batch, float(self.data.lengths[batch].sum()))
