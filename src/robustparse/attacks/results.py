"""What becomes of a sentence under attack."""

from dataclasses import dataclass, field
from typing import Any

from robustparse.attacks.engine.funnel import CandidateCounts
from robustparse.attacks.unseen import Unseen
from robustparse.types import Example, Sentence


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What became of one sentence.

    Args:
        example: the original sentence with its gold answer.
        text: what was reworded, the example's sentence or the raw text that it was made of.
        words: the adversarial text, as long as the original.
        read: what the victim reads of it, as long as the example's sentence.
        edited: positions whose word was changed, from 0, rising.
        clean: the victim's answer to the original sentence, of the task's type.
        attacked: its answer to the adversarial sentence, asked for once more after the search.
        counted: which words of the original enter the scores.
        targeted: whether the goal finds anything to attack in the sentence (`Goal.applies`).
        skipped: whether the sentence reaches the goal as it is.
        success: whether a change reaches the goal.
        charged: texts asked about, known or not, the clean prediction included.
        unique: distinct states asked about. Two that read the same count twice: without one or the
            other of two equal neighbours, for example.
        candidates: how many were made and passed each constraint.
        unseen: how many changed words the victim does not know; None if it does not tell.
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
