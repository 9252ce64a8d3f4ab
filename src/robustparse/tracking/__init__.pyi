from .csv import CsvLogger
from .finite import SkipNonFinite
from .last import LastCheckpoint
from .reloading import ReloadBest
from .wandb import WandbLogger

__all__ = ["CsvLogger", "LastCheckpoint", "ReloadBest", "SkipNonFinite", "WandbLogger"]
