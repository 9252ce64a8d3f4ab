from .batch import Batch
from .datamodule import DataModule
from .texts import TextDataModule
from .treebank import TreebankDataModule
from .utterances.forms import LogicalFormDataModule
from .vocab import Vocabulary

__all__ = [
    "Batch",
    "DataModule",
    "LogicalFormDataModule",
    "TextDataModule",
    "TreebankDataModule",
    "Vocabulary",
]
