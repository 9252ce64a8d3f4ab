from .dependency import DependencyTask
from .task import Task, named

__all__ = ["DependencyTask", "Task", "named"]
