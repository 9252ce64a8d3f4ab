from .classification import ClassificationTask
from .dependency import DependencyTask
from .task import Task, named

__all__ = ["ClassificationTask", "DependencyTask", "Task", "named"]
