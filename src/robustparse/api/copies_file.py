"""Write a file of changed copies of sentences, their summary and, if wanted, a dataset of pairs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from robustparse.api.data_sources import DataFile
from robustparse.data.datamodule import SAMPLE
from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.dataset_folder import Card, write_dataset
from robustparse.evaluation.shards import remove_record, write_shard
from robustparse.files.output_folders import check_no_input
from robustparse.files.writing import write_json, write_pieces, written
from robustparse.tasks.registry import pairs_of
from robustparse.tasks.task import Task
from robustparse.types import Example

Keep = Literal["changed", "all", "pairs"]
"""Which copies are written: changed ones, all, or pairs of a changed copy and its original."""

Copies = Iterable[tuple[Example, Sequence[str], bool]]
"""Copies, the words of their originals, and whether they are changed."""


class WrittenCopies(NamedTuple):
    """What was written.

    Attributes:
        summary: the content of the summary's file.
        dataset: the files of the dataset, if there is one.
    """

    summary: dict[str, Any]
    dataset: list[Path]


@dataclass(frozen=True)
class CopiesFile:
    """A file of copies.

    Args:
        path: the file.
        data: the file of the sentences.
        keep: which copies to write.
        license: the licence of the sentences, for the dataset of pairs, a folder that ends in
            .dataset; None writes none.

    Raises:
        InputError: a licence is given, but other copies than pairs are written.
    """

    path: Path
    data: DataFile
    keep: Keep = "changed"
    license: str | None = None

    def __post_init__(self) -> None:
        if self.license is not None and self.keep != "pairs":
            problem, remedy = f"a dataset holds pairs, got --keep {self.keep}", "set --keep pairs"
            raise InputError(problem, key="--format", remedy=remedy)

    def check(self, task: Task) -> None:
        """Check that the name of the file fits the data's format and is not a data file.

        Raises:
            InputError: it does not fit, or is a data file.
        """
        expected = task.files.ending(self.data.names[0])
        if self.path.suffix.lower() != expected:
            raise InputError(
                f"copies of {self.data.name} are written in the format {expected}",
                path=self.path,
                key="--out",
                remedy=f"name a file that ends in {expected}",
            )
        if self.data.names != (SAMPLE,):
            check_no_input(self.path, self.data.names, key="--out")

    def write(
        self,
        task: Task,
        copies: Copies,
        origin: Mapping[str, Any],
        card: Card | None,
        operated: Mapping[str, int] | None = None,
    ) -> WrittenCopies:
        """Write the copies, the summary (`summary_beside`) and the dataset.

        Args:
            task: the task of the gold answers.
            copies: the copies.
            origin: the settings of the operations, or the summary of the attack.
            card: the card of the dataset; None to write none.
            operated: counts of the examples, of those without a copy and of dissimilar copies;
                None if an attack made the copies, whose summary `merge` reads from its folder.

        Raises:
            InputError: no copy was made (a shard may have none), or the file cannot be written.
        """
        data, rows = self.data, list[dict[str, Any]]()
        counts = {"n_copies": 0, "n_copied_words": 0, "n_changed": 0}

        def counted() -> Iterator[tuple[Example, Sequence[str]]]:
            for copy, original, changed in copies:
                copy = task.files.as_copy(copy)
                counts["n_copies"] += 1
                counts["n_copied_words"] += len(copy.sentence)
                counts["n_changed"] += changed
                if card is not None:
                    rows.append(_row(copy, original))
                yield copy, original
            if data.shard is None:
                check_copies(self.path, counts["n_copies"])

        with written(self.path) as file:
            remove_record(self.path)
            if self.keep == "pairs":
                pieces = pairs_of(task, "set --keep changed").pairs(counted())
            else:
                pieces = task.files.write_all((copy, None, None) for copy, _ in counted())
            head = write_pieces(file, pieces)
        drawn = {
            "data": data.recorded,
            "fraction": data.fraction,
            "fraction_of": data.unit,
            "keep": self.keep,
        }
        sums = {"examples": operated or {}, "copies": counts}
        summary = copies_summary(origin, drawn, sums)
        write_json(summary_beside(self.path), summary)
        if data.shard is not None:
            attacked = operated is None
            run = {"attack": attacked, "made": {} if attacked else origin, "drawn": drawn}
            run |= {"limit": data.limit, "columns": data.columns, "sha256": {"data": data.digest()}}
            write_shard(self.path, "augment", str(data.shard), task, run, sums, {"": head})
        dataset = list[Path]()
        if card is not None:
            dataset = write_dataset(self.path.with_suffix(".dataset"), rows, card)
        return WrittenCopies(summary, dataset)


def check_copies(out: Path, copies: int) -> None:
    """Check that there are copies.

    Raises:
        InputError: there is none.
    """
    if not copies:
        raise InputError(
            "nothing was changed, so there is no copy to write",
            path=out,
            remedy="choose other operations or another attack, or --keep all",
        )


def _row(copy: Example, original: Sequence[str]) -> dict[str, Any]:
    """Return the row of a pair in a dataset."""
    context = copy.sentence.context
    return {
        "id": copy.id,
        **({"context": " ".join(context)} if context else {}),
        "original": " ".join(original),
        "perturbed": " ".join(filter(None, copy.sentence.words)),
        "answer": str(copy.gold),
    }


def copies_summary(
    origin: Mapping[str, Any], drawn: Mapping[str, Any], sums: Sums
) -> dict[str, Any]:
    """Return the content of the summary.

    Args:
        origin: the settings of the operations, or the summary of the attack.
        drawn: the data, what was drawn of them, and which copies are kept.
        sums: counts of ``examples`` and ``copies``.
    """
    return {**origin, **sums["examples"], **drawn, **sums["copies"]}


def attack_folder(out: Path) -> Path:
    """Return the folder of the attack that makes a file of copies."""
    return out.with_suffix(".attack")


def summary_beside(out: Path) -> Path:
    """Return the file of the summary of a file of copies."""
    return out.with_name(f"{out.name}.summary.json")
