"""Pairs of training examples: what stands in a batch, what it follows from, and a resumed run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from robustparse.data.datamodule import Batches
from robustparse.data.sample.questions import sample_questions
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.utterances.forms import LogicalFormDataModule
from robustparse.defenses import Concatenation
from robustparse.errors import InputError
from robustparse.models import LSTMEncoder, Seq2Seq
from sample_runs import sentences, trained_parser, trainer, write_sample

COUNT = 30


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> LogicalFormDataModule:
    path = tmp_path_factory.mktemp("questions") / "train.tsv"
    lines = (
        f"{' '.join(one.sentence.words)}\t{one.gold}\n" for one in sample_questions(0).train[:COUNT]
    )
    path.write_text("".join(lines))
    return LogicalFormDataModule(train_file=str(path), batches=Batches(texts=8), min_count=1)


def make(data: LogicalFormDataModule) -> Seq2Seq:
    encoder = LSTMEncoder(4, 0, hidden=4, layers=1)
    return Seq2Seq(encoder, token_dim=4, hidden=6, vocabulary=data.vocabulary)


def pairs(
    data: LogicalFormDataModule, ids: Any = range(COUNT), epoch: int = 0, **settings: Any
) -> dict[int, tuple[str, str]]:
    """Utterance and forms of the copies in a batch, by the first one's id."""
    parser, adversary = make(data), Concatenation(**settings)
    place: Any = SimpleNamespace(
        current_epoch=epoch, datamodule=data, callbacks=[adversary], strategy=None
    )
    adversary.on_fit_start(place, parser)
    batch = parser.encode(data.train_examples).batch(list(ids), float(len(ids)))
    adversary.on_train_batch_start(place, parser, batch, 0)
    assert float(batch.weight) == len(ids) * (1 + adversary.fraction)
    rows = {row: word for word, row in parser.encoder.table._rows.items()}
    names = [*parser.vocabulary.labels, "</s>"]
    found = {}
    for row in range(len(ids), len(batch)):
        words = [rows[word] for word in batch.words[row, : batch.lengths[row]].tolist()]
        target = batch.gold["target"][row].tolist()
        last = max(at for at, token in enumerate(target) if token == parser.end)
        form = " ".join(names[token] for token in target[:last])
        found[int(batch.ids[row])] = (" ".join(words), form)
    return found


def test_each_example_begins_a_pair_with_any_other(data):
    texts = [(" ".join(one.sentence.words), one.gold) for one in data.train_examples]
    every = {
        (f"{text} [SEP] {other}", f"{form} </s> {with_form}"): id_
        for id_, (text, form) in enumerate(texts)
        for other, with_form in texts
    }
    found = pairs(data, seed=3)
    assert sorted(found) == [*range(COUNT)]
    firsts = {id_: data.train_examples[id_] for id_ in found}
    for id_, pair in found.items():
        assert pair in every
        assert pair[0].startswith(" ".join(firsts[id_].sentence.words) + " [SEP] ")
    assert len({pair[0].split(" [SEP] ")[1] for pair in found.values()}) > COUNT // 3


def test_pairs_follow_from_seed_epoch_and_id(data):
    whole = pairs(data, epoch=2, seed=1)
    parts = pairs(data, range(0, COUNT, 2), 2, seed=1) | pairs(data, range(1, COUNT, 2), 2, seed=1)
    assert parts == whole
    for other in (pairs(data, epoch=3, seed=1), pairs(data, epoch=2, seed=2)):
        same = sum(other[id_] == pair for id_, pair in whole.items())
        assert same < COUNT // 3
    half = pairs(data, epoch=2, seed=1, fraction=0.5)
    assert COUNT // 4 < len(half) < COUNT * 3 // 4
    assert half.items() <= whole.items()


def test_a_resumed_run_draws_the_same_pairs(data, tmp_path: Path):
    every = ModelCheckpoint(
        tmp_path, "{step}", every_n_train_steps=1, save_top_k=-1, auto_insert_metric_name=False
    )

    def weights(start: Path | None = None, *callbacks: Any, **pairs: Any) -> dict[str, Any]:
        parser, settings = make(data), {"max_epochs": 3, "enable_checkpointing": bool(callbacks)}
        run = trainer(Concatenation(**pairs), *callbacks, **settings)
        run.fit(parser, datamodule=data, ckpt_path=start)
        return parser.state_dict()

    whole = weights(None, every)
    steps = sorted(int(path.stem) for path in tmp_path.glob("*.ckpt"))
    assert len(steps) % 3 == 0
    assert len(steps) > 8
    for step in (1, len(steps) // 3, len(steps) // 2):
        resumed = weights(tmp_path / f"{step}.ckpt")
        assert all(torch.equal(resumed[name], whole[name]) for name in whole), step
    other = weights(seed=1)
    assert not all(torch.equal(other[name], whole[name]) for name in whole)


def test_answers_that_cannot_be_joined_are_refused(tmp_path: Path):
    path = write_sample(tmp_path / "train.conllu", sentences(10))
    with pytest.raises(InputError) as error:
        trainer(Concatenation()).fit(
            trained_parser(), datamodule=TreebankDataModule(train_file=str(path))
        )
    assert (error.value.key, error.value.expected) == ("task", "semantic parsing")
