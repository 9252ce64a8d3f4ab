"""A small parser trained for a few steps on sample sentences, and attacks that can fool it."""

import copy
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytorch_lightning as pl
import torch

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.data.conllu import block_of, write_treebank
from robustparse.data.datamodule import Batches
from robustparse.data.sample.treebank import sample_treebank, treebank_lexicon
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.models.base import Model
from robustparse.models.checkpoint import KEY, describe
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.dependency.stack_pointer import StackPointerParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.types import DependencyTree, Example

TrainedModel = TypeVar("TrainedModel", bound=Model)
SPEED = {
    "victim_forwards",
    "victim_texts",
    "texts_per_forward",
    "seconds",
    "other_model_seconds",
    "sentences_per_second",
    "victim_share_of_seconds",
}
"""The figures of a summary that differ from run to run."""

RECIPE = """
goal: {class_path: robustparse.attacks.AttachmentDrop}
candidates:
  class_path: robustparse.attacks.TrainingWords
  init_args: {sample: 5}
constraints:
  - class_path: robustparse.attacks.AttackableTags
search: {class_path: robustparse.attacks.Zheng2020}
"""
"""An attack that needs no model, in Zheng et al. 2020's search."""


def sentences(count: int, split: str = "train") -> list[Example]:
    """The first sentences of a split of the sample treebank."""
    return sample_treebank(0).split(split)[:count]


def fitted(model: TrainedModel, data: list[Example]) -> TrainedModel:
    """The model in float64, after 60 steps on batches of 50, in evaluation mode."""
    model = model.double()
    adam = torch.optim.Adam(model.parameters(), 0.02)
    encoded = model.encode(data)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for step in range(60):
            first = 50 * step % len(data)
            batch = encoded.batch(range(first, first + 50), 1.0)
            sums = model.loss(model(batch), batch)
            adam.zero_grad()
            (sums.sum() / (batch.lengths.sum() if model.unit == "words" else len(sums))).backward()
            adam.step()
    model.zero_grad(set_to_none=True)
    return model.eval()


@lru_cache(maxsize=2)
def _trained(characters: bool) -> BiaffineParser:
    data = sentences(300)
    reads = {"word_dim": 0, "character_dim": 8, "character_out": 12}
    reads = reads if characters else {"word_dim": 12, "character_dim": 0}
    parser = BiaffineParser(
        LSTMEncoder(**reads, hidden=12, layers=1, dropout=0.1),
        arc_dim=12,
        label_dim=8,
        dropout=0.1,
        seed=3,
        vocabulary=Vocabulary.from_examples(data),
    )
    return fitted(parser, data)


def trained_parser(characters: bool = False) -> BiaffineParser:
    """A copy of the parser, in float64 and evaluation mode; most of its arcs are right.

    Args:
        characters: it reads words only by their characters, and errs more often.
    """
    return copy.deepcopy(_trained(characters))


@lru_cache(maxsize=1)
def _trained_pointer() -> StackPointerParser:
    data = sentences(300)
    parser = StackPointerParser(
        LSTMEncoder(word_dim=12, character_dim=0, hidden=12, layers=1, dropout=0.1),
        hidden=16,
        arc_dim=12,
        label_dim=8,
        dropout=0.1,
        seed=3,
        vocabulary=Vocabulary.from_examples(data),
    )
    return fitted(parser, data)


def trained_pointer() -> StackPointerParser:
    """A copy of a stack-pointer parser, in float64 and evaluation mode."""
    return copy.deepcopy(_trained_pointer())


def sample_table() -> SubstitutionTable:
    """For words of the sample treebank a few others of their class, not symmetric."""
    substitutes: dict[str, list[str]] = {}
    for entry, words in treebank_lexicon(0).items():
        word = entry.partition("/")[0].lower()
        substitutes.setdefault(word, [w for w in map(str.lower, words[:3]) if w != word])
    return SubstitutionTable(substitutes)


def save_checkpoint(parser: Model, path: Path) -> Path:
    """A checkpoint that the commands can load."""
    content = {KEY: describe(parser, parser.vocabulary), "state_dict": parser.state_dict()}
    torch.save(content, path)
    return path


def write_sample(path: Path, examples: list[Example]) -> Path:
    """Sample sentences as a CoNLL-U file."""
    write_treebank(path, (block_of(example.sentence, example.gold) for example in examples))
    return path


def sample_folder(folder: Path, development: int, words: int = 300) -> TreebankDataModule:
    """30 sample sentences to train on and some for development, from the files of a folder."""
    write_sample(folder / "s-train.conllu", sentences(30))
    write_sample(folder / "s-dev.conllu", sentences(development, "dev"))
    return TreebankDataModule(folder=str(folder), batches=Batches(words=words))


def write_table(path: Path, examples: list[Example]) -> Path:
    """A substitution table in which each word has the next two words of the alphabet."""
    words = sorted({word.lower() for example in examples for word in example.sentence.words})
    triples = zip(words, words[1:], words[2:], strict=False)
    SubstitutionTable({word: (first, second) for word, first, second in triples}).write(path)
    return path


def lexicon_attack(search: dict[str, Any] | None = None, **settings: Any) -> Attack:
    """Zheng et al. 2020 with the sample's lexicon."""
    return Attack(
        goal=AttachmentDrop(),
        candidates=Lexicon(treebank_lexicon(0)),
        search=Zheng2020(**(search or {})),
        constraints=[AttackableTags()],
        **settings,
    )


def right(result: AttackResult, tree: DependencyTree) -> tuple[int, int]:
    """Counted words with the gold head, and with the gold head and label."""
    gold = result.example.gold
    heads, labels = (
        np.array(one) == np.array(other)
        for one, other in ((tree.heads, gold.heads), (tree.labels, gold.labels))
    )
    heads &= np.array(result.counted)
    return int(heads.sum()), int((heads & labels).sum())


def trainer(*callbacks: pl.Callback, **settings: Any) -> pl.Trainer:
    """A quiet Trainer on one CPU that writes nothing."""
    defaults = {
        "accelerator": "cpu",
        "devices": 1,
        "max_epochs": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "limit_val_batches": 0,
        "use_distributed_sampler": False,
    }
    return pl.Trainer(**{**defaults, **settings}, callbacks=list(callbacks))
