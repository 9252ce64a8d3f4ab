"""What an installed recipe is: its paper, what it needs, its tasks and what it changes.

The paper is the first one that the comment at the top of the file names; everything else is said by
the classes that the file names.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.goals.tag_errors import TagErrors
from robustparse.attacks.goals.wrong_form import WrongForm
from robustparse.options.arguments import each_object
from robustparse.options.installed import CONFIGS, comment_of, names_in
from robustparse.options.yaml_files import read_yaml
from robustparse.trust import allowed_class

_PAPER = re.compile(r"[A-Z][\w-]+(?: et al\.| and [A-Z][\w-]+)? \d{4}")
_GOALS = (AttachmentDrop, WrongForm, LabelFlip, TagErrors)
TASKS = (*dict.fromkeys(task for goal in _GOALS for task in goal.tasks),)


@dataclass(frozen=True)
class RecipeFacts:
    """What an installed recipe is.

    Args:
        paper: authors and year.
        needs: what the victim must give (`Search.needs`), then what the user must.
        tasks: the tasks (`Task.name`) for which it is made.
        changes: the kinds of edits it makes (`CandidateGenerator.changes`).
    """

    paper: str
    needs: tuple[str, ...]
    tasks: tuple[str, ...]
    changes: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> "RecipeFacts":
        """Read the facts of an installed file."""
        paper = _PAPER.search(comment_of(path))
        needs, changes, allowed = dict[str, None](), dict[str, None](), set(TASKS)
        for class_path, _, _ in each_object(read_yaml(path)):
            kind = allowed_class(class_path)
            needs |= dict.fromkeys(getattr(kind, "needs", ()))
            changes |= dict.fromkeys(filter(None, [getattr(kind, "changes", "")]))
            allowed &= set(getattr(kind, "tasks", ())) or allowed
        of_victim = [need for need in ("gradients", "probabilities", "scores") if need in needs]
        of_user = sorted(set(needs) - set(of_victim))
        tasks = tuple(task for task in TASKS if task in allowed)
        return cls(paper.group() if paper else "", (*of_victim, *of_user), tasks, tuple(changes))

    def __str__(self) -> str:
        tasks = "any task" if self.tasks == TASKS else ", ".join(self.tasks)
        needs = f"needs {', '.join(self.needs)}" if self.needs else "needs nothing"
        return "; ".join([self.paper, f"edits {', '.join(self.changes)}", tasks, needs])


def recipes_without(needs: Collection[str], task: str) -> list[str]:
    """Return the installed recipes for a task that need none of these from the victim.

    Recipes that do not even need scores, because they are made for labels only, come first.
    """
    facts = {name: RecipeFacts.read(path) for name, path in names_in(CONFIGS / "attack").items()}
    able = [
        name
        for name, each in facts.items()
        if task in each.tasks and not set(needs) & set(each.needs)
    ]
    return sorted(able, key=lambda name: "scores" in facts[name].needs)
