"""Every defense trains a text classifier as it trains a parser."""

import copy
from types import MethodType

import pytest
import torch
from gradient_by_hand import Recorder, listen, same
from gradient_methods import METHODS, PASSES, every_method

from robustparse.data.datamodule import Batches
from robustparse.data.sampler import TrainingLoader
from robustparse.data.text_datamodule import TextDataModule
from robustparse.defenses import FGM, SubstitutionAdversary
from robustparse.models.classification.cnn import WordCNN
from sample_runs import trainer
from sample_texts import review_attack, texts, trained_classifier, write_texts

EPSILON, WEIGHT, COUNT = 1.7, 0.6, 12


def without_dropout() -> WordCNN:
    model = trained_classifier().train()
    model.dropout = model.encoder.dropout = 0.0

    def stay(self: WordCNN) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.0)

    model.configure_optimizers = MethodType(stay, model)
    return model


@pytest.fixture
def data(tmp_path) -> TextDataModule:
    path = write_texts(tmp_path / "train.tsv", texts(COUNT))
    return TextDataModule(train_file=str(path), batches=Batches(texts=4))


def test_fgm_written_out(data):
    model = without_dropout()
    expected, recorder = copy.deepcopy(model), Recorder()
    trainer(FGM(epsilon=EPSILON, weight=WEIGHT), recorder, max_steps=1).fit(model, datamodule=data)
    encoded = expected.encode(data.train_examples)
    batch = next(iter(TrainingLoader(encoded, data.batches.words, 0, unit="texts", batch_texts=4)))
    assert (len(batch), float(batch.weight)) == (4, 4.0)
    start = torch.zeros_like(expected.embed(batch)).requires_grad_()
    (up,) = torch.autograd.grad(expected.loss(expected(batch, start), batch).sum(), start)
    delta = EPSILON * up / up.flatten(1).norm(dim=1)[:, None, None]
    assert not up[:, 0].any()  # a classifier does not read ROOT
    clean, perturbed = (expected.loss(expected(batch, at), batch).sum() for at in (None, delta))
    ((clean + WEIGHT * perturbed) / 4).backward()
    for name, parameter in expected.named_parameters():
        same(recorder.gradients[0][name], parameter.grad)


@every_method
def test_a_delta_depends_on_no_other_text_and_ends_on_the_rim(data, name):
    deltas: list[dict[int, torch.Tensor]] = []
    for batch_texts in (12, 2):
        data.batches = Batches(texts=batch_texts)
        model = without_dropout()
        heard = listen(model)
        far = {} if name == "FGM" else {"step_size": 50.0}
        trainer(METHODS[name](epsilon=2.5, **far)).fit(model, datamodule=data)
        deltas.append({})
        for batch, delta in heard[PASSES[name] - 1 :: PASSES[name]]:
            for row, (id_, length) in enumerate(zip(batch.ids, batch.lengths, strict=True)):
                deltas[-1][int(id_)] = delta[row, 1 : 1 + length]
                assert not delta[row, 0].any()
                assert not delta[row, 1 + length :].any()
                same(delta[row].norm(), torch.tensor(2.5, dtype=torch.float64))
    together, apart = deltas
    assert set(together) == set(apart) == set(range(COUNT))
    for id_, delta in together.items():
        same(delta, apart[id_])


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_substituted_texts_keep_their_labels_and_weigh_as_texts(data, mode):
    data.batches = Batches(texts=12)
    model = without_dropout()
    heard = listen(model)
    adversary = SubstitutionAdversary(review_attack(), fraction=1.0, budget=40, mode=mode)
    trainer(adversary).fit(model, datamodule=data)
    batch = heard[-1][0]
    # The attack's own passes are of batches without gold answers.
    (batch,) = [batch for batch, _ in heard if batch.gold]
    appended = mode == "append"
    assert float(batch.weight) == 2 * COUNT if appended else COUNT
    assert len(batch) > COUNT if appended else len(batch) == COUNT
    known = model.encode(data.train_examples)
    changed = 0
    for id_, words, gold in zip(batch.ids, batch.words, batch.gold["label"], strict=True):
        original = known.batch([int(id_)], 1.0)
        assert torch.equal(gold, original.gold["label"][0])
        changed += not torch.equal(words[: original.words.shape[1]], original.words[0])
    assert changed == (len(batch) - COUNT if appended else changed)
    assert changed > COUNT // 3
