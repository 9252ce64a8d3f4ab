from .batch import Batch
from .datamodule import DataModule
from .forms import LogicalFormDataModule
from .texts import TextDataModule
from .treebank import TreebankDataModule
from .vocab import Vocabulary

__all__ = [
    "Batch",
    "DataModule",
    "LogicalFormDataModule",
    "TextDataModule",
    "TreebankDataModule",
    "Vocabulary",
]
