"""The files of an output folder, and the types of what they hold.

An attack writes ``examples.jsonl`` (an `ExampleRecord` a line), ``summary.json`` (`Summary`) and
``run.json`` (`RunRecord`); `evaluate` writes ``scores.json`` (`ScoresRecord`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import msgspec
import torch

from robustparse import __version__
from robustparse.files.paths import in_short
from robustparse.tasks.task import Task

EXAMPLES, SUMMARY, RUN = "examples.jsonl", "summary.json", "run.json"
"""The files of an attack: its sentences, its scores, and what it was run with."""

SCORES, TRANSFER = "scores.json", "transfer.json"
"""The files of `evaluate` and of `transfer`."""

When = Literal["clean", "attacked"]
WHEN: tuple[When, When] = ("clean", "attacked")
Count = Annotated[int, msgspec.Meta(ge=0)]
Word = Annotated[str, msgspec.Meta(min_length=1)]
Percentages = dict[str, float | None]
PAIR_MEASURES = {
    "standard_accuracy": "Standard accuracy",
    "perturbation_accuracy": "Perturbation accuracy",
    "robust_accuracy": "Robust accuracy",
    "blackbox_success_rate": "Black-box success rate",
}
"""Measures of perturbed texts from files that a report shows (`evaluation.pairs`), with titles."""
Measure = dict[str, float | str | None]
"""Means by a model, and the names of the model and of its measure."""


class Queries(TypedDict):
    """Queries of a sentence: ``charged`` to the budget, and ``unique`` states."""

    charged: Count
    unique: Count


class Candidates(TypedDict):
    """Candidates of a sentence; see `attacks.engine.candidate_counts.CandidateCounts`."""

    slots: Count
    sums: dict[str, dict[str, Count]]
    judged_by_tag: NotRequired[dict[str, dict[str, Count]]]


class ExampleRecord(TypedDict):
    """A finished sentence, a line of ``examples.jsonl``.

    Attributes:
        id: the example's id.
        context: words of the other text of a pair; left out if there is none.
        tokens, adversarial_tokens: the words before and after the attack, as many; a word that was
            left out or merged into the word before is empty, and an inserted word stands with the
            word next to it, separated by a blank.
        read, adversarial_read: what the victim reads; left out if it reads the tokens.
        edited: positions of the changed words, from 0.
        gold: the gold answer (`Task.to_record`).
        clean, attacked: the victim's answers before and after, with the number of their correct
            parts (`Task.sums`) and their scores.
        counted: parts of an answer that enter the scores.
        uncounted: positions of words that do not enter the scores; left out if all do.
        targeted: whether the goal finds anything to attack in the sentence.
        skipped: whether the sentence reaches the goal without a change.
        success: whether the attack succeeded.
        queries: what the attack cost.
        edited_tags: tags (`Sentence.tagged`) of the changed words in the original sentence; empty
            if the data have no tags.
        candidates: how many were made, and how many passed each constraint.
        unseen: changed words that the victim does not know (`attacks.unseen`).
    """

    id: Count
    context: NotRequired[list[str]]
    tokens: list[Word]
    adversarial_tokens: list[str]
    read: NotRequired[list[str]]
    adversarial_read: NotRequired[list[str]]
    edited: list[Count]
    gold: dict[str, Any]
    clean: dict[str, Any]
    attacked: dict[str, Any]
    counted: Count
    uncounted: NotRequired[list[Count]]
    targeted: bool
    skipped: bool
    success: bool
    queries: Queries
    edited_tags: list[str]
    candidates: Candidates
    unseen: dict[str, list[Count] | None] | None


class CandidateMeans(TypedDict, total=False):
    """Candidates of an attack; see `attack_details.Candidates`."""

    slots: Count
    sums: dict[str, dict[str, Count]]
    means: dict[str, dict[str, float | None]]
    vetoed: dict[str, dict[str, Percentages]]


class Summary(TypedDict, total=False):
    """The scores of an attack, ``summary.json``; rates are percentages, None if not computed."""

    task: Required[str]
    language: str
    attack: Required[str]
    victims: list[str]
    seed: int | None
    n_sentences: Required[Count]
    n_skipped: Count
    n_words: Required[Count]
    clean: Required[Percentages]
    attacked: Required[Percentages]
    success_rate: Required[float | None]
    targeted: Percentages
    edits_per_sentence: Required[float | None]
    edit_rate: float | None
    queries_per_sentence: Percentages
    strict_success_rate: dict[str, float] | None
    edits_per_success: float | None
    queries_per_success: Percentages
    perturbed_words: float | None
    queries_per_failure: Percentages
    success_by_class: dict[str, Percentages] | None
    success_within: dict[str, float] | None
    candidates: CandidateMeans | None
    unseen: dict[str, Count | dict[str, Count | None]] | None
    by_tag: dict[str, Percentages] | None
    by_relation: dict[str, Percentages] | None
    perplexity: Measure | None
    word_similarity: Measure | None
    sentence_similarity: Measure | None
    reach: dict[str, Count]
    warnings: list[str]
    victim_forwards: Count | None
    victim_texts: Count | None
    texts_per_forward: float | None
    seconds: float | None
    other_model_seconds: dict[str, float] | None
    sentences_per_second: float | None
    victim_share_of_seconds: float | None
    service: dict[str, Count] | None
    versions: dict[str, str]


class VictimRun(TypedDict, total=False):
    """What every run on a victim is distinguished by: the victim, the data and their digests."""

    victims: list[str]
    seed: int | None
    limit: int | None
    decoder: str | None
    beam: int | None
    precision: str | None
    mean: str | None
    victim: Any
    data: str | list[str]
    fraction: float | None
    fraction_of: str | None
    columns: list[str] | None
    shard: str
    sha256: dict[str, Any]


def data_name(data: str | Sequence[str]) -> str:
    """Return the name of data without folders; of several files, see `in_short`."""
    return in_short([Path(each).name for each in ([data] if isinstance(data, str) else data)])


class RunRecord(VictimRun, total=False):
    """What an attack was run with, ``run.json``: what distinguishes it from other runs."""

    attack: str
    settings: dict[str, Any]
    tagger: str | None


@dataclass(frozen=True)
class ScoresRecord:
    """What `evaluate` wrote into ``scores.json``.

    Args:
        task: of the answers.
        clean: percentages by score, of the unperturbed data.
        perturbed: percentages by operation and score.
        perturbed_files: rows and percentages by operation, of perturbed texts made beforehand.
        sentences: the number of sentences, if the file has it.
        name: the name of the system.
    """

    task: Task
    clean: Percentages
    perturbed: dict[str, Percentages]
    perturbed_files: dict[str, Percentages]
    sentences: int | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class RobustnessRecord:
    """A robustness evaluation during training, which loggers with ``log_robustness`` keep.

    Args:
        task: of the attacked model.
        curve: budget (fraction of the words that may be changed, 0 is clean) -> the task's scores
            and ``success`` in percent, by rising budget; empty if budgets were not compared.
        examples: some sentences that the attack succeeded on.
    """

    task: Task
    curve: Mapping[float, Mapping[str, float]]
    examples: Sequence[ExampleRecord]


def versions() -> dict[str, str]:
    """Return the version of each library by its name."""
    return {"robustparse": __version__, "torch": str(torch.__version__)}
