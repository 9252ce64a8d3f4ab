"""Results of an attack: a table when printed, pictures in a notebook, rows for pandas."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from markupsafe import Markup

from robustparse.api.printed_tables import as_text, rounded, score_table, summary_table
from robustparse.errors import optional_library
from robustparse.evaluation.finished_folders import read_finished
from robustparse.evaluation.records import WHEN, ExampleRecord
from robustparse.files.paths import with_home
from robustparse.metrics import score_name
from robustparse.reports.attacked_systems import most_telling, read_folder
from robustparse.reports.page import falls_of, losses_of, render
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task
from robustparse.types import Prediction

NOTHING = "-"  # in the place of a word that was left out
SHOWN = 3  # number of sentences that a notebook draws


class AttackedExample:
    """One sentence before and after an attack.

    Attributes:
        record: its line of ``examples.jsonl``.
    """

    def __init__(self, task: Task, record: ExampleRecord) -> None:
        self.task, self.record = task, record

    @property
    def id(self) -> int:
        """The example's id."""
        return int(self.record["id"])

    @property
    def words(self) -> list[str]:
        """The words of the original sentence."""
        return list(self.record["tokens"])

    @property
    def adversarial(self) -> list[str]:
        """The words after the attack."""
        return list(self.record["adversarial_tokens"])

    @property
    def edited(self) -> list[int]:
        """Positions of the changed words, from 0."""
        return list(self.record["edited"])

    @property
    def success(self) -> bool:
        """Whether a change reached the attack's goal."""
        return bool(self.record["success"])

    @property
    def gold(self) -> Any:
        """The gold answer."""
        return self.task.answers.from_record(self.record["gold"])

    @property
    def clean(self) -> Any:
        """The victim's answer to the original sentence."""
        return self.task.answers.from_record(self.record["clean"])

    @property
    def attacked(self) -> Any:
        """The victim's answer to the sentence after the attack."""
        return self.task.answers.from_record(self.record["attacked"])

    def __repr__(self) -> str:
        after = [
            f"[{word} -> {new or NOTHING}]" if at in self.edited else word
            for at, (word, new) in enumerate(zip(self.words, self.adversarial, strict=True))
        ]
        scores = []
        for score in self.task.scores.names:
            values = [self.record[when][score] for when in WHEN]
            before, now = map(rounded, values)
            scores.append(f"{score_name(score)} {before} -> {now}")
        return f"{self.id}: {' '.join(after)} ({', '.join(scores)})"

    def _repr_html_(self) -> str:
        picture = Markup(self.task.pictures.draw(self.record))
        return render(
            "notebook", part="sentence", task=self.task, record=self.record, picture=picture
        )


class AttackResults(Sequence[AttackedExample]):
    """The sentences and scores of an attack, from the folder that it wrote.

    They are printed as a table; a notebook also shows the most telling sentences.

    Args:
        folder: the folder of a finished attack.
        name: the victim's name in tables; by default the folder's.

    Attributes:
        task: the victim's task.
        summary: the content of ``summary.json``.
        lines: the records of ``examples.jsonl``, sorted by id.

    Raises:
        InputError: the folder is missing or malformed.
    """

    def __init__(self, folder: str | Path, name: str = "") -> None:
        self.folder = with_home(folder)
        self.name = name or self.folder.resolve().name
        self.summary, self.lines = read_finished(self.folder)
        self.task = named(self.summary["task"])

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[AttackedExample]:
        return (AttackedExample(self.task, record) for record in self.lines)

    @overload
    def __getitem__(self, index: int) -> AttackedExample: ...

    @overload
    def __getitem__(self, index: slice) -> list[AttackedExample]: ...

    def __getitem__(self, index: int | slice) -> AttackedExample | list[AttackedExample]:
        if isinstance(index, slice):
            return [AttackedExample(self.task, record) for record in self.lines[index]]
        return AttackedExample(self.task, self.lines[index])

    @property
    def successes(self) -> list[AttackedExample]:
        """The sentences on which the attack reached its goal."""
        return [example for example in self if example.success]

    def to_pandas(self) -> Any:
        """Return a ``DataFrame`` with a row for each sentence, indexed by id.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = optional_library("pandas", "to_pandas", "run `pip install pandas`")
        scored = [(when, score) for when in WHEN for score in self.task.scores.names]
        rows = [
            {
                "original": " ".join(record["tokens"]),
                "adversarial": " ".join(filter(None, record["adversarial_tokens"])),
                "edits": len(record["edited"]),
                "skipped": record["skipped"],
                "success": record["success"],
                "queries": record["queries"]["charged"],
                **{f"{when}_{score}": record[when][score] for when, score in scored},
            }
            for record in self.lines
        ]
        index = pandas.Index([record["id"] for record in self.lines], name="id")
        return pandas.DataFrame(rows, index=index)

    def __repr__(self) -> str:
        title = f"{self.summary['attack']}, {len(self)} sentences"
        return as_text(summary_table({self.name: self.summary}, title))

    def _repr_html_(self) -> str:
        system = read_folder(self.folder, self.name)
        pictures = [
            (each.record, Markup(self.task.pictures.draw(each.record)))
            for _, each in most_telling([system], SHOWN)
        ]
        scores = {"rows": [system], "falls": falls_of([system]), "losses": losses_of([system])}
        return render(
            "notebook", part="results", **scores, saved=[], task=self.task, examples=pictures
        )


class Scores(dict[str, float | None]):
    """Scores by name, in percent; None where nothing was counted.

    Attributes:
        name: the victim's name.
        predictions: the answers that were scored.
    """

    def __init__(
        self,
        name: str,
        scores: Mapping[str, float | None],
        predictions: Sequence[Prediction] = (),
    ) -> None:
        super().__init__(scores)
        self.name, self.predictions = name, list(predictions)

    def __repr__(self) -> str:
        return as_text(score_table({self.name: self}))

    def _repr_html_(self) -> str:
        scores = {score_name(name): value for name, value in self.items()}
        return render("notebook", part="scores", name=self.name, scores=scores)


def attack_folders(attacked: Sequence[AttackResults | str | Path]) -> list[Path]:
    """Return the folders of results, and folders as they are.

    Raises:
        InputError: one of them is neither results nor a path.
    """
    several = [attacked] if isinstance(attacked, str | Path | AttackResults) else attacked
    return [each.folder if isinstance(each, AttackResults) else with_home(each) for each in several]
