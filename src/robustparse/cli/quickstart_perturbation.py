"""Quickstart with perturbations (Huang et al. 2021): train, perturb, score, augment, train again.

The operations need no model and no file: function words are inserted, deleted and substituted, and
other words are replaced by words of the same class in the sample's grammar. All values are read
from the files that are written.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from robustparse.api.augment import TRIES
from robustparse.api.printed_tables import plain_table, print_table, terminal
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.cli.quickstart_sample import Subject
from robustparse.data.datamodule import SAMPLE, Augmentation
from robustparse.data.fractions import draw_fraction
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.evaluation.finished_folders import read_scores
from robustparse.evaluation.pairs import checked_pairs, pair_outcomes, pairs_report
from robustparse.evaluation.perturbed import perturbed
from robustparse.evaluation.records import SCORES, ScoresRecord, versions
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_json, written
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim
from robustparse.perturbations.function_words import Deletion, FunctionWordSubstitution, Insertion
from robustparse.perturbations.perturbation import Perturbation, plain_name
from robustparse.perturbations.synonyms import WordSubstitution
from robustparse.randomness import mixed_seed
from robustparse.reports.evaluation_tables import pairs_tables, summarize_pairs
from robustparse.reports.page import build_report
from robustparse.tasks.registry import pairs_of
from robustparse.tasks.task import Task
from robustparse.types import Example


class PerturbationStory(NamedTuple):
    """Trains a model, and a second one on perturbed copies too; scores both on perturbed texts.

    Args:
        subject: the data and the model.
        fraction: the fraction of training texts that each operation copies (Huang et al. 2021:
            0.2).
        epochs: the epochs of each training, as in the paper.
        rate: the learning rate.
        defense: the name of training on copies for ``--defense``.
    """

    subject: Subject
    fraction: float
    epochs: int
    rate: float
    defense: str = "augmentation"

    def tell(self, folder: Path, seed: int, defended: bool) -> None:
        """Train and score both models; print the steps and the scores.

        Args:
            folder: gets clean/ and augmented/ (or control/), each with a checkpoint and
                ``scores.json``; perturbed/ and copies/, with a file for each operation; and
                report.html.
            seed: the seed of data, models and operations.
            defended: whether the second model trains on copies; otherwise it takes as many steps on
                the sample alone.
        """
        console, subject = terminal(), self.subject
        fit = partial(subject.fit, learning_rate=self.rate)
        console.print(f"[1/4] training a {subject.model} on the sample {subject.sample}")
        clean = fit(folder / "clean", subject.data(seed=seed), self.epochs)
        task = load(clean).task
        exchanged = WordSubstitution(Lexicon(subject.lexicon(seed)), top=_ALL, best=_ALL)
        operations = [Insertion(), Deletion(), FunctionWordSubstitution(), exchanged]
        many = f"{len(operations)} operations"
        console.print(f"[2/4] scoring it on test {subject.sample} perturbed by {many}")
        pairs = _write_pairs(folder / "perturbed", task, operations, seed)
        _score(clean, pairs, seed)
        copies, longer = self._write_copies(folder / "copies", task, operations, seed)
        share = f"{self.fraction:.0%}".replace("%", " %")
        if defended:
            what = f"perturbed copies ({share} for each operation)"
            console.print(f"[3/4] training another {subject.model}, on {what} too")
            data = subject.data(seed=seed, augmentation=Augmentation(copies, vocabulary="merged"))
            other = fit(folder / "augmented", data, self.epochs)
        else:
            what = "for as many steps as copies would take"
            console.print(f"[3/4] training another {subject.model}, {what}")
            other = fit(folder / "control", subject.data(seed=seed), round(longer * self.epochs))
        console.print("[4/4] scoring it on the same perturbed texts")
        _score(other, pairs, seed)
        folders = [clean.parent, other.parent]
        build_report(folders, folder / "report.html")
        systems = [read_scores(each, each.name) for each in folders]
        print_table(_table(systems, f"sample {subject.sample}, test split"))
        console.print(summarize_pairs(systems))
        console.print(f"Report: {folder / 'report.html'}")

    def _write_copies(
        self, folder: Path, task: Task, operations: Sequence[Perturbation], seed: int
    ) -> tuple[list[str], float]:
        """Write copies of training texts, each operation of its own random texts.

        Returns:
            The files; and (texts with copies) / (texts without copies).
        """
        train = task.files.sample(seed, "train")
        lengths = [len(example.sentence) for example in train]
        files, texts = [], len(train)
        for number, operation in enumerate(operations, start=1):
            drawn_seed = mixed_seed(seed, number)
            drawn = draw_fraction(lengths, self.fraction, "sentences", drawn_seed)
            copies = _copies(task, operation, [train[index] for index in drawn], drawn_seed)
            path = make_folder(folder) / f"{plain_name(type(operation))}.tsv"
            with written(path) as file:
                file.writelines(map(task.files.write, copies))
            files.append(str(path))
            texts += len(copies)
        return files, texts / len(train)


_ALL = 1 << 10  # more substitutes than the lexicon has for a word: all of them keep the answer


def _copies(
    task: Task, operation: Perturbation, examples: Sequence[Example], seed: int
) -> list[Example]:
    return [copy.example for copy in perturbed(task, [operation], examples, seed, tries=TRIES)]


def _write_pairs(folder: Path, task: Task, operations: Sequence[Perturbation], seed: int) -> Path:
    """Write a file of perturbed test texts for each operation, see `pairs`; return the folder."""
    test, files = task.files.sample(seed, "test"), pairs_of(task)
    for operation in operations:
        with written(make_folder(folder) / f"{plain_name(type(operation))}.tsv") as file:
            copies = _copies(task, operation, test, seed)
            pairs = ((copy, test[copy.id].sentence.words) for copy in copies)
            file.writelines(files.pairs(pairs))
    return folder


def _score(checkpoint: Path, pairs: Path, seed: int) -> None:
    """Score a model on the test split and on perturbed texts, as `evaluate` does."""
    model = load(checkpoint)
    test, task = model.task.files.sample(seed, "test"), model.task
    about = {"task": task.name, "checkpoints": [checkpoint.name], "data": SAMPLE, "seed": seed}
    victim = ModelVictim([model])
    reworded = pairs_report(pair_outcomes(victim, checked_pairs(victim, pairs, test)))
    scores = scores_of(task, predictions(victim, test), test, "none") | reworded
    content = {**about, "n_sentences": len(test), **scores, "versions": versions()}
    write_json(checkpoint.parent / SCORES, content)


def _table(systems: Sequence[ScoresRecord], title: str) -> Table:
    """Join the tables of the report; the title of each stands above its rows."""
    tables = pairs_tables(systems)
    first, *more = map(str.lower, tables[0].heads)
    whole = plain_table(title, [first], more)
    for table in tables:
        whole.add_row(f"{table.title.lower()}, %")
        for name, cells in table.rows:
            whole.add_row(f"  {name}", *cells)
    return whole
