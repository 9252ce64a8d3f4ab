"""Where an attack's victim and sentences come from: files, a class that is named, or Python.

Each source can be opened, in another process too where it consists of plain values, and says what
tells it from others in ``run.json``.
"""

import hashlib
import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from robustparse.api.inputs import Paths, as_list, digest, load_models
from robustparse.api.taggers import check_tagger, tagger_named, with_tags
from robustparse.attacks.attack import Attack
from robustparse.data.columns import Known
from robustparse.data.datamodule import MAX_LENGTH, SAMPLE
from robustparse.data.fractions import FractionOf, check_fraction, draw_fraction
from robustparse.errors import InputError, check_least, check_seed
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.metrics import PunctuationPolicy
from robustparse.models.base import Model
from robustparse.models.load import Decoder
from robustparse.models.scores import Mean
from robustparse.models.victim import ModelVictim, Precision
from robustparse.recipes.recipe import made
from robustparse.recipes.recipe_files import recipe_digests
from robustparse.tasks.task import Task, check_ending
from robustparse.types import Example
from robustparse.victims.black_box import BlackBox


@dataclass(frozen=True)
class Checkpoints:
    """One checkpoint or several, which answer together."""

    paths: list[str]
    decoder: Decoder | None = None
    beam: int | None = None
    precision: Precision = "32-true"
    mean: Mean = "probabilities"

    @property
    def names(self) -> list[str]:
        """The paths."""
        return self.paths

    @property
    def settings(self) -> dict[str, Any]:
        """Decoder, precision, and a beam or a mean where it is not the usual one."""
        unusual: dict[str, Any] = {} if self.beam is None else {"beam": self.beam}
        unusual |= {} if self.mean == "probabilities" else {"mean": self.mean}
        return {"decoder": self.decoder, "precision": self.precision, **unusual}

    def digests(self) -> dict[str, Any]:
        """SHA-256 of the files."""
        return {"checkpoint": [digest(path) for path in self.paths]}

    def open(self, device: str) -> ModelVictim:
        """Load the models."""
        models = load_models(self.paths, self.decoder, self.beam, device, self.mean)
        if models[0].device.type == "cuda":
            torch.cuda.set_device(models[0].device)  # where other models go that take a GPU
        return ModelVictim(models, self.precision)


@dataclass(frozen=True)
class NamedVictim:
    """A victim of a class that is named, as by ``--victim``."""

    part: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """The class's own name."""
        return [str(self.part["class_path"]).rpartition(".")[2]]

    @property
    def settings(self) -> dict[str, Any]:
        """Class and arguments."""
        return {"victim": self.part}

    def digests(self) -> dict[str, Any]:
        """SHA-256 of the files that its arguments name."""
        return {"victim": recipe_digests(self.part)}

    def open(self, device: str) -> BlackBox:
        """Make it."""
        victim: BlackBox = made(BlackBox, self.part)
        if not hasattr(victim, "task"):
            found = f"{self.names[0]} does not call the constructor of BlackBox"
            raise InputError(found, key="victim", remedy="call super().__init__(...) in its own")
        return victim


