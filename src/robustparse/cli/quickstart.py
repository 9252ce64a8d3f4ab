"""``robustparse quickstart``: the whole story on embedded data, in a few minutes.

Trains a small model on a task's embedded sample, attacks it, trains on from the clean checkpoint
with an online substitution adversary, attacks again. Every value it prints comes from the files it
writes.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytorch_lightning as pl
from pytorch_lightning.callbacks import RichProgressBar

from robustparse.api.progress import attack_progress, quiet
from robustparse.api.tables import heading, summary_table, terminal
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.cli.common.stories import DEFAULT, STORIES, Story
from robustparse.defenses.copies.substitution import SubstitutionAdversary
from robustparse.defenses.monitor import RobustnessEvaluation
from robustparse.errors import check_choice, check_seed
from robustparse.evaluation.attack_run.attack_folder import Summary, attack_into
from robustparse.evaluation.lines import EXAMPLES, RUN, SUMMARY, read_lines
from robustparse.evaluation.tally import Tally, result_lines
from robustparse.files import make_folder, write_text
from robustparse.models.load import load
from robustparse.models.optimization import Optimization
from robustparse.models.victim import ModelVictim
from robustparse.reports.page import build_report
from robustparse.reports.plots import score_label
from robustparse.tasks.task import named
from robustparse.tracking.checkpoint_io import VerifiedCheckpointIO
from robustparse.tracking.csv import CsvLogger

CURVE_SENTENCES = 200
# What the third step does, and what the verdict calls it.
THIRD = {"substitution": "with an adversary in every batch", "none": "without an adversary"}
CALLED = {"substitution": "adversarial training", "none": "training on without an adversary"}


def quickstart(
    out: str = "quickstart",
    seed: int = 0,
    defense: Literal["substitution", "none"] = "substitution",
    task: str = DEFAULT,
) -> None:
    """Train, attack, train adversarially, attack again: embedded data, no network, a few minutes.

    Args:
        out: the folder to write: clean/ and robust/ (each a checkpoint and an attack), report.html.
        seed: seed of the embedded data, the model and the attack.
        defense: ``none`` trains on without an adversary, for comparison.
        task: ``dependency`` trains a parser, ``semantic`` a semantic parser, ``classification`` a
            classifier of texts.
    """
    check_seed("--seed", seed)
    check_choice("--task", task, STORIES)
    console, folder, story = terminal(), make_folder(Path(out)), STORIES[task]
    attack = partial(_attack, story, seed)
    usual = attack(Zheng2020(gamma=story.gamma))
    monitor = partial(RobustnessEvaluation, usual, every_n_epochs=5, sentences=100, seed=seed)
    clean_epochs, robust_epochs, control_epochs = story.epochs
    console.print(f"[1/4] training a {story.model} on the sample {story.sample}")
    clean = _fit(story, folder / "clean", seed, clean_epochs, story.rates[0], [monitor()])
    budget = f"{story.gamma:.0%}".replace("%", " %")
    console.print(f"[2/4] attacking it: Zheng et al. 2020, black box, {budget} of the words")
    before = _attacked(story, clean, usual, seed)
    console.print(f"[3/4] training on from there, {THIRD[defense]}")
    callbacks: list[pl.Callback] = [monitor()]
    if defense == "substitution":
        search = attack(RandomSubstitution(gamma=0.3, trials=2))
        callbacks.insert(0, SubstitutionAdversary(search, fraction=0.5, seed=seed))
    epochs = robust_epochs if defense == "substitution" else control_epochs
    robust = _fit(story, folder / "robust", seed, epochs, story.rates[1], callbacks, clean)
    console.print("[4/4] attacking again")
    after = _attacked(story, robust, usual, seed)
    build_report([folder / "clean", folder / "robust"], folder / "report.html")
    title = f"sample {story.sample}, test split"
    console.print(summary_table({"clean": before, "robust": after}, title))
    console.print(_verdict(story, named(task).headline, before, after, CALLED[defense]))
    console.print(f"Report: {folder / 'report.html'}")


def _attack(story: Story, seed: int, search: Search) -> Attack:
    return Attack(
        candidates=Lexicon(story.lexicon(seed)),
        search=search,
        constraints=list(story.constraints),
        seed=seed,
    )


def _fit(
    story: Story,
    folder: Path,
    seed: int,
    epochs: int,
    learning_rate: float,
    callbacks: list[pl.Callback],
    init_from: Path | None = None,
) -> Path:
    """Train into a folder, from a checkpoint's weights where one is given; the new checkpoint."""
    data = story.data(seed)
    start = data, None if init_from is None else str(init_from)
    model = story.make(start, Optimization(learning_rate, schedule="linear"), seed)
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
        trainer.fit(model, datamodule=data)
        path = folder / f"{story.model}.ckpt"
        trainer.save_checkpoint(path)
    return path


def _attacked(story: Story, checkpoint: Path, attack: Attack, seed: int) -> Summary:
    """Attack the model on the test split, and for the curve at other budgets."""
    folder, model = checkpoint.parent, load(checkpoint)
    task, victim = model.task, ModelVictim([model])
    test, score = task.sample(seed, "test"), task.headline
    for name in (RUN, EXAMPLES, SUMMARY):
        (folder / name).unlink(missing_ok=True)  # of an earlier quickstart, with another model
    run: dict[str, Any] = {"attack": "zheng2020_blackbox", "victims": [checkpoint.name]}
    run["seed"] = seed
    with attack_progress(len(test), "attack") as progress:
        summary = attack_into(folder, task, attack, test, victim, run, progress)
    # Every point of the curve comes from the same sentences.
    first = Tally.of(task, read_lines(folder / EXAMPLES)[:CURVE_SENTENCES])
    scores = first.scores()
    points = {0.0: scores["clean"][score], story.gamma: scores["attacked"][score]}
    for gamma in story.curve:
        other = _attack(story, seed, Zheng2020(gamma=gamma))
        lines = result_lines(task, other, victim, test[:CURVE_SENTENCES])
        points[gamma] = Tally.of(task, lines).scores()["attacked"][score]
    budgets = sorted(points)
    x, y = [100 * b for b in budgets], [points[b] for b in budgets]
    curve = {"name": folder.name, "x": x, "y": y}
    called = score_label(score)
    title = f"{called} against edit budget, {first.sums['sentences']} sentences"
    axes = {"title": title, "x_label": "edit budget (%)", "y_label": f"{called}, %"}
    write_text(folder / "curves.json", json.dumps({**axes, "curves": [curve]}))
    return summary


def _verdict(story: Story, score: str, before: Summary, after: Summary, training: str) -> str:
    lost = before["clean"][score] - before["attacked"][score]
    back = after["attacked"][score] - before["attacked"][score]
    share = f" ({back / lost:.0%} of what was lost)" if lost > 0 else ""
    return (
        f"The attack costs the clean {story.model} {lost:.1f} points of {heading(score)}; "
        f"{training} wins back {back:.1f}{share}."
    )
