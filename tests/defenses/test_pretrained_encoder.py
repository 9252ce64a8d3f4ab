"""Defenses of a parser over a pretrained Transformer."""

from types import SimpleNamespace

import numpy as np
import pytest
import pytorch_lightning as pl
import torch

from robustparse.data.datamodule import Batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.defenses.pgd import PGD
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.optimization import Optimization
from sample_runs import lexicon_attack, trainer, write_sample
from tiny_models import examples, save_bert

POSITIONS = 14  # 12 pieces
TEXTS = ("the cats saw the dog", "dog saw cats sawing the dog", "the cats")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"), positions=POSITIONS)


@pytest.fixture
def data(tmp_path):
    path = write_sample(tmp_path / "tiny-train.conllu", examples(TEXTS))
    return TreebankDataModule(train_file=str(path), batches=Batches(words=14))


def parser_over(folder, **options) -> BiaffineParser:
    return BiaffineParser(
        TransformerEncoder(str(folder), mix=2, **options),
        arc_dim=7,
        label_dim=4,
        optimization=Optimization(learning_rate=1e-2, pretrained_learning_rate=1e-3),
        vocabulary=Vocabulary.from_examples(examples(TEXTS)),
    )


@pytest.mark.parametrize("tune", [True, False])
def test_a_gradient_adversary_trains_the_network_where_it_is_tuned(folder, data, tune):
    parser = parser_over(folder, tune=tune)
    before = {name: weight.clone() for name, weight in parser.named_parameters()}
    heard: list[float] = []
    forward = parser.forward

    def listening(batch, delta=None):
        mask = parser.delta_mask(batch)
        if delta is not None:
            assert not (delta * (1 - mask)).any()
            heard.append(float(delta.detach().abs().max()))
        return forward(batch, delta)

    parser.forward = listening
    run = trainer(PGD(epsilon=0.5, steps=2), max_epochs=4)
    run.fit(parser, datamodule=data)
    assert run.global_step == 4
    # After each ascent; scores start at zero, so that the first one has no gradient to follow.
    assert sum(size > 0 for size in heard) == 3 * 2
    for name, weight in parser.named_parameters():
        moved = not torch.equal(weight, before[name])
        if not name.startswith("encoder.network."):
            assert moved == weight.requires_grad, name
        elif weight.dim() > 1 or not tune:  # a key's bias has no gradient
            assert moved == tune, name


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_word_that_lengthens_a_sentence_beyond_the_limit_is_trained_on(folder, data, mode):
    parser = parser_over(folder)
    with pytest.raises(InputError, match="limit of 12"):
        parser.check(examples(("the cat" + "s" * 11,)))
    adversary = SubstitutionAdversary(lexicon_attack(), fraction=1.0, mode=mode)
    longer = ("the", "cat" + "s" * 11, "saw", "the", "dog")

    def lengthened(chosen, victim, reported):
        outcome, of_five = (
            np.array([0, 1, 0, 0, 0]),
            [one for one in chosen if len(one.sentence) == 5],
        )
        for problem in (SimpleNamespace(example=one, id=one.id) for one in of_five):
            queries = SimpleNamespace(charged=1)
            yield SimpleNamespace(
                problem=problem,
                outcome=outcome,
                read_words=longer,
                queries=queries,
                skipped=False,
            )

    adversary.attack.search_runs = lengthened
    parser.log = lambda *_, **__: None
    stage = SimpleNamespace(
        current_epoch=0,
        precision_plugin=pl.plugins.Precision(),
        datamodule=data,
        callbacks=[adversary],
        strategy=None,
    )
    batch = parser.encode(data.train_examples).batch(range(len(TEXTS)), 13.0)
    adversary.on_fit_start(stage, parser)
    adversary.on_train_batch_start(stage, parser, batch, 0)
    row = len(TEXTS) if mode == "append" else 0
    assert batch.words[row, :5].tolist() == parser.encoder.intern(longer).tolist()
    assert batch.gold["heads"][row, :5].tolist() == list(data.train_examples[0].gold.heads)
    # Its words after the first window are read, too: no vector is zero.
    parser.eval()
    states = parser.encoder(parser.embed(batch), batch.words, batch.lengths)
    assert (states[row, :6].abs().sum(-1) > 0).all()
    assert torch.isfinite(parser.loss(parser(batch), batch)).all()