@dataclass(frozen=True)
class GivenVictim:
    """A victim that was made in Python; two functions of one name are not told apart."""

    victim: AnsweringVictim

    @property
    def names(self) -> list[str]:
        """Classes of models, or what a black box calls itself."""
        if isinstance(self.victim, ModelVictim):
            return [type(model).__name__ for model in self.victim.models]
        return [str(getattr(self.victim, "name", type(self.victim).__name__))]

    @property
    def settings(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def digests(self) -> dict[str, Any]:
        """SHA-256 of models: of their weights, and of arguments such as the decoder or the beam."""
        if not isinstance(self.victim, ModelVictim):
            return {}
        return {"checkpoint": [_model_digest(model) for model in self.victim.models]}

    def open(self, device: str) -> AnsweringVictim:
        """Return it, where it is."""
        return self.victim


VictimSource = Checkpoints | NamedVictim | GivenVictim
"""Its properties are what ``run.json`` says of the victim; ``open`` returns it on a device."""


def known_to(victim: object) -> Known:
    """Return what a victim knows about tables: its labels and the columns of its training data."""
    if isinstance(victim, ModelVictim):
        return Known(victim.model.data_columns, victim.model.vocabulary.labels)
    return Known(labels=getattr(victim, "labels", None))


def command_source(
    checkpoint: Paths | None,
    part: dict[str, Any] | None,
    decoder: Decoder | None,
    beam: int | None,
    precision: Precision,
    mean: Mean = "probabilities",
) -> Checkpoints | NamedVictim:
    """Return the victim of a command, which names checkpoints or a class.

    Raises:
        InputError: it names both or neither, or says how to decode with a victim that is no model.
    """
    if (checkpoint is None) == (part is None):
        found = "neither is given" if part is None else "both are given"
        raise InputError(found, key="--checkpoint, --victim", expected="exactly one of them")
    if checkpoint is not None:
        return Checkpoints(as_list(checkpoint), decoder, beam, precision, mean)
    given = {
        "--decoder": decoder is not None,
        "--beam": beam is not None,
        "--precision": precision != "32-true",
        "--mean": mean != "probabilities",
    }
    for key in [key for key, unusual in given.items() if unusual]:
        raise InputError("is of models, not of a --victim", key=key, remedy="leave it out")
    return NamedVictim(part or {})


@dataclass(frozen=True)
class DataFile:
    """A file, or a split of the sample; fields are options of ``attack``."""

    name: str
    seed: int = 0
    limit: int | None = None
    fraction: float = 1.0
    unit: FractionOf = "sentences"
    max_length: int = MAX_LENGTH
    columns: list[str] | None = None
    split: str = "test"
    tagger: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Limit, fraction and tagger."""
        tagger = {} if self.tagger is None else {"tagger": self.tagger}
        return {"limit": self.limit, "fraction": self.fraction, **tagger, "fraction_of": self.unit}

    def digest(self) -> str:
        """SHA-256 of the file."""
        return digest(self.name)

    def read(self, task: Task, known: Known = Known()) -> list[Example]:  # noqa: B008
        """Return the sentences, as a task reads them.

        Args:
            task: of their gold answers.
            known: what is known of the file before it is read.

        Raises:
            InputError: the file cannot be used, or a number is out of range.
        """
        check_seed("--seed", self.seed)
        for option, value in (("--limit", self.limit), ("--max_length", self.max_length)):
            if value is not None and value < 1:
                raise InputError(f"must be >= 1, got {value}", key=option)
        if self.tagger is not None:
            check_tagger(self.tagger)
        check_fraction("--tokens" if self.unit == "tokens" else "--fraction", self.fraction)
        if self.name == SAMPLE:
            whole = task.sample(self.seed, self.split)
        else:
            check_ending(self.name, task)
            whole = task.read(
                self.name,
                self.max_length,
                limit="--max_length",
                columns=self.columns,
                known=known,
            )
        lengths = [len(example.sentence) for example in whole]
        kept = draw_fraction(lengths, self.fraction, self.unit, self.seed)
        return [whole[index] for index in kept][: self.limit]

    def examples(self, victim: AnsweringVictim, punctuation: PunctuationPolicy) -> list[Example]:
        """Read the file as the victim's task does; ``punctuation`` says which words count.

        Raises:
            InputError: see `read` and `tagger_named`; or the victim cannot read a sentence, or its
                words cannot be counted.
        """
        examples = self.read(victim.task, known_to(victim))
        if self.tagger is not None:
            examples = with_tags(examples, victim.task, tagger_named(self.tagger))
        victim.task.check(examples, self.name, victim.check, punctuation)
        return examples

    def check(self, examples: Sequence[Example], task: Task, attack: Attack) -> None:
        """Name the line."""
        task.check(examples, self.name, attack.check)


@dataclass(frozen=True)
class GivenExamples:
    """Sentences that are in memory, the first ``limit`` of them."""

    given: Sequence[Example]
    limit: int | None = None
    name: str = "examples"

    @property
    def settings(self) -> dict[str, Any]:
        """The limit."""
        return {"limit": self.limit}

    def digest(self) -> str:
        """SHA-256 of all that they hold."""
        return hashlib.sha256(repr(list(self.given)).encode()).hexdigest()

    def examples(self, victim: AnsweringVictim, punctuation: PunctuationPolicy) -> list[Example]:
        """Take and check them.

        Raises:
            InputError: an id is no number or is repeated, a gold answer has another type than the
                victim's answers, or the victim cannot read a sentence.
        """
        check_least("attack", limit=self.limit)
        examples = list(self.given)[: self.limit]
        expected, first = victim.task.gold_type, dict[int, int]()
        for number, example in enumerate(examples, start=1):
            key = f"{self.name}: sentence {number}"
            if type(example.id) is not int or example.id < 0:
                raise InputError(
                    f"has the id {example.id!r:.40}", key=key, expected="a number >= 0"
                )
            if (earlier := first.setdefault(example.id, number)) != number:
                raise InputError(
                    f"has the id {example.id}, as sentence {earlier}",
                    key=key,
                    expected="an id of its own",
                    remedy="number them: [replace(e, id=i) for i, e in enumerate(examples)]",
                )
            if not isinstance(example.gold, expected):
                found = f"its gold answer is {example.gold!r:.40}"
                raise InputError(found, key=key, expected=f"a {expected.__name__}")
        victim.check(examples)
        return examples

    def check(self, examples: Sequence[Example], task: Task, attack: Attack) -> None:
        """Name the sentence."""
        attack.check(examples)


DataSource = DataFile | GivenExamples
"""Its properties are what ``run.json`` says of the data; ``examples`` returns the sentences."""


def _model_digest(model: Model) -> str:
    names = [*inspect.signature(type(model).__init__).parameters, "mean"]
    arguments = {name: getattr(model, name, None) for name in names}
    plain = {key: one for key, one in arguments.items() if isinstance(one, int | float | str)}
    found = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name, weight in model.state_dict().items():
        found.update(name.encode())
        found.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()
