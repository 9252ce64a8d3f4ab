"""Sources of a victim: checkpoints, a class named by an option, or an object.

``open`` makes the victim, in another process too if the source consists of plain values. The
settings and digests of a source identify the victim in ``run.json``.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from robustparse.api.inputs import (
    Paths,
    checkpoint_files,
    digest,
    load_models,
)
from robustparse.data.read_options import Known
from robustparse.devices import chosen_device
from robustparse.errors import InputError
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.models.base import Model
from robustparse.models.checkpoint import argument_names
from robustparse.models.load import Decoder
from robustparse.models.mean_scores import Mean
from robustparse.models.victim import ModelVictim, Precision
from robustparse.options.recipe import make_object, without_packing
from robustparse.options.recipe_digests import recipe_digests
from robustparse.victims.black_box import BlackBox

T = TypeVar("T")

DECODING = ("decoder", "beam", "precision", "mean")
"""The settings of `Checkpoints`, which are options of commands."""


@dataclass(frozen=True)
class Checkpoints:
    """A checkpoint, or several as one ensemble."""

    paths: Paths
    decoder: Decoder | None = None
    beam: int | None = None
    precision: Precision = "32-true"
    mean: Mean = "probabilities"

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", checkpoint_files(self.paths))

    @property
    def names(self) -> list[str]:
        """The paths of the checkpoints."""
        return list(self.paths)

    @property
    def settings(self) -> dict[str, Any]:
        """Decoder and precision; beam and mean if they are not the default."""
        settings: dict[str, Any] = {"decoder": self.decoder, "precision": self.precision}
        settings |= {} if self.beam is None else {"beam": self.beam}
        settings |= {} if self.mean == "probabilities" else {"mean": self.mean}
        return settings

    def digests(self) -> dict[str, Any]:
        """Return the SHA-256 of each checkpoint."""
        return {"checkpoint": [digest(path) for path in self.names]}

    def open(self, device: str) -> ModelVictim:
        """Load the models."""
        return _opened(self, device, self._loaded)

    def _loaded(self, device: str) -> ModelVictim:
        models = load_models(self.paths, self.decoder, self.beam, device, self.mean)
        if models[0].device.type == "cuda":
            torch.cuda.set_device(models[0].device)  # other models use the same GPU
        return ModelVictim(models, self.precision)


@dataclass(frozen=True)
class NamedVictim:
    """A victim that ``--victim`` describes by class path and arguments."""

    description: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """The name of the model among the arguments, or the bare name of the class."""
        model = self.description.get("init_args", {}).get("model")
        if isinstance(model, str):
            return [Path(model).name]
        return [str(self.description["class_path"]).rpartition(".")[2]]

    @property
    def settings(self) -> dict[str, Any]:
        """Class path and those arguments that answers depend on."""
        return {"victim": without_packing(self.description)}

    def digests(self) -> dict[str, Any]:
        """Return the SHA-256 of the files that the arguments name."""
        return {"victim": recipe_digests(self.description)}

    def open(self, device: str) -> BlackBox:
        """Make the victim."""
        return _opened(self, device, self._new_victim)

    def _new_victim(self, device: str) -> BlackBox:
        victim: BlackBox = make_object(BlackBox, self.description)
        if not hasattr(victim, "task"):
            problem = f"{type(victim).__name__} does not call the constructor of BlackBox"
            remedy = "call super().__init__(...) in its constructor"
            raise InputError(problem, key="victim", remedy=remedy)
        if device != "auto":
            victim.device = device
        return victim


@dataclass(frozen=True)
class GivenVictim:
    """A victim that was made in Python; functions are identified by name."""

    victim: AnsweringVictim

    @property
    def names(self) -> list[str]:
        """The classes of the models, or the name of the black box."""
        if isinstance(self.victim, ModelVictim):
            return [type(model).__name__ for model in self.victim.models]
        return [str(getattr(self.victim, "name", type(self.victim).__name__))]

    @property
    def settings(self) -> dict[str, Any]:
        """No settings."""
        return {}

    def digests(self) -> dict[str, Any]:
        """Return the SHA-256 of weights and plain arguments; nothing for a black box."""
        if not isinstance(self.victim, ModelVictim):
            return {}
        return {"checkpoint": [_model_digest(model) for model in self.victim.models]}

    def open(self, device: str) -> AnsweringVictim:
        """Return the victim, which stays on its device.

        Raises:
            InputError: there is no such device.
        """
        chosen_device("device", device)
        return self.victim


_open: ContextVar[dict[tuple[str, str], Any] | None] = ContextVar("_open", default=None)


@contextmanager
def victims_stay_open(victims: dict[tuple[str, str], Any]) -> Iterator[None]:
    """Let all runs in the block share their victims: reopening returns the same victim.

    Args:
        victims: the victims that are open, by source and device; further ones are added.
    """
    token = _open.set(victims)
    try:
        yield
    finally:
        _open.reset(token)


def _opened(source: Checkpoints | NamedVictim, device: str, make: Callable[[str], T]) -> T:
    """Return the victim of a source, which is made if it is not open."""
    victims = _open.get()
    if victims is None:
        return make(device)
    key = (repr(source), device)
    if key not in victims:
        victims[key] = make(device)
    victim: T = victims[key]
    return victim


VictimSource = Checkpoints | NamedVictim | GivenVictim
"""Its properties describe the victim in ``run.json``; ``open`` returns it on a device."""


def known_to(victim: object) -> Known:
    """Return what a victim knows about tables: its labels and the columns of its training data."""
    if isinstance(victim, ModelVictim):
        model = victim.model
        return Known(model.data_columns, model.vocabulary.labels, model.numeric_labels)
    return Known(labels=getattr(victim, "labels", None))


def _model_digest(model: Model) -> str:
    names = [*argument_names(type(model)), "mean"]
    arguments = {name: getattr(model, name, None) for name in names}
    plain = {key: value for key, value in arguments.items() if isinstance(value, int | float | str)}
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name, weight in model.state_dict().items():
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
