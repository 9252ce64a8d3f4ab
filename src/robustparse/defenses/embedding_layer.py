"""Gradient adversaries for LightningModules of other libraries, through their embedding layer.

A forward hook adds the delta of a pass to the output of the layer. Each pass is a call of
``training_step``: the trainer's own, those that train at a delta, and those that search for one.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from robustparse.defenses.gradient_adversary import OWNER, sentence_stream
from robustparse.defenses.perturbed_batch import PerturbedBatch, TrainingPass
from robustparse.errors import InputError
from robustparse.lightning import takes_index

Mask = str | Callable[[Any], Tensor]


class EmbeddingLayer:
    """The embedding layer of a LightningModule, to which a gradient adversary adds its deltas.

    The output of the layer must be ``(batch, units, dim)``, one row for each sentence, and the
    layer must run once in each ``training_step``, which returns the loss, or a dictionary with
    ``loss``, and leaves the batch as it is.

    ``training_step`` runs once in every pass. Only the trainer's own call logs values; metrics that
    ``training_step`` updates count all passes. With ``same_dropout``, all passes draw the same
    random numbers from this layer on. A random start follows from (seed, epoch, index of the
    batch, process, row of the sentence).

    Args:
        name: the name of the layer in ``named_modules()`` of the LightningModule, such as
            ``model.bert.embeddings.word_embeddings``.
        mask: where a delta is allowed, ``(batch, units)``, nonzero or True there: the key of this
            tensor in the batch, such as ``attention_mask``, or a function that returns it for a
            batch. None: all positions, also padding.
    """

    def __init__(self, name: str, mask: Mask | None = None) -> None:
        self.name, self.mask = name, mask

    def check(self, module: pl.LightningModule) -> None:
        """Check that a gradient adversary can train a module.

        Raises:
            InputError: the module has no layer of this name, or optimizes manually.
        """
        self.of(module)
        if not module.automatic_optimization:
            raise InputError(
                f"{type(module).__name__} optimizes manually, so that the passes of an adversary "
                "cannot be added to its own",
                key=f"{OWNER}: model",
                remedy="set automatic_optimization = True",
            )

    def of(self, module: pl.LightningModule) -> nn.Module:
        """Return the layer of a module.

        Raises:
            InputError: names the embedding layers of the module or, without any, all its layers.
        """
        layers: dict[str, nn.Module] = dict(module.named_modules())
        if self.name and self.name in layers:
            return layers[self.name]
        names = [name for name, layer in layers.items() if isinstance(layer, nn.Embedding)]
        raise InputError(
            f"{type(module).__name__} has no layer {self.name!r}",
            key=f"{OWNER}: layer",
            expected=f"one of {', '.join(names or filter(None, layers))}",
        )

    def allowed(self, batch: Any, like: Tensor) -> Tensor:
        """Return 1 where a delta is allowed, ``(batch, units, 1)``, for zeros of a delta's shape.

        Raises:
            InputError: the batch has no such key, or the mask is no tensor of this shape.
        """
        if self.mask is None:
            return torch.ones_like(like[..., :1])
        mask = self._named(self.mask, batch) if isinstance(self.mask, str) else self.mask(batch)
        if not isinstance(mask, Tensor) or mask.shape != like.shape[:2]:
            size = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
            problem = f"got {size}, but embeddings are {tuple(like.shape)}"
            expected = "a tensor, (batch, units)"
            raise InputError(problem, key=f"{OWNER}: layer: mask", expected=expected)
        return mask.bool().unsqueeze(-1).to(like)

    @staticmethod
    def _named(key: str, batch: Any) -> Any:
        try:
            return batch[key]
        except (KeyError, TypeError, IndexError) as error:
            keys = (
                f" with the keys {', '.join(map(str, batch))}" if isinstance(batch, Mapping) else ""
            )
            raise InputError(
                f"cannot be read from a batch, a {type(batch).__name__}{keys}",
                key=f"{OWNER}: layer: mask",
                remedy="pass a function that returns it for a batch",
            ) from error


class PerturbedStep(PerturbedBatch):
    """A batch of a LightningModule with an `EmbeddingLayer`.

    The gradients of a search are those of the module's loss, usually a mean over the batch. Since
    steps are normalised, sentences move as they would by the gradient of the sum.

    Args:
        layer: the layer.
        common: as in `PerturbedBatch`.
    """

    def __init__(self, layer: EmbeddingLayer, *common: Any) -> None:
        super().__init__(*common)
        self._layer = layer
        self._arguments = (self.batch, self.index)[: 1 + takes_index(self.model)]
        self._source: Callable[[Any], Tensor] | None = None  # until a pass reaches the layer
        self._like = torch.zeros(0)
        self._random: list[Tensor] = []
        self._hook: Any = None

    def zeros(self) -> Tensor:
        """See `PerturbedBatch`: zeros like the output of the layer in the current pass."""
        return torch.zeros_like(self._like)

    def mask(self) -> Tensor:
        """See `PerturbedBatch`."""
        return self._layer.allowed(self.batch, self._like)

    def streams(self, seed: int) -> list[np.random.Generator]:
        """See `PerturbedBatch`; sentences have no ids."""
        numbers = (self.trainer.current_epoch, self.index, self.trainer.global_rank)
        return [sentence_stream(seed, *numbers, row) for row in range(len(self._like))]

    def begin(self, passes: Callable[[PerturbedBatch], Iterator[TrainingPass]]) -> None:
        """See `PerturbedBatch`."""
        self._passes = passes(self)
        self._hook = self._layer.of(self.model).register_forward_hook(self._add_delta)
        self._source = self.delta_of

    def first_weight(self) -> float:
        """See `PerturbedBatch`; the forward pass must have reached the layer."""
        self._check_reached()
        return super().first_weight()

    def loss_at(self, delta: Tensor) -> Tensor:
        """See `PerturbedBatch`: the loss of a ``training_step``."""
        return self._loss(lambda _: delta, self.model.training_step)

    def training_loss(self) -> Tensor:
        """See `PerturbedBatch`."""
        return self._loss(self.delta_of, self.trainer.strategy.training_step)

    def seed_dropout(self) -> None:
        """Return to the random state of the first call."""
        if not self.same_dropout:
            return
        cuda = self.model.device.type == "cuda"
        if not self._random:
            self._random = [torch.get_rng_state()]
            self._random += [torch.cuda.get_rng_state(self.model.device)] if cuda else []
            return
        torch.set_rng_state(self._random[0])
        if cuda:
            torch.cuda.set_rng_state(self._random[1], self.model.device)

    def close(self) -> None:
        """See `PerturbedBatch`."""
        self._hook.remove()

    def _loss(self, source: Callable[[Any], Tensor], step: Callable[..., Any]) -> Tensor:
        self._source = source
        with _without_logging(self.model):
            output = step(*self._arguments)
        self._check_reached()
        loss = output.get("loss") if isinstance(output, Mapping) else output
        if not isinstance(loss, Tensor):
            raise no_loss(self.model)
        return loss

    def _add_delta(self, layer: nn.Module, inputs: Any, output: Any) -> Tensor:
        """Add the delta of the current pass to the layer's output: a forward hook."""
        key = f"{OWNER}: layer {self._layer.name}"
        if not isinstance(output, Tensor) or output.ndim != 3 or not output.is_floating_point():
            size = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
            raise InputError(f"returned {size}", key=key, expected="floats, (batch, units, dim)")
        source, self._source = self._source, None
        if source is None:
            problem = "ran a second time in a pass, so that it is unclear where a delta belongs"
            raise InputError(problem, key=key, remedy="name a layer that runs once in a step")
        # In mixed precision, outputs are halved and weights are not; a halved delta is too coarse.
        dtype = next((weight.dtype for weight in layer.parameters()), output.dtype)
        self._like = torch.zeros_like(output, dtype=dtype)
        delta = source(self.batch)
        self.seed_dropout()
        return output + delta.to(output.dtype)

    def _check_reached(self) -> None:
        if self._source is not None:
            problem = "did not run in training_step"
            raise InputError(problem, key=f"{OWNER}: layer {self._layer.name}")


def no_loss(module: pl.LightningModule) -> InputError:
    """Return the error of a ``training_step`` without a loss."""
    return InputError(
        f"training_step of {type(module).__name__} returned no loss",
        key=f"{OWNER}: model",
        expected="the loss, or a dictionary with the key loss",
    )


@contextmanager
def _without_logging(module: pl.LightningModule) -> Iterator[None]:
    """Ignore ``module.log``: Lightning would mix the values of all passes."""
    vars(module)["log"] = lambda *_, **__: None
    try:
        yield
    finally:
        del vars(module)["log"]
