from .batch import Batch
from .datamodule import DataModule
from .treebank import TreebankDataModule
from .vocab import Vocabulary

__all__ = ["Batch", "DataModule", "TreebankDataModule", "Vocabulary"]
