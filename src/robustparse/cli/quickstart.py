"""``robustparse quickstart``: the whole story on embedded data, in a few minutes.

Trains a word-based biaffine parser on the sample treebank, attacks it, trains on from the
clean checkpoint with an online substitution adversary, attacks again. Every value it prints comes
from the files it writes.
"""

import json
from pathlib import Path
from typing import Any, Literal

import pytorch_lightning as pl
from pytorch_lightning.callbacks import RichProgressBar
from rich.console import Console

from robustparse.api.progress import attack_progress, quiet
from robustparse.api.tables import summary_table
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.data.datamodule import SAMPLE
from robustparse.data.sample.treebank import attack_lexicon, sample_treebank
from robustparse.data.treebank import TreebankDataModule
from robustparse.defenses.monitor import RobustnessEvaluation
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.errors import check_seed
from robustparse.evaluation.attack_folder import Summary, attack_into
from robustparse.evaluation.lines import EXAMPLES, RUN, SUMMARY, read_lines
from robustparse.evaluation.tally import Tally, result_lines
from robustparse.files import make_folder, write_text
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.load import load
from robustparse.models.optimization import Optimization
from robustparse.models.victim import ModelVictim
from robustparse.reports.page import build_report
from robustparse.tracking.checkpoint_io import VerifiedCheckpointIO
from robustparse.tracking.csv import CsvLogger

GAMMA = 0.15
CURVE = (0.05, 0.10, 0.20)
CURVE_SENTENCES = 200
CLEAN_EPOCHS, CLEAN_RATE = 40, 2e-3
# Epochs with the adversary, and as many without as take the same time.
ROBUST_EPOCHS, ROBUST_RATE = {"substitution": 16, "none": 36}, 4e-3
# What the third step does, and what the verdict calls it.
THIRD = {"substitution": "with an adversary in every batch", "none": "without an adversary"}
CALLED = {"substitution": "adversarial training", "none": "training on without an adversary"}


def quickstart(
    out: str = "quickstart",
    seed: int = 0,
    defense: Literal["substitution", "none"] = "substitution",
) -> None:
    """Train, attack, train adversarially, attack again: embedded data, no network, a few minutes.

    Args:
        out: folder for clean/, robust/ (a checkpoint and the attack's files each) and report.html.
        seed: of the grammar, the parser and the attack.
        defense: ``none`` trains on without an adversary, for comparison.
    """
    check_seed("--seed", seed)
    console = Console()
    folder = make_folder(Path(out))
    attack = _attack(seed, Zheng2020(gamma=GAMMA))
    console.print("[1/4] training a biaffine parser on the sample treebank")
    clean = _fit(folder / "clean", seed, CLEAN_EPOCHS, CLEAN_RATE, [_monitor(seed)])
    console.print("[2/4] attacking it: Zheng et al. 2020, black box, 15 % of the words")
    before = _attacked(folder / "clean", attack, seed)
    console.print(f"[3/4] training on from there, {THIRD[defense]}")
    callbacks: list[pl.Callback] = [_monitor(seed)]
    if defense == "substitution":
        search = RandomSubstitution(gamma=0.3, trials=2)
        adversary = SubstitutionAdversary(_attack(seed, search), fraction=0.5, seed=seed)
        callbacks.insert(0, adversary)
    _fit(folder / "robust", seed, ROBUST_EPOCHS[defense], ROBUST_RATE, callbacks, clean)
    console.print("[4/4] attacking again")
    after = _attacked(folder / "robust", attack, seed)
    build_report([folder / "clean", folder / "robust"], folder / "report.html")
    console.print(summary_table({"clean": before, "robust": after}, "sample treebank, test split"))
    console.print(_verdict(before, after, CALLED[defense]))
    console.print(f"Report: {folder / 'report.html'}")


def _attack(seed: int, search: Search) -> Attack:
    return Attack(
        goal=AttachmentDrop(),
        candidates=Lexicon(attack_lexicon(seed)),
        search=search,
        constraints=[AttackableTags()],
        seed=seed,
    )


def _monitor(seed: int) -> RobustnessEvaluation:
    return RobustnessEvaluation(
        _attack(seed, Zheng2020(gamma=GAMMA)), every_n_epochs=5, sentences=100, seed=seed
    )


def _fit(
    folder: Path,
    seed: int,
    epochs: int,
    learning_rate: float,
    callbacks: list[pl.Callback],
    init_from: Path | None = None,
) -> Path:
    """Train into a folder, from a checkpoint's weights where one is given; the new checkpoint."""
    data = TreebankDataModule(folder=SAMPLE, batch_words=320, min_count=1, seed=seed)
    parser = BiaffineParser(
        LSTMEncoder(word_dim=64, character_dim=0, hidden=128, layers=1, dropout=0.1),
        arc_dim=100,
        label_dim=50,
        optimization=Optimization(learning_rate=learning_rate, schedule="linear"),
        seed=seed,
        init_from=None if init_from is None else str(init_from),
        vocabulary=None if init_from is not None else data.vocabulary,
    )
    with quiet():
        trainer = pl.Trainer(
            max_epochs=epochs,
            accelerator="cpu",
            devices=1,
            gradient_clip_val=5.0,
            callbacks=[*callbacks, RichProgressBar(leave=False)],
            logger=CsvLogger(str(make_folder(folder))),
            default_root_dir=str(folder),
            enable_checkpointing=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
            plugins=[VerifiedCheckpointIO()],
        )
        trainer.fit(parser, datamodule=data)
        path = folder / "parser.ckpt"
        trainer.save_checkpoint(path)
    return path


def _attacked(folder: Path, attack: Attack, seed: int) -> Summary:
    """Attack the folder's parser on the test split at 15 %, and for the curve at other budgets."""
    parser = load(folder / "parser.ckpt")
    task, victim = parser.task, ModelVictim([parser])
    test = sample_treebank(seed).test
    for name in (RUN, EXAMPLES, SUMMARY):
        (folder / name).unlink(missing_ok=True)  # of an earlier quickstart, with another parser
    run: dict[str, Any] = {"attack": "zheng2020_blackbox", "victims": ["parser.ckpt"], "seed": seed}
    with attack_progress(len(test), "attack") as progress:
        summary = attack_into(folder, task, attack, test, victim, run, progress)
    # Every point of the curve comes from the same sentences.
    first = Tally.of(task, read_lines(folder / EXAMPLES)[:CURVE_SENTENCES])
    scores = first.scores()
    points = {0.0: scores["clean"]["las"], GAMMA: scores["attacked"]["las"]}
    for gamma in CURVE:
        lines = result_lines(
            task, _attack(seed, Zheng2020(gamma=gamma)), victim, test[:CURVE_SENTENCES]
        )
        points[gamma] = Tally.of(task, lines).scores()["attacked"]["las"]
    budgets = sorted(points)
    x, y = [100 * b for b in budgets], [points[b] for b in budgets]
    curve = {"name": folder.name, "x": x, "y": y}
    title = f"LAS against edit budget, {first.sums['sentences']} sentences"
    axes = {"title": title, "x_label": "edit budget (%)", "y_label": "LAS, %"}
    write_text(folder / "curves.json", json.dumps({**axes, "curves": [curve]}))
    return summary


def _verdict(before: Summary, after: Summary, training: str) -> str:
    lost = before["clean"]["las"] - before["attacked"]["las"]
    back = after["attacked"]["las"] - before["attacked"]["las"]
    share = f" ({back / lost:.0%} of what was lost)" if lost > 0 else ""
    return (
        f"The attack costs the clean parser {lost:.1f} points of LAS; {training} wins back "
        f"{back:.1f}{share}."
    )
