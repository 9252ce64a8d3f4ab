"""Reference models: further models whose votes an attack counts."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch

from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.load import load
from robustparse.types import Example, Sentence


class ReferenceModel:
    """A checkpoint as a reference, see ``robustparse.attacks.victim.Reference``.

    Args:
        checkpoint: the path of the checkpoint.

    Raises:
        InputError: see ``load``.
    """

    def __init__(self, checkpoint: str | Path) -> None:
        self.checkpoint = checkpoint
        self.model = load(checkpoint)

    def check_against(self, models: Sequence[Model], others: Sequence["ReferenceModel"]) -> None:
        """Reject a reference that cannot judge the victim; otherwise move it to its device.

        Args:
            models: the models of the victim.
            others: the other references.

        Raises:
            InputError: the reference has another task or other labels, is a model of the victim,
                or is a copy of another reference.
        """
        victim, model = models[0], self.model
        if model.task.name != victim.task.name:
            raise InputError(
                f"answers the task {model.task.name}",
                path=self.checkpoint,
                expected=f"a model for the task {victim.task.name}, which the victim answers",
            )
        if differing := set(model.vocabulary.labels) ^ set(victim.vocabulary.labels):
            raise InputError(
                f"it and the victim have different labels: {', '.join(sorted(differing))}",
                path=self.checkpoint,
                expected="a model trained on the same labels",
            )
        if any(_same_weights(model, attacked) for attacked in models):
            raise InputError(
                "is the victim itself, or a copy of it",
                path=self.checkpoint,
                expected="other models: of another seed, or another encoder",
            )
        for other in others:
            if _same_weights(model, other.model):
                raise InputError(
                    f"is a copy of {other.checkpoint}",
                    path=self.checkpoint,
                    expected="references that differ, since each has a vote",
                )
        model.to(victim.device)

    def check(self, examples: Sequence[Example]) -> None:
        """See ``Model.check``."""
        self.model.check(examples)

    def answers(self, sentences: Sequence[Sentence]) -> list[Any]:
        """See ``Reference.answers``; perturbed sentences are not checked."""
        return self.model.predict(sentences, checked=False)

    def agrees(self, before: Any, after: Any, apart: Collection[int]) -> bool:
        """See ``Reference.agrees``."""
        return not self.model.task.answers.difference(before, after, apart)


def _same_weights(first: Model, second: Model) -> bool:
    weights, others = first.state_dict(), second.state_dict()
    return weights.keys() == others.keys() and all(
        torch.equal(weight.cpu(), others[name].cpu()) for name, weight in weights.items()
    )
