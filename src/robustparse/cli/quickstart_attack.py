"""Quickstart with attacks: train, attack, train adversarially, attack again, certify both models.

All values are read from the files that are written.
"""

import json
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytorch_lightning as pl

from robustparse.api.printed_tables import print_table, summary_table, terminal
from robustparse.api.progress import attack_progress, certify_progress
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.exhaustion import Exhaustive
from robustparse.cli.quickstart_sample import Subject
from robustparse.defenses.robustness_evaluation import RobustnessEvaluation
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.attack_processes import attacked_records
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.certificate_folder import certify_into
from robustparse.evaluation.certificate_records import (
    CERTIFICATES,
    CertificateRun,
    CertifiedSummary,
)
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.records import EXAMPLES, RUN, SUMMARY, WHEN, RunRecord, Summary
from robustparse.files.writing import write_text
from robustparse.metrics import score_label, score_name
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim
from robustparse.reports.page import build_report

CURVE_SENTENCES = 200
CERTIFIED_SENTENCES = 100


class AttackStory(NamedTuple):
    """Trains a small model, attacks it, trains on against an online adversary, attacks again.

    Both models are certified at the end.

    Args:
        subject: the data and the model.
        constraints: the constraints of the attack.
        gamma: the attack's edit budget, a fraction of the words.
        curve: the other budgets of the curve.
        epochs: epochs of clean training; of fine-tuning with an adversary; and of fine-tuning
            without one, which take the same time.
        rates: learning rates of clean training and of fine-tuning.
        defense: the name of the adversary for ``--defense``.
    """

    subject: Subject
    constraints: tuple[Constraint, ...]
    gamma: float
    curve: tuple[float, ...]
    epochs: tuple[int, int, int]
    rates: tuple[float, float]
    defense: str = "substitution"

    def tell(self, folder: Path, seed: int, defended: bool) -> None:
        """Train and attack both models; print the steps and the scores.

        Args:
            folder: gets clean/ and robust/, each with a checkpoint, an attack and certificates; and
                report.html.
            seed: the seed of data, model and attack.
            defended: whether fine-tuning has an adversary.
        """
        console, subject = terminal(), self.subject
        usual = self._attack(Zheng2020(gamma=self.gamma), seed)
        monitor = partial(RobustnessEvaluation, usual, every_n_epochs=5, sentences=100, seed=seed)
        clean_epochs, robust_epochs, control_epochs = self.epochs
        console.print(f"[1/4] training a {subject.model} on the sample {subject.sample}")
        data = partial(subject.data, seed=seed)
        clean = subject.fit(
            folder / "clean", data(), clean_epochs, self.rates[0], callbacks=[monitor()]
        )
        budget = f"{self.gamma:.0%}".replace("%", " %")
        console.print(f"[2/4] attacking it: Zheng et al. 2020, black box, {budget} of the words")
        before = self._attacked(clean, usual, seed)
        how = "with an adversary in every batch" if defended else "without an adversary"
        console.print(f"[3/4] training on from there, {how}")
        callbacks: list[pl.Callback] = [monitor()]
        if defended:
            search = self._attack(RandomSubstitution(gamma=0.3, trials=2), seed)
            callbacks.insert(0, SubstitutionAdversary(search, fraction=0.5, seed=seed))
        epochs = robust_epochs if defended else control_epochs
        robust = subject.fit(
            folder / "robust", data(), epochs, self.rates[1], callbacks, init_from=clean
        )
        console.print("[4/4] attacking again, and certifying both")
        after = self._attacked(robust, usual, seed)
        certified = [self._certified(model, seed) for model in (clean, robust)]
        build_report([folder / "clean", folder / "robust"], folder / "report.html")
        title = f"sample {subject.sample}, test split"
        print_table(summary_table({"clean": before, "robust": after}, title, perturbed=False))
        score = load(robust).task.scores.headline
        console.print(self._verdict(score, before, after, defended))
        lower = [each["certified"]["all"]["lower"][score] or 0.0 for each in certified]
        console.print(
            f"Certified on {certified[0]['n_sentences']} sentences: with any number of words "
            f"replaced, each by one fixed substitute, {score_name(score)} is at least "
            f"{lower[0]:.1f} (clean) and {lower[1]:.1f} (robust)."
        )
        console.print(f"Report: {folder / 'report.html'}")

    def _attack(self, search: Search, seed: int) -> Attack:
        return Attack(
            candidates=Lexicon(self.subject.lexicon(seed)),
            search=search,
            constraints=list(self.constraints),
            seed=seed,
        )

    def _attacked(self, checkpoint: Path, attack: Attack, seed: int) -> Summary:
        """Attack the model on the test split, and for the curve at other budgets."""
        folder, model = checkpoint.parent, load(checkpoint)
        task, victim = model.task, ModelVictim([model])
        test, score = task.files.sample(seed, "test"), task.scores.headline
        _forget(folder)
        run: RunRecord = {
            "attack": "quickstart",
            "victims": [checkpoint.name],
            "seed": seed,
        }
        with attack_progress(len(test), "attack") as progress:
            summary = attack_into(folder, task, attack, test, victim, run, progress)
        # Every point of the curve comes from the same sentences.
        first = AttackSums(task).over(islice(read_records(folder / EXAMPLES), CURVE_SENTENCES))
        scores = first.scores()
        points = {0.0: scores["clean"][score], self.gamma: scores["attacked"][score]}
        for gamma in self.curve:
            other = self._attack(Zheng2020(gamma=gamma), seed)
            records = attacked_records(task, other, victim, test[:CURVE_SENTENCES])
            points[gamma] = AttackSums(task).over(records).scores()["attacked"][score]
        budgets = sorted(points)
        x, y = [100 * b for b in budgets], [points[b] for b in budgets]
        curve = {"name": folder.name, "x": x, "y": y}
        called = score_label(score)
        title = f"{called} against edit budget, {first.sums['sentences']} sentences"
        axes = {"title": title, "x_label": "edit budget (%)", "y_label": f"{called}, %"}
        write_text(folder / "curves.json", json.dumps({**axes, "curves": [curve]}))
        return summary

    def _certified(self, checkpoint: Path, seed: int) -> CertifiedSummary:
        """Certify the model where any words are replaced, each by one fixed substitute."""
        folder, model = checkpoint.parent / "certified", load(checkpoint)
        _forget(folder)
        substitutes = {
            tagged.rsplit("/", 1)[0].lower(): [words[0].lower()]
            for tagged, words in self.subject.lexicon(seed).items()
            if words
        }
        exhaustive = Exhaustive(SubstitutionTable(substitutes), edits=(1, "all"))
        test = model.task.files.sample(seed, "test")[:CERTIFIED_SENTENCES]
        run: CertificateRun = {"victims": [checkpoint.name], "seed": seed}
        with certify_progress(len(test)) as progress:
            return certify_into(folder, exhaustive, test, ModelVictim([model]), run, progress)

    def _verdict(self, score: str, before: Summary, after: Summary, defended: bool) -> str:
        clean, attacked = (before[when][score] or 0.0 for when in WHEN)
        lost, back = clean - attacked, (after["attacked"][score] or 0.0) - attacked
        share = f" ({back / lost:.0%} of what was lost)" if lost > 0 else ""
        training = "adversarial training" if defended else "training on without an adversary"
        return (
            f"The attack costs the clean {self.subject.model} {lost:.1f} points of "
            f"{score_name(score)}; {training} wins back {back:.1f}{share}."
        )


def _forget(folder: Path) -> None:
    """Delete the results of an earlier quickstart, which had another model."""
    for name in (RUN, EXAMPLES, CERTIFICATES, SUMMARY):
        (folder / name).unlink(missing_ok=True)
