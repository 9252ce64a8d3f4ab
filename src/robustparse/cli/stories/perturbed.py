"""The story of perturbations (Huang et al. 2021): train, perturb, score, augment, train again.

The operations are those of the paper that need no model and no file: function words are put in,
left out and exchanged, and other words are exchanged for some of the same class of the sample's
grammar. Every value it prints comes from the files it writes.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.table import Table

from robustparse.api.tables import terminal
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.cli.augment import TRIES
from robustparse.cli.evaluate import write_scores
from robustparse.cli.stories.subject import Subject
from robustparse.data.datamodule import SAMPLE
from robustparse.data.fractions import draw_fraction
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.evaluation.lines import SCORES
from robustparse.evaluation.pairs import checked_pairs, pair_outcomes, pairs_report
from robustparse.evaluation.perturbed import perturbed
from robustparse.files import make_folder, written
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim
from robustparse.perturbations.function_words import Deletion, FunctionWordSubstitution, Insertion
from robustparse.perturbations.perturbation import Perturbation, plain_name
from robustparse.perturbations.synonyms import WordSubstitution
from robustparse.randomness import mixed_seed
from robustparse.reports.page import build_report
from robustparse.reports.tables.evaluated import read_scores
from robustparse.reports.tables.pairs import PairScores, pairs_tables, summarize_pairs
from robustparse.tasks.task import Task
from robustparse.types import Example


class PerturbationStory(NamedTuple):
    """Trains a model, and another one on perturbed copies too; scores both on perturbed texts.

    Args:
        subject: what is trained.
        fraction: of the training texts that each operation copies (Huang et al. 2021: 0.2).
        epochs: of either training, as in the paper.
        rate: learning rate.
        defense: what ``--defense`` calls training on copies.
    """

    subject: Subject
    fraction: float
    epochs: int
    rate: float
    defense: str = "augmentation"

    def tell(self, folder: Path, seed: int, defended: bool) -> None:
        """Train and score both models; print what it does, and the scores.

        Args:
            folder: gets clean/ and augmented/ (or control/), a checkpoint and ``scores.json`` each;
                perturbed/ and copies/, a file for each operation; and report.html.
            seed: of data, models and operations.
            defended: otherwise the second model takes as many steps on the sample only, for
                comparison.
        """
        console, subject = terminal(), self.subject
        fit = partial(subject.fit, learning_rate=self.rate)
        console.print(f"[1/4] training a {subject.model} on the sample {subject.sample}")
        clean = fit(folder / "clean", subject.data(seed=seed), self.epochs)
        task, operations = load(clean).task, self._operations(seed)
        many = f"{len(operations)} operations"
        console.print(f"[2/4] scoring it on test {subject.sample} perturbed by {many}")
        pairs = _write_pairs(folder / "perturbed", task, operations, seed)
        _score(clean, pairs, seed)
        copies, longer = self._write_copies(folder / "copies", task, operations, seed)
        share = f"{self.fraction:.0%}".replace("%", " %")
        if defended:
            what = f"perturbed copies ({share} for each operation)"
            console.print(f"[3/4] training another {subject.model}, on {what} too")
            data = subject.data(seed=seed, augmented_files=copies, vocabulary_of="merged")
            other = fit(folder / "augmented", data, self.epochs)
        else:
            what = "for as many steps as copies would take"
            console.print(f"[3/4] training another {subject.model}, {what}")
            other = fit(folder / "control", subject.data(seed=seed), round(longer * self.epochs))
        console.print("[4/4] scoring it on the same perturbed texts")
        _score(other, pairs, seed)
        folders = [clean.parent, other.parent]
        build_report(folders, folder / "report.html")
        scores = (read_scores(each, each.name)[0] for each in folders)
        found = [one for one in scores if one is not None]
        console.print(_table(found, f"sample {subject.sample}, test split"))
        console.print(summarize_pairs(found))
        console.print(f"Report: {folder / 'report.html'}")

    def _operations(self, seed: int) -> list[Perturbation]:
        words = Lexicon(self.subject.lexicon(seed))
        exchanged = WordSubstitution(words, top=_ALL, best=_ALL)
        return [Insertion(), Deletion(), FunctionWordSubstitution(), exchanged]

    def _write_copies(
        self, folder: Path, task: Task, operations: Sequence[Perturbation], seed: int
    ) -> tuple[list[str], float]:
        """Write copies of training texts, other ones for each operation.

        Returns:
            The files; and how many texts there are with them for one without.
        """
        train = task.sample(seed, "train")
        lengths = [len(example.sentence) for example in train]
        files, texts = [], len(train)
        for number, operation in enumerate(operations, start=1):
            own = mixed_seed(seed, number)
            drawn = [train[at] for at in draw_fraction(lengths, self.fraction, "sentences", own)]
            copies = _copies(task, operation, drawn, own)
            path = make_folder(folder) / f"{plain_name(type(operation))}.tsv"
            with written(path) as file:
                file.writelines(map(task.write, copies))
            files.append(str(path))
            texts += len(copies)
        return files, texts / len(train)


_ALL = 1 << 10  # more substitutes than the lexicon has for a word: all of them keep the answer


def _copies(
    task: Task, operation: Perturbation, examples: Sequence[Example], seed: int
) -> list[Example]:
    return [one.example for one in perturbed(task, [operation], examples, seed, tries=TRIES)]


def _write_pairs(folder: Path, task: Task, operations: Sequence[Perturbation], seed: int) -> Path:
    """Write a file of perturbed test texts for each operation, see `pairs`; return the folder."""
    test = task.sample(seed, "test")
    for operation in operations:
        with written(make_folder(folder) / f"{plain_name(type(operation))}.tsv") as file:
            copies = _copies(task, operation, test, seed)
            pairs = ((copy, test[copy.id].sentence.words) for copy in copies)
            file.writelines(task.pairs_file(pairs))
    return folder


def _score(checkpoint: Path, pairs: Path, seed: int) -> None:
    """Score a model on the test split and on perturbed texts, as `evaluate` does."""
    model = load(checkpoint)
    test, task = model.task.sample(seed, "test"), model.task
    about = {"task": task.name, "checkpoints": [checkpoint.name], "data": SAMPLE, "seed": seed}
    victim = ModelVictim([model])
    reworded = pairs_report(pair_outcomes(victim, checked_pairs(victim, pairs, test)))
    scores = scores_of(task, predictions(victim, test), test, "none") | reworded
    write_scores(checkpoint.parent / SCORES, {**about, "n_sentences": len(test), **scores})


def _table(systems: Sequence[PairScores], title: str) -> Table:
    """Put the tables of the report below each other, the title of each above its rows."""
    tables = pairs_tables(systems)
    whole = Table(title=title, box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    first, *others = tables[0].heads
    whole.add_column(first.lower(), overflow="fold")
    for head in others:
        whole.add_column(head.lower(), justify="right", no_wrap=True)
    for table in tables:
        whole.add_row(f"{table.title.lower()}, %")
        for name, cells in table.rows:
            whole.add_row(f"  {name}", *cells)
    return whole
