from .api.attack import attack, recipe
from .api.evaluate import evaluate, read, sample
from .api.report import report
from .api.results import AttackResults
from .models.load import load

__all__ = ["AttackResults", "attack", "evaluate", "load", "read", "recipe", "report", "sample"]

__version__: str
