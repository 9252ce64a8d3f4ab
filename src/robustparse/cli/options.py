"""Options that several commands share."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import Paths
from robustparse.api.victim_sources import DECODING, Checkpoints, NamedVictim
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.data.fractions import FractionOf
from robustparse.data.shard import Shard
from robustparse.errors import InputError, check_least
from robustparse.models.load import Decoder
from robustparse.models.mean_scores import Mean
from robustparse.models.victim import Precision
from robustparse.victims.black_box import BlackBox

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def as_list(value: Any) -> list[Any]:
    """Return a setting of one value or several as a list; None is an empty one."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def check_distinct(key: str, values: Sequence[Any]) -> None:
    """Check that an option, or two, name nothing twice.

    Raises:
        InputError: names the first value that repeats an earlier one.
    """
    for number, value in enumerate(values):
        if value in values[:number]:
            raise InputError(f"got {value} twice", key=key, remedy="name each once")


def are_set(options: "DataclassInstance") -> Iterator[str]:
    """Yield the names of the options that differ from their defaults."""
    for field in fields(options):
        if getattr(options, field.name) != field.default:
            yield field.name


def refuse(
    options: "DataclassInstance", problem: str, remedy: str, names: Collection[str] | None = None
) -> None:
    """Reject options that are set and have no effect.

    Args:
        options: a group of options.
        problem: the message: when these options apply.
        remedy: what the user can do.
        names: those without effect; by default all of the group.

    Raises:
        InputError: names the first of them.
    """
    for name in are_set(options):
        if names is None or name in names:
            raise InputError(problem, key=f"--{name}", remedy=remedy)


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """How and where models compute their answers."""

    decoder: Decoder | None = None
    """the decoder of a parser, instead of the one it was trained with."""
    beam: int | None = None
    """hypotheses that beam search keeps, instead of as many as in training."""
    device: str = "auto"
    """where the models compute: auto, cpu or cuda."""
    precision: Precision = "32-true"
    """precision of all passes of the models; bf16-mixed is faster on processors with bfloat16
    products, and may change a few answers."""
    mean: Mean = "probabilities"
    """what the models of an ensemble average: probabilities, or logits, which amounts to the
    geometric mean of their probabilities."""

    def checkpoints(self, paths: Paths) -> Checkpoints:
        """Return models that compute with these options."""
        return Checkpoints(paths, self.decoder, self.beam, self.precision, self.mean)

    def only_system(self, paths: Paths) -> Checkpoints:
        """Return the only model or ensemble of a command.

        Raises:
            InputError: ``mean`` is set for one model.
        """
        if len(as_list(paths)) == 1:
            remedy = "leave it out, or give several checkpoints"
            refuse(self, "has no effect on one model", remedy, ("mean",))
        return self.checkpoints(paths)


@dataclass(frozen=True, kw_only=True)
class VictimOptions(DecodingOptions):
    """The model that is attacked or scored: either a checkpoint or a victim."""

    checkpoint: Paths | None = None
    """the model: a checkpoint, the folder of a training run (its best.ckpt, else its last.ckpt) or
    of a shared model, or a model on the Hugging Face hub (hf://OWNER/NAME); several make one
    ensemble."""
    victim: BlackBox | None = None
    """a model of another library, instead of a checkpoint: hf:FOLDER for a Hugging Face classifier,
    or a class that answers texts, such as robustparse.victims.Spacy or one of your own."""

    def source(self) -> Checkpoints | NamedVictim:
        """Return the source of the victim.

        Raises:
            InputError: both or neither are given, or an option does not apply to the victim.
        """
        if (self.checkpoint is None) == (self.victim is None):
            problem = "neither is given" if self.victim is None else "both are given"
            expected = "exactly one of them"
            raise InputError(problem, key="--checkpoint, --victim", expected=expected)
        if self.checkpoint is not None:
            return self.only_system(self.checkpoint)
        refuse(self, "applies to --checkpoint only", "leave it out", DECODING)
        return NamedVictim(getattr(self.victim, "made_from", None) or {})


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How texts are read."""

    max_length: int = MAX_LENGTH
    """words in the longest allowed sentence; a longer one is an error."""
    columns: list[str] | None = None
    """for texts in tables, the names of the columns of text and answer, such as '[review, stars]';
    by default those of the model's training data, or usual names."""


