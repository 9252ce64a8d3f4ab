"""An adversary that copies sentences, on its own, without the rest of a Trainer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytorch_lightning as pl
import torch

from robustparse.data.batch import Batch
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses.copying import CopyingAdversary
from robustparse.defenses.perturbation import PerturbationAdversary
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.models.base import Model
from robustparse.perturbations import Perturbation
from sample_runs import lexicon_attack, sentences, trained_parser, write_sample

SENTENCES = 40
CHEAP = {"ranking": "random", "harmless": "first"}


def sample_data(folder: Path) -> TreebankDataModule:
    """The first sentences of the sample treebank, from a file in the folder."""
    path = write_sample(folder / "sample-train.conllu", sentences(SENTENCES))
    return TreebankDataModule(train_file=str(path))


class Stage:
    """A parser, and a batch start without the rest of a Trainer.

    The adversary substitutes words, or perturbs sentences where ``operations`` are given. Where no
    parser is given, it is `trained_parser`.
    """

    def __init__(
        self,
        data: TreebankDataModule,
        operations: list[Perturbation] | None = None,
        parser: Model | None = None,
        **settings: Any,
    ) -> None:
        self.parser = (parser or trained_parser()).train()
        self.logged: dict[str, float] = {}
        self.parser.log = lambda name, value, **_: self.logged.update({name: value})
        self.adversary: CopyingAdversary = (
            SubstitutionAdversary(lexicon_attack(CHEAP), **settings)
            if operations is None
            else PerturbationAdversary(operations, **settings)
        )
        self.trainer: Any = SimpleNamespace(
            current_epoch=0,
            precision_plugin=pl.plugins.Precision(),
            datamodule=data,
            callbacks=[self.adversary],
            strategy=None,
        )
        self.numbered = self.parser.encode(data.train_examples)
        self.adversary.on_fit_start(self.trainer, self.parser)

    def batch(self, ids: Any = range(SENTENCES), weight: float = 100.0) -> Batch:
        return self.numbered.batch(list(ids), weight)

    def attacked(self, ids: Any = range(SENTENCES), epoch: int = 0, index: int = 0) -> Batch:
        batch = self.batch(ids)
        self.trainer.current_epoch = epoch
        self.adversary.on_train_batch_start(self.trainer, self.parser, batch, index)
        return batch

    def words(self, batch: Batch) -> dict[int, tuple[str, ...]]:
        """The sentences of a batch after the first of each id, that is its copies, by id."""
        forms = {row: word for word, row in self.parser.encoder.table._rows.items()}
        found: dict[int, tuple[str, ...]] = {}
        seen: set[int] = set()
        for row, (id_, length) in enumerate(
            zip(batch.ids.tolist(), batch.lengths.tolist(), strict=True)
        ):
            if id_ in seen:
                assert id_ not in found
                found[id_] = tuple(forms[word] for word in batch.words[row, :length].tolist())
            seen.add(id_)
        return found


def spy(stage: Stage) -> list[tuple[list[int], int, int | None]]:
    """Ids, seed and budget of every attack; the attacks find nothing."""
    asked: list[tuple[list[int], int, int | None]] = []
    attack = stage.adversary.attack

    def run(examples: list[Any], victim: Any, *, reported: bool) -> list[Any]:
        asked.append(([example.id for example in examples], attack.seed, attack.budget))
        return []

    attack.search_runs = run
    return asked


def tensors_of(batch: Batch) -> dict[str, torch.Tensor]:
    """Every tensor of a batch by its name, gold columns among them."""
    parts = {name: part for name, part in vars(batch).items() if name != "gold"}
    return parts | batch.gold
