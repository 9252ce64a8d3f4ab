"""The result of an attack on one sentence, with counts of unknown words (Wang et al. 2021)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from robustparse.attacks.engine.candidate_counts import CandidateCounts
from robustparse.attacks.victim import LexicalVictim, Victim
from robustparse.types import Example, Sentence

Unseen = dict[str, list[int] | None]
"""Counts at changed positions, as [original words, new words] (Wang et al. 2021, Table 7): ``oov``,
words without an embedding of their own, or None if no word has one; ``oot``, words that the victim
did not see in training."""


@dataclass(frozen=True, slots=True)
class AttackResult:
    """The result of an attack on one sentence.

    Args:
        example: the original sentence with its gold answer.
        text: the text that was reworded: the example's sentence, or the raw text behind it.
        words: the adversarial text, as long as the original.
        read: the words that the victim reads for it, as long as the example's sentence.
        edited: positions of changed words, from 0, rising.
        clean: the victim's answer for the original sentence, of the task's type.
        attacked: its answer for the adversarial sentence, predicted again after the search.
        counted: which words of the original enter the scores.
        targeted: whether the goal applies to the sentence (`Goal.applies`).
        skipped: whether the unchanged sentence already reaches the goal.
        success: whether a changed sentence reaches the goal.
        charged: number of queries, repeated ones and the clean prediction included.
        unique: number of distinct states queried. States with equal text count separately, such as
            those that delete one or the other of two equal neighbours.
        candidates: how many candidates were made and how many passed each constraint.
        unseen: changed words that the victim does not know; None if it cannot tell.
    """

    example: Example
    text: Sentence
    words: tuple[str, ...]
    read: tuple[str, ...]
    edited: tuple[int, ...]
    clean: Any
    attacked: Any
    counted: tuple[bool, ...]
    targeted: bool
    skipped: bool
    success: bool
    charged: int
    unique: int
    candidates: CandidateCounts = field(default_factory=dict)
    unseen: Unseen | None = None

    @property
    def id(self) -> int:
        """The example's id."""
        return self.example.id


def unseen_words(victim: Victim, before: Sequence[str], after: Sequence[str]) -> Unseen | None:
    """Count the words, before and after the change, that the victim does not know.

    Returns None unless the victim is a `LexicalVictim`.
    """
    if not isinstance(victim, LexicalVictim):
        return None
    masks = [victim.embedded(words) for words in (before, after)]
    oov = [int((~embedded).sum()) for embedded in masks if embedded is not None]
    oot = [int((~victim.seen_in_training(words)).sum()) for words in (before, after)]
    return {"oov": oov or None, "oot": oot}
