"""Other models judge whether a change kept what it was to keep.

A changed sentence keeps its gold answer by assumption only. Where models that are not under attack
change their mind about it too, more likely the right answer has changed than the victim has erred.
Han et al. 2020 train their attacker on what two reference parsers say of its sentences, Luo et al.
2022 (KLAttack) choose candidates by reference parsers.
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
    """At least `agree` other parsers keep their own tree of the sentence outside the changed words.

    A reference keeps its tree if every unchanged word has the same head, by position, and the same
    label in its parse of the changed sentence as in its own parse of the *original* one. The arcs
    of changed words are left out; those from unchanged words to changed ones are not. Whether its
    tree is right plays no part, and no gold answer is looked at. References that classify texts
    keep their label.

    Each checkpoint has one vote, those of an ensemble too, and parses each text by itself: what
    it says does not depend on the other texts of a batch, up to rounding.

    Args:
        checkpoints: of the references, which compute where the victim does. They have the victim's
            task and labels, and other weights.
        agree: how many of them must keep their tree (Han et al. 2020 have two references).

    Raises:
        InputError: there is no checkpoint, one is named twice, or fewer are named than are to
            agree; when first used: one cannot be loaded, has another task or other labels than the
            victim, is the victim itself or a copy of another, or the victim is no model of ours.
    """

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
                f"is {agree}, and there are {len(checkpoints)} checkpoints",
                key="reference parsers: agree",
                expected="no more than there are checkpoints",
            )
        self.checkpoints = checkpoints
        self.agree = agree
        self._references: list[Reference] = []
        self._known: list[Recent[Sentence, Any]] = [Recent(_REMEMBERED) for _ in checkpoints]

    def prepare(self, victim: Victim) -> None:
        """Open the references, once; see that they may judge the victim's sentences."""
        if not isinstance(victim, ReferringVictim):
            raise InputError(
                f"a {type(victim).__name__} opens no other models",
                key="reference parsers",
                remedy="attack a checkpoint",
            )
        self._references = self._references or list(map(victim.reference, self.checkpoints))
        for place, reference in enumerate(self._references):
            victim.check_reference(reference, self._references[:place])

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that a reference cannot read.

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
    """Find the words that differ from the original's, from 0."""
    pairs = zip(edit.sentence.words, edit.changed, strict=True)
    return {position for position, (old, new) in enumerate(pairs) if old != new}
