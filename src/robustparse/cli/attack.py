"""``robustparse attack``: attack a checkpoint on a data file, into a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from robustparse.attacks.attack import Attack
from robustparse.cli.common.job import Job
from robustparse.cli.common.tables import summary_table
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.models.dependency.decoders import Decoder
from robustparse.models.victim import Precision


def attack(
    attack: Attack,
    checkpoint: str,
    data: str,
    out: str,
    limit: int | None = None,
    seed: int | None = None,
    decoder: Decoder | None = None,
    share: float = 1.0,
    device: str = "auto",
    devices: int = 1,
    precision: Precision = "32-true",
    max_length: int = MAX_LENGTH,
) -> None:
    """Attack a checkpoint on a data file; run again on the same folder, it goes on.

    Args:
        attack: a recipe, for example configs/attack/zheng2020_blackbox.yaml.
        checkpoint: the parser to attack.
        data: a CoNLL-U or CoNLL-X file, or ``sample`` for the embedded test sentences.
        out: folder for examples.jsonl, adversarial.conllu (or .conllx) and summary.json.
        limit: attack only so many sentences, from the front.
        seed: of the attack's random choices, and of the sample's grammar; by default the recipe's
            own (0 if it has none).
        decoder: instead of the one the parser was trained with.
        share: attack only this share of the sentences, drawn at random from the seed.
        device: where the parser computes: auto, cpu or cuda.
        devices: over how many processes the sentences are shared: GPUs if device takes one,
            else processes on the CPU. Results do not depend on it. Under torchrun the processes
            are those it has started.
        precision: of the parser's passes, those that are scored too; bf16-mixed is faster on
            processors with bfloat16 products, and may move a head here and there.
        max_length: longest allowed sentence of the data, in words; a longer one is an error.
    """


class AttackJob(Job):
    """An attack that is an end in itself."""

    split = "test"

    @staticmethod
    def function() -> Callable[..., None]:
        """See `Job.function`."""
        return attack

    @property
    def folder(self) -> Path:
        """See `Job.folder`."""
        return Path(self.given["out"])

    def drawn(self) -> dict[str, Any]:
        """See `Job.drawn`."""
        return {"share": self.given["share"]}


def command(arguments: Sequence[str]) -> None:
    """Parse options, run, print a table."""
    job = AttackJob.of(arguments)
    done = job.attacked()
    if done is not None:
        Console().print(summary_table({Path(job.given["checkpoint"]).stem: done.summary}))
