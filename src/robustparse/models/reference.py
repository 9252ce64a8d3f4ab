"""A model that is consulted about the sentences of a victim."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch

from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.load import load
from robustparse.types import Example, Sentence


class ReferenceModel:
    """Fulfils ``robustparse.attacks.victim.Reference`` with a checkpoint.

    Args:
        checkpoint: its path.

    Raises:
        InputError: see ``load``.
    """

    def __init__(self, checkpoint: str | Path) -> None:
        self.checkpoint = checkpoint
        self.model = load(checkpoint)

    def check_against(self, models: Sequence[Model], others: Sequence["ReferenceModel"]) -> None:
        """Refuse a model that cannot judge the victim's sentences; move to where that computes.

        Args:
            models: the victim's.
            others: further references, each of which has a vote of its own.

        Raises:
            InputError: it answers another task or with other labels, is one of the models, or a
                copy of another reference.
        """
        victim, own = models[0], self.model
        if own.task.name != victim.task.name:
            raise InputError(
                f"answers the task {own.task.name}",
                path=self.checkpoint,
                expected=f"a model for the task {victim.task.name}, which the victim answers",
            )
        if differing := set(own.vocabulary.labels) ^ set(victim.vocabulary.labels):
            raise InputError(
                f"it and the victim have different labels: {', '.join(sorted(differing))}",
                path=self.checkpoint,
                expected="a model trained on the same labels",
            )
        if any(_same_weights(own, model) for model in models):
            raise InputError(
                "is the victim itself, or a copy of it",
                path=self.checkpoint,
                expected="other models: of another seed, or another encoder",
            )
        for other in others:
            if _same_weights(own, other.model):
                raise InputError(
                    f"is a copy of {other.checkpoint}",
                    path=self.checkpoint,
                    expected="references that differ, since each has a vote",
                )
        own.to(victim.device)

    def check(self, examples: Sequence[Example]) -> None:
        """See ``Model.check``."""
        self.model.check(examples)

    def answers(self, sentences: Sequence[Sentence]) -> list[Any]:
        """See ``Reference.answers``; what an attack made may be longer than it can read."""
        return self.model.predict(sentences, checked=False)

    def agrees(self, before: Any, after: Any, apart: Collection[int]) -> bool:
        """See ``Reference.agrees``."""
        return not self.model.task.difference(before, after, apart)


def _same_weights(one: Model, other: Model) -> bool:
    mine, others = one.state_dict(), other.state_dict()
    return mine.keys() == others.keys() and all(
        torch.equal(weight.cpu(), others[name].cpu()) for name, weight in mine.items()
    )
