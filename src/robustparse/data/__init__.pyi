from .batch import Batch
from .datamodule import Augmentation, Batches, DataModule
from .robust_encoding import Encoding
from .tags.datamodule import TagDataModule
from .text_datamodule import TextDataModule
from .treebank_datamodule import TreebankDataModule
from .utterances.forms import LogicalFormDataModule
from .vocab import Vocabulary

__all__ = [
    "Augmentation",
    "Batch",
    "Batches",
    "DataModule",
    "Encoding",
    "LogicalFormDataModule",
    "TagDataModule",
    "TextDataModule",
    "TreebankDataModule",
    "Vocabulary",
]
