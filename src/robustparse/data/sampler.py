"""Batches whose content depends only on (seed, epoch).

The texts are sorted by length, pairs first by the length of the context, ties in a random order
from (seed, epoch). They are cut into global batches of at most B words and N texts, and the batches
are shuffled. Every process has the same plan and takes every world_size-th text of each batch.
Neither the number of processes nor an interruption changes the texts of a step, and a run resumes
from (epoch, position).
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from robustparse.data.batch import Batch, EncodedCorpus
from robustparse.errors import InputError

# The last batch would be small: it takes sentences from its neighbour until it has this many, or
# half of both, so that every process on a machine has work in every step.
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

    The number of batches and the lengths in them are equal in all epochs. The order of the batches
    differs, and texts of equal length are mixed differently.

    Args:
        lengths: words of each text, ``(texts,)``.
        batch_words: the most words of a batch.
        seed: the seed of the order.
        epoch: the epoch, from 0.
        batch_texts: the most texts of a batch; None sets no limit.
        contexts: words of each text's context, ``(texts,)``, which ``batch_words`` does not count.

    Raises:
        InputError: a sentence is longer than ``batch_words``.
    """
    if len(lengths) and lengths.max() > batch_words:
        longest = int(lengths.argmax())
        raise InputError(
            f"{batch_words}, and sentence {longest + 1} has {lengths[longest]} words",
            key="data.init_args.batches.words",
            remedy="raise it",
        )
    rng = np.random.Generator(np.random.Philox(key=[seed, epoch]))
    shuffled = rng.permutation(len(lengths))
    keys = [lengths] if contexts is None else [lengths, contexts]  # the last key counts first
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
        size = min(MIN_SENTENCES, (len(order) - previous) // 2, int(fitting))
        cuts[-1] = min(cuts[-1], len(order) - size)
    batches = np.split(order, cuts)
    return [batches[index] for index in rng.permutation(len(batches))]


class EpochSampler:
    """Holds the epoch; Lightning calls ``set_epoch`` only on the ``sampler`` of a loader."""

    def __init__(self) -> None:
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch; Lightning calls it at the start of each epoch."""
        self.epoch = epoch


class TrainingLoader:
    """Yields this process's share of each global batch, resumable at any step.

    Args:
        data: the training texts.
        batch_words: the most words of a global batch, over all processes.
        seed: the seed of the plan.
        rank, world_size: the number of this process, and of all processes.
        allow_world_size_change: whether a run of another number of processes may be resumed.
        words, answers: digests of the words, contexts and tags, and of the gold answers; the
            numbers in ``data`` depend on what was read before.
        unit: what the weight of a batch counts.
        batch_texts: the most texts of a global batch; None sets no limit.
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
                key="data.init_args.batches.words",
                remedy="raise it, or use fewer processes",
            )

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        # Lightning may stop before the end of the iterator: reset here, not after the last batch.
        start, self._start = self._start, 0
        plan = self._batches_of(self.sampler.epoch)
        for position in range(start, len(plan)):
            self._handed_out = position + 1
            texts = plan[position]
            weight = self.data.lengths[texts].sum() if self.unit == "words" else len(texts)
            yield self.data.batch(texts[self.rank :: self.world_size], float(weight))

    def state_dict(self) -> dict[str, Any]:
        """Return the position in training, the settings of the plan and the digests."""
        position = {"epoch": self.sampler.epoch, "position": self._handed_out % self._batches}
        return {**position, **self._plan(), **self._content, "world_size": self.world_size}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state when the next iteration begins.

        Raises:
            InputError: the state belongs to other batches or other texts, or to another number of
                processes, and this is not allowed.
        """
        remedy = "resume with the same data, or start anew with model.init_args.init_from"
        for name, value in self._plan().items():
            if state[name] != value:
                problem = f"the checkpoint was trained with {name} {state[name]}, now it is {value}"
                raise InputError(problem, key=name, remedy=remedy)
        for name, digest in self._content.items():
            if state[name] != digest:
                other = "texts or tags" if name == "words" else "gold answers of its texts"
                problem = f"the checkpoint was trained on other {other}, though on as many"
                raise InputError(problem, remedy=remedy)
        before = state["world_size"]
        if before != self.world_size and not self.allow_world_size_change:
            raise InputError(
                f"the checkpoint was trained with {before} processes, now there are "
                f"{self.world_size}, for which dropout would draw other masks",
                key="trainer.devices",
                remedy=f"resume with {before} processes, or set "
                "data.init_args.batches.allow_world_size_change to true",
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


def forward_words(device: torch.device, words: int | None) -> int:
    """Return the padded words of a forward pass; None chooses by device.

    A CPU is faster with few words: activations stay in its cache, and sentences of similar length
    need little padding (about a third faster than 8000 words, for a BiLSTM on UD English EWT).

    Raises:
        InputError: ``words`` is below 1.
    """
    if words is not None and words < 1:
        raise InputError(f"must be >= 1, got {words}", key="batch_words")
    if words is not None:
        return words
    return 1000 if device.type == "cpu" else 20_000


class EvaluationLoader:
    """Yields each text once, sorted by length, pairs first by the length of the context.

    The processes share the texts; no text is repeated to make their numbers equal.

    Args:
        data: the texts.
        batch_words: the most padded words of a batch, including contexts.
        rank, world_size: the number of this process, and of all processes.

    Raises:
        InputError: there are fewer texts than processes.
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
