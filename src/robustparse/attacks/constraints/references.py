"""Reference models judge whether a change preserves the gold answer.

Attacks assume that a changed sentence keeps its gold answer. If models that are not under attack
change their answer, too, the right answer has probably changed. Han et al. 2020 train their
attacker with two reference parsers; Luo et al. 2022 (KLAttack) choose candidates by reference
parsers.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.attacks.victim import Reference, ReferringVictim, Victim
from robustparse.errors import InputError, check_least
from robustparse.types import Example, Mask, Sentence

_REMEMBERED = 1 << 12  # answers to original sentences, of each reference


class ReferenceParsers(SentenceConstraint):
    """At least `agree` reference parsers must keep their tree outside the changed words.

    A reference keeps its tree if every unchanged word has the same head position and label in its
    parse of the changed sentence as in its parse of the *original* sentence. The arcs of changed
    words are ignored; arcs from unchanged to changed words are compared. Gold answers are not used.
    Reference classifiers must keep their label.

    Each checkpoint has one vote, also within an ensemble. Up to rounding, its answer does not
    depend on the other texts of a batch.

    Args:
        checkpoints: the references. They run on the victim's device, and must have the victim's
            task and labels and different weights.
        agree: how many references must keep their tree (Han et al. 2020 have two references).

    Raises:
        InputError: there is no checkpoint, one is named twice, or there are fewer than `agree`;
            when first used: a checkpoint cannot be loaded, has another task or other labels than
            the victim, or equals the victim or another reference; the victim is not a checkpoint.
    """

    needs = ("reference parsers",)

    def __init__(self, checkpoints: list[str], *, agree: int = 1) -> None:
        check_least("reference parsers", agree=agree)
        if twice := {path for path in checkpoints if checkpoints.count(path) > 1}:
            raise InputError(
                f"{min(twice)} is named twice",
                key="reference parsers: checkpoints",
                remedy="name it once",
            )
        if agree > len(checkpoints):
            raise InputError(
                f"got {agree} for {len(checkpoints)} checkpoints",
                key="reference parsers: agree",
                expected="at most the number of checkpoints",
            )
        self.checkpoints = checkpoints
        self.agree = agree
        self._references: list[Reference] = []
        self._known: list[Recent[Sentence, Any]] = [Recent(_REMEMBERED) for _ in checkpoints]

    def prepare(self, victim: Victim) -> None:
        """Open the references once, and check that they can judge the victim's sentences."""
        if not isinstance(victim, ReferringVictim):
            raise InputError(
                f"a {type(victim).__name__} cannot open reference models",
                key="reference parsers",
                remedy="attack a checkpoint",
            )
        self._references = self._references or list(map(victim.reference, self.checkpoints))
        for number, reference in enumerate(self._references):
            victim.check_reference(reference, self._references[:number])

    def check(self, examples: Sequence[Example]) -> None:
        """Reject sentences that a reference cannot read.

        Raises:
            InputError: names the first such sentence, counted from 1.
        """
        for reference in self._references:
            reference.check(examples)

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        votes = np.zeros(len(edits), dtype=np.int64)
        for reference, known in zip(self._references, self._known, strict=True):
            before = known.of([edit.sentence for edit in edits], reference.answers)
            after = reference.answers(
                [replace(edit.sentence, words=edit.changed) for edit in edits]
            )
            triples = zip(before, after, edits, strict=True)
            votes += [reference.agrees(old, new, _changed(edit)) for old, new, edit in triples]
        admitted: Mask = votes >= self.agree
        return admitted


def _changed(edit: Edit) -> set[int]:
    """Return the positions of changed words, from 0."""
    pairs = zip(edit.sentence.words, edit.changed, strict=True)
    return {position for position, (old, new) in enumerate(pairs) if old != new}
