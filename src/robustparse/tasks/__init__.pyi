from .classification import ClassificationTask
from .dependency import DependencyTask
from .task import Task, named, task_of

__all__ = ["ClassificationTask", "DependencyTask", "Task", "named", "task_of"]