@dataclass(frozen=True, kw_only=True)
class DataOptions(TextOptions):
    """The sentences of a command, with their gold answers."""

    data: Paths
    """a data file; or several of one kind, which are read as one file in this order, also as quoted
    patterns, such as 'part-*.conllu' (matches are sorted by name); or ``sample`` for the built-in
    sentences: the test split, or in ``augment`` the training split."""
    limit: int | None = None
    """take only the first LIMIT sentences."""

    def file(
        self,
        seed: int,
        fraction: float = 1.0,
        unit: FractionOf = "sentences",
        split: str = "test",
        tagger: str | None = None,
    ) -> DataFile:
        """Return the files, of which a fraction is drawn with the seed.

        A shard is taken after the fraction and the limit.
        """
        return DataFile(
            self.data,
            seed,
            self.limit,
            fraction,
            unit,
            max_length=self.max_length,
            columns=self.columns,
            split=split,
            tagger=tagger,
            shard=self.parsed_shard(),
        )

    def parsed_shard(self) -> Shard | None:
        """Return None: all sentences are read."""
        return None


@dataclass(frozen=True, kw_only=True)
class ShardOptions:
    """How several runs or machines share the sentences of a command."""

    shard: str | None = None
    """I/N: take only the shard I of N equal ranges of these sentences, from 1; `robustparse merge`
    joins what the shards write."""
    engine: Literal["ray"] | None = None
    """ray: divide the sentences into blocks, on which actors of a Ray cluster work, and join their
    outputs."""
    address: str | None = None
    """with --engine ray, the address of the cluster; by default connects to RAY_ADDRESS, else a
    cluster on this machine, else starts one and stops it at the end."""
    blocks: int = 16
    """with --engine ray, the number of blocks, which are shards."""
    actors: int | None = None
    """with --engine ray, the most actors that work at the same time; by default as many as the
    cluster has CPUs and GPUs for."""
    gpus_per_actor: float = 0.0
    """with --engine ray, the GPUs of each actor: a fraction from 0 to 1, or a whole number; without
    any, actors use CPUs."""

    def __post_init__(self) -> None:
        check_least("--", blocks=self.blocks, actors=self.actors)
        gpus = self.gpus_per_actor
        if not (0.0 <= gpus <= 1.0 or (gpus > 1.0 and gpus.is_integer())):
            expected = "a fraction from 0 to 1, or a whole number"
            raise InputError(f"got {gpus}", key="--gpus_per_actor", expected=expected)
        if self.engine is None:
            remedy = "add --engine ray, or leave it out"
            of_ray = ("address", "blocks", "actors", "gpus_per_actor")
            refuse(self, "applies to --engine ray only", remedy, of_ray)

    def parsed_shard(self) -> Shard | None:
        """Return the shard that is read; None reads all sentences."""
        return None if self.shard is None else Shard.parse(self.shard)


@dataclass(frozen=True, kw_only=True)
class ShardedDataOptions(ShardOptions, DataOptions):
    """The sentences of a command that several runs can share."""


@dataclass(frozen=True, kw_only=True)
class TypedOptions:
    """Sentences that the user types, instead of --data and --out."""

    text: str | None = None
    """attack this sentence; blanks separate its words."""
    context: str | None = None
    """with --text, the premise for a classifier of pairs, which stays unchanged."""
    interactive: bool = False
    """attack the lines of standard input, one after another, until it ends; for a classifier of
    pairs, a line is a premise, a tab and a hypothesis."""


@dataclass(frozen=True, kw_only=True)
class AttackOptions:
    """How an attack runs."""

    seed: int | None = None
    """seed of all random choices and of the built-in sample; by default the recipe's seed (0 if it
    has none)."""
    devices: int = 1
    """the number of processes that share the sentences: one per GPU if device is a GPU, otherwise
    on the CPU. Results do not depend on it. Under torchrun the processes are those that it
    starts."""
    tagger: str | None = None
    """gives tags to sentences without any, such as texts: nltk, spacy or stanza, with a model after
    a colon (spacy:en_core_web_md). Utterances are tagged by their raw text."""
