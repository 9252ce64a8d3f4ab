from .csv import CsvLogger
from .finite import SkipNonFinite
from .last import LastCheckpoint
from .wandb import WandbLogger

__all__ = ["CsvLogger", "LastCheckpoint", "SkipNonFinite", "WandbLogger"]
