from .csv import CsvLogger
from .last_checkpoint import LastCheckpoint
from .reloading import ReloadBest
from .skip_nonfinite import SkipNonFinite
from .wandb import WandbLogger

__all__ = ["CsvLogger", "LastCheckpoint", "ReloadBest", "SkipNonFinite", "WandbLogger"]
