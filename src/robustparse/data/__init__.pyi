from .batch import Batch
from .datamodule import TreebankDataModule
from .vocab import Vocabulary

__all__ = ["Batch", "TreebankDataModule", "Vocabulary"]
