"""``robustparse quickstart``: the whole story on built-in data, in a few minutes."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import torch

from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.cli.quickstart_attack import AttackStory
from robustparse.cli.quickstart_perturbation import PerturbationStory
from robustparse.cli.quickstart_sample import QUESTIONS, REVIEWS, SENTENCES, TAGGED
from robustparse.errors import check_choice, check_seed
from robustparse.files.output_folders import make_folder

DEFAULT = "dependency"
STORIES: Mapping[str, AttackStory | PerturbationStory] = MappingProxyType(
    {
        "dependency": AttackStory(
            SENTENCES,
            constraints=(AttackableTags(),),
            gamma=0.15,
            curve=(0.05, 0.10, 0.20),
            epochs=(40, 16, 36),
            rates=(2e-3, 4e-3),
        ),
        "classification": AttackStory(
            REVIEWS,
            constraints=(),
            gamma=0.15,
            curve=(0.2, 0.3, 0.4),
            epochs=(20, 10, 20),
            rates=(2e-3, 2e-3),
        ),
        "tags": AttackStory(
            TAGGED,
            constraints=(AttackableTags(),),
            gamma=0.15,
            curve=(0.05, 0.10, 0.20),
            epochs=(16, 8, 16),
            rates=(2e-3, 2e-3),
        ),
        "semantic": PerturbationStory(QUESTIONS, fraction=0.2, epochs=20, rate=2e-3),
    }
)


def quickstart(
    out: str = "quickstart",
    seed: int = 0,
    defense: Literal["substitution", "augmentation", "none"] | None = None,
    task: str = DEFAULT,
) -> None:
    """Train, attack or perturb, train robustly, score again: built-in data, a few minutes.

    Args:
        out: the folder to write: report.html, and a folder for each model's checkpoint and scores.
        seed: seed of the built-in data, the models and all random choices.
        defense: how the second model is trained: with a ``substitution`` adversary in every batch
            (dependency, classification, tags), or on perturbed copies too (``augmentation``,
            semantic); ``none`` trains for as long without it, for comparison. By default the
            task's own.
        task: ``dependency`` attacks a parser, ``classification`` a classifier of texts, ``tags`` a
            tagger; ``semantic`` perturbs the questions of a semantic parser.
    """
    check_seed("--seed", seed)
    check_choice("--task", task, STORIES)
    story = STORIES[task]
    if defense is not None:
        check_choice(f"--defense (of the task {task})", defense, (story.defense, "none"))
    # Small networks gain little from a second thread, which waits while another program computes;
    # and the last digits depend on the number of threads.
    torch.set_num_threads(1)
    story.tell(make_folder(Path(out)), seed, defended=defense != "none")
