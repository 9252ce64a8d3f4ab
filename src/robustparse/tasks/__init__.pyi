from .dependency import DependencyTask
from .task import Task, named, task_of

__all__ = ["DependencyTask", "Task", "named", "task_of"]
