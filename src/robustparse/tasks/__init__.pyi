from .classification import CLASSIFICATION
from .dependency import DEPENDENCY
from .registry import named, task_of
from .semantic import semantic_task
from .tags import TAGS
from .task import Answers, Concatenates, Files, Pictures, Scores, Task, WritesPairs

__all__ = [
    "CLASSIFICATION",
    "DEPENDENCY",
    "TAGS",
    "Answers",
    "Concatenates",
    "Files",
    "Pictures",
    "Scores",
    "Task",
    "WritesPairs",
    "named",
    "semantic_task",
    "task_of",
]
