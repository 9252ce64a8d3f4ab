from .classification import ClassificationTask
from .dependency import DependencyTask
from .semantic import SemanticTask
from .task import Task, named, task_of

__all__ = ["ClassificationTask", "DependencyTask", "SemanticTask", "Task", "named", "task_of"]
