"""``robustparse augment``: adversarial copies of training sentences, to train on besides them.

Zheng et al. (2020, section 3.4) attack a random half of the training sentences and add every copy,
the unchanged ones too (``--share 0.5 --keep all``); Wang et al. (2021) attack all and add the
changed ones. The attack runs in a folder beside the copies, where it goes on after a stop.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from robustparse.attacks.attack import Attack
from robustparse.cli.common.job import Job
from robustparse.cli.common.tables import summary_table
from robustparse.data.conllu import file_ending
from robustparse.data.datamodule import MAX_LENGTH, SAMPLE
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import Summary, perturbed
from robustparse.evaluation.lines import EXAMPLES, read_lines
from robustparse.files import write_text, written
from robustparse.models.dependency.decoders import Decoder
from robustparse.models.victim import Precision
from robustparse.tasks.task import Task
from robustparse.types import Example


def augment(
    attack: Attack,
    checkpoint: str,
    data: str,
    out: str,
    share: float | None = None,
    tokens: float | None = None,
    keep: Literal["changed", "all"] = "changed",
    limit: int | None = None,
    seed: int | None = None,
    decoder: Decoder | None = None,
    device: str = "auto",
    devices: int = 1,
    precision: Precision = "32-true",
    max_length: int = MAX_LENGTH,
) -> None:
    """Write adversarial copies of training sentences; run again with the same --out, it goes on.

    Args:
        attack: a recipe, for example configs/attack/zheng2020_blackbox.yaml.
        checkpoint: the parser to attack.
        data: a CoNLL-U or CoNLL-X file, or ``sample`` for the embedded training sentences.
        out: file of the copies, in the data's format and with its gold trees; figures go into a
            .json file beside it, the attack into an .attack folder.
        share: copy only this share of the sentences, drawn at random from the seed.
        tokens: instead: sentences drawn until they hold this share of the words.
        keep: copies that the attack changed, or all.
        limit: attack only so many sentences, from the front.
        seed: of the attack's random choices, and of the sample's grammar; by default the recipe's
            own (0 if it has none).
        decoder: instead of the one the parser was trained with.
        device: where the parser computes: auto, cpu or cuda.
        devices: over how many processes the sentences are shared, as with ``attack``. The copies
            do not depend on it.
        precision: of the parser's passes, as with ``attack``.
        max_length: longest allowed sentence of the data, in words; a longer one is an error.
    """


class AugmentJob(Job):
    """The attack that makes the copies, in a folder beside them."""

    split = "train"

    @staticmethod
    def function() -> Callable[..., None]:
        """See `Job.function`."""
        return augment

    @property
    def folder(self) -> Path:
        """See `Job.folder`."""
        return Path(self.given["out"]).with_suffix(".attack")

    def drawn(self) -> dict[str, Any]:
        """See `Job.drawn`."""
        share, tokens = self.given["share"], self.given["tokens"]
        if share is not None and tokens is not None:
            raise InputError("--share counts sentences and --tokens words; give one of them")
        if tokens is not None:
            return {"share": tokens, "share_of": "tokens"}
        return {"share": 1.0 if share is None else share, "share_of": "sentences"}


def command(arguments: Sequence[str]) -> None:
    """Parse options, run, print a table."""
    job = AugmentJob.of(arguments)
    given, drawn = job.given, job.drawn()
    out = _checked_out(Path(given["out"]), given["data"])
    done = job.attacked()
    if done is None:
        return
    lines = read_lines(job.folder / EXAMPLES)
    made = _write_copies(out, done.task, done.examples, lines, given["keep"])
    report = {**done.summary, "data": given["data"], **drawn, "keep": given["keep"], **made}
    write_text(out.with_suffix(".json"), json.dumps(report, indent=2) + "\n")
    Console().print(summary_table({Path(given["checkpoint"]).stem: done.summary}))
    Console().print(f"{made['n_copies']} copies in {out}", soft_wrap=True)


def _write_copies(
    out: Path,
    task: Task,
    examples: Sequence[Example],
    lines: Sequence[dict[str, Any]],
    keep: Literal["changed", "all"],
) -> Summary:
    """Write the copies; how many there are, their words, and how many of them are changed."""
    kept = [line for line in lines if line["edited"] or keep == "all"]
    with written(out) as file:
        file.writelines(perturbed(task, examples, kept))
    return {
        "n_copies": len(kept),
        "n_copied_words": sum(len(line["tokens"]) for line in kept),
        "n_changed": sum(bool(line["edited"]) for line in kept),
    }


def _checked_out(out: Path, data: str) -> Path:
    """Refuse a name of another format, and the data's own."""
    expected = file_ending(data)
    if file_ending(out) != expected or not out.suffix.startswith(".conll"):
        raise InputError(
            f"--out {out}: the copies are in the format of {data}; name a file that ends in "
            f"{expected}"
        )
    if data != SAMPLE and out.exists() and Path(data).exists() and out.samefile(data):
        raise InputError(f"--out {out}: that is the data itself; name another file")
    return out
