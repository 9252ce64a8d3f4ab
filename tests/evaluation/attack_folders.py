"""Attacks into a folder, which tests stop, continue and compare."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.models.victim import ModelVictim
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Example
from sample_runs import lexicon_attack, sentences, trained_parser

TASK = DEPENDENCY
RUN = {"attack": "zheng2020", "victims": ["parser.ckpt"], "seed": 3, "limit": None}
FILES = ("examples.jsonl", "adversarial.conllu")


def some(count: int) -> list[Example]:
    """Test sentences; one has words beyond ASCII, one of them with a line separator in it."""
    examples = sentences(count, "test")
    words = ("Zürich", "a\u2028b", *examples[1].sentence.words[2:])
    examples[1] = replace(examples[1], sentence=replace(examples[1].sentence, words=words))
    return examples


def attack(
    folder: Path,
    examples: list[Example],
    on_sentence: Callable[[AttackSums], None] = lambda tally: None,
    **settings: Any,
) -> dict[str, Any]:
    victim = ModelVictim([trained_parser()])
    chosen = lexicon_attack({"psi": 8}, seed=3, **{"live": 4, **settings})
    return attack_into(folder, TASK, chosen, examples, victim, dict(RUN), on_sentence)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
