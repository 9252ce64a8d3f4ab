"""The usual goal for each kind of gold answer, so that one recipe serves several tasks."""

from typing import Any

from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.goals.wrong_form import WrongForm
from robustparse.errors import InputError
from robustparse.types import DependencyTree, LogicalForm


def usual_goal(gold: Any) -> Goal:
    """Choose the goal of an attack that names none, by a gold answer: a tree, a form or a label."""
    if isinstance(gold, DependencyTree):
        return AttachmentDrop()
    if isinstance(gold, LogicalForm):
        return WrongForm()
    if isinstance(gold, str):
        return LabelFlip()
    raise InputError(
        f"no goal is usual for a gold answer of type {type(gold).__name__}",
        key="attack: goal",
        remedy="name a goal",
    )
