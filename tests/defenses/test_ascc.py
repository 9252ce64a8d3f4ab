"""ASCC against its algorithm written out, in float64; and what it shares with other adversaries."""

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from decisions_by_hand import (
    CASES,
    biaffine,
    close,
    cnn,
    divergences,
    labelled,
    stage,
    tree_decisions,
    with_random_weights,
)
from gradient_by_hand import Recorder, batches, with_sgd

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.data.batch import Batch
from robustparse.data.datamodule import Batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.defenses import ASCC, FGM
from robustparse.defenses.word_hulls import HullTable
from robustparse.errors import InputError
from robustparse.models import Model
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.canine import CanineEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.types import Example
from sample_runs import trainer, write_sample
from tiny_models import examples, save_bert, save_canine

# Words with one substitute and with several, in and outside the vocabulary; two are left out.
TABLE = SubstitutionTable(
    {"the": ("a", "dog", "this", "cats"), "cats": ("dogs", "sawing"), "saw": ("zebra",)}
)
MOST, STEPS, SEED = 3, 3, 5
SETTINGS = {"steps": STEPS, "most": MOST, "alpha": 0.7, "beta": 1.3, "seed": SEED}


@pytest.fixture
def table(tmp_path) -> str:
    TABLE.write(tmp_path / "table.jsonl")
    return str(tmp_path / "table.jsonl")


def objective_by_hand(
    model: Any, example: Example, decide: Any, epoch: int, rate: float = 10.0
) -> torch.Tensor:
    """The loss of a text read alone."""
    encoder, form_dim = model.encoder, model.encoder.form_dim
    batch = model.encode([example]).batch([0], 1.0)
    embedded = model.embed(batch)
    candidates = {
        position: [word, *TABLE.of(word)[:MOST]]
        for position, word in enumerate(example.sentence.words, start=1)
        if TABLE.of(word)
    }
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([SEED, epoch, example.id])))
    drawn = rng.standard_normal((len(candidates), 1 + MOST))
    u = {
        position: torch.from_numpy(numbers[: len(words)]).requires_grad_()
        for numbers, (position, words) in zip(drawn, candidates.items(), strict=True)
    }

    def vector(word: str) -> torch.Tensor:
        row = torch.tensor([encoder.intern([word]).tolist()])
        return encoder.embed(row, torch.zeros_like(row))[0, 1, :form_dim]

    def read(p: dict[int, torch.Tensor]) -> list[list[torch.Tensor]]:
        units = list(embedded[0])
        for position, words in candidates.items():
            mean = sum(p[position][j] * vector(word) for j, word in enumerate(words))
            units[position] = torch.cat([mean, units[position][form_dim:]])
        return decide(model, model.states_of(torch.stack(units)[None], batch), batch)

    clean = decide(model, model.states_of(embedded, batch), batch)
    moments = {position: [0.0, 0.0] for position in u}
    for step in range(1, STEPS + 1):
        p = {position: values.exp() / values.exp().sum() for position, values in u.items()}
        entropy = sum(-(values * values.log()).sum() for values in p.values())
        by_decision = divergences([[a.detach() for a in pair] for pair in clean], read(p))
        loss = -sum(by_decision) / len(by_decision)
        loss = loss + SETTINGS["alpha"] * entropy / len(example.sentence)
        if not u:
            break
        gradients = torch.autograd.grad(loss, list(u.values()))
        for position, gradient in zip(u, gradients, strict=True):
            value, (mean, square) = u[position].detach(), moments[position]
            gradient = gradient + 2e-5 * value
            moments[position] = mean, square = (
                0.9 * mean + 0.1 * gradient,
                0.999 * square + 0.001 * gradient**2,
            )
            mean, square = mean / (1 - 0.9**step), square / (1 - 0.999**step)
            u[position] = (value - rate * mean / (square.sqrt() + 1e-8)).requires_grad_()
    p = {position: values.detach().softmax(0) for position, values in u.items()}
    agreement = sum(divergences(clean, read(p)))
    return model.loss(model(batch), batch)[0] + SETTINGS["beta"] * agreement


def ready(model: Model, **settings: Any) -> ASCC:
    adversary = ASCC("unread.jsonl", **{**SETTINGS, **settings})
    adversary._hulls = HullTable(model, TABLE, MOST)
    return adversary


def losses_of(adversary: ASCC, model: Model, batch: Batch) -> torch.Tensor:
    """The training loss of each text."""
    running = stage()
    adversary.agreement.begin(running, model, partial(adversary.mixture, running, model))
    return model.objective(model(batch), batch)


@pytest.mark.parametrize("name", CASES)
def test_losses_and_gradients_are_those_written_out(name):
    """Each text is read alone there, and in a padded batch here."""
    make, texts, decide = CASES[name]
    model, data = make(), texts()
    batch = model.encode(data).batch(range(len(data)), 1.0)
    losses = losses_of(ready(model), model, batch)
    expected = torch.stack([objective_by_hand(model, text, decide, 2) for text in data])
    close(losses, expected)
    clean = model.loss(model(batch), batch)
    assert ((losses - clean).abs() > 1e-4).sum() >= 3  # all but at most one have an agreement
    parameters = dict(model.named_parameters())
    ours, theirs = (
        torch.autograd.grad(sums.sum(), list(parameters.values())) for sums in (losses, expected)
    )
    for gradient, by_hand in zip(ours, theirs, strict=True):
        close(gradient, by_hand)


def test_substitutes_that_no_text_contains_are_trained():
    model = cnn()
    data = labelled()[:2]
    batch = model.encode(data).batch(range(2), 1.0)
    losses_of(ready(model, steps=1), model, batch).sum().backward()
    (row,) = model.encoder.intern(["sawing"]).tolist()
    assert not (batch.words == row).any()
    id_ = int(model.encoder.table.tensors(batch.words.device)[0][row, 0])
    assert model.encoder.words.weight.grad[id_].abs().max() > 1e-6


def test_weights_and_what_stays():
    model = biaffine()
    batch = model.encode(examples()).batch(range(4), 1.0)
    adversary = ready(model, step_size=0.1)  # larger steps may end on the word itself
    hulls, embedded = adversary._hulls.of(batch), model.embed(batch)
    clean = model.decisions(model(batch), batch)
    weights = adversary.search(stage(), model, batch, embedded.detach(), hulls.detach(), clean)
    close(weights.sum(1), torch.ones(len(weights), dtype=torch.float64))
    assert not weights[~hulls.valid].any()
    counts = [1 + len(TABLE.of(w)[:MOST]) for e in examples() for w in e.sentence.words]
    assert hulls.valid.sum(1).tolist() == [count for count in counts if count > 1]
    assert all(weight.grad is None for weight in model.parameters())
    moved = (hulls.mixed(embedded, weights) != embedded).any(-1)
    for row, example in enumerate(examples()):
        words = example.sentence.words
        assert moved[row, 1 : 1 + len(words)].tolist() == [bool(TABLE.of(w)) for w in words]
        assert not moved[row, 0]
        assert not moved[row, 1 + len(words) :].any()
    itself = torch.zeros_like(weights)
    itself[:, 0] = 1.0
    assert torch.equal(hulls.mixed(embedded, itself), embedded)
    form = model.encoder.form_dim  # tags stay
    assert torch.equal(hulls.mixed(embedded, weights)[..., form:], embedded[..., form:])


def test_pieces(tmp_path):
    """Substitutes stand at the first piece of "cats"; its second piece keeps its share."""
    model = BiaffineParser(
        TransformerEncoder(str(save_bert(tmp_path / "bert")), mix=1),
        vocabulary=Vocabulary.from_examples(examples()),
    ).double()
    batch = model.encode(examples(("dog cats the",))).batch([0], 1.0)
    table = SubstitutionTable({"cats": ("sawing", "dog"), "the": ("cats",)})
    hulls, embedded = HullTable(model, table, 5).of(batch), model.embed(batch)
    weights = torch.tensor([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]], dtype=torch.float64)
    cat, s, dog, the, saw, ing = (
        model.encoder.look_up(torch.tensor(model.encoder.table._tokenizer.token_to_id(piece)))
        for piece in ("cat", "##s", "dog", "the", "saw", "##ing")
    )
    expected = embedded[0].clone()
    expected[2] = 0.5 * cat + 0.3 * (saw + ing) / 2 + 0.2 * dog
    expected[3] = 0.5 * s
    expected[4] = 0.9 * the + 0.1 * (cat + s) / 2
    close(hulls.mixed(embedded, weights)[0], expected)


# In a trainer


@pytest.mark.parametrize("accumulate", [1, 2])
def test_gradients_in_a_trainer(table, tmp_path, accumulate):
    data = treebank(tmp_path)
    parser = with_sgd(biaffine())
    expected = copy.deepcopy(parser)
    recorder = Recorder()
    adversary = ASCC(table, **SETTINGS)
    run = trainer(adversary, recorder, accumulate_grad_batches=accumulate, max_steps=1)
    run.fit(parser, datamodule=data)
    total = torch.zeros((), dtype=torch.float64)
    for batch in batches(expected, data)[0][:accumulate]:
        texts = [data.train_examples[id_] for id_ in batch.ids.tolist()]
        sums = sum(objective_by_hand(expected, text, tree_decisions, 0) for text in texts)
        total = total + sums / batch.lengths.sum() / accumulate
    total.backward()
    for name, parameter in expected.named_parameters():
        close(recorder.gradients[0][name], parameter.grad)
    assert parser.objective is None
    assert float(run.callback_metrics["train/agreement"]) > 0


def treebank(folder: Any) -> TreebankDataModule:
    path = write_sample(folder / "tiny-train.conllu", examples())
    return TreebankDataModule(train_file=str(path), batches=Batches(words=12))


def tiny_parser() -> BiaffineParser:
    """With dropout, in single precision."""
    encoder = LSTMEncoder(5, 3, 4, hidden=6, layers=1)
    known = Vocabulary.from_examples(examples(), min_count=1)
    parser = BiaffineParser(encoder, arc_dim=5, label_dim=4, vocabulary=known)
    return with_random_weights(parser).float()


@pytest.mark.filterwarnings("ignore:The dirpath has changed")
def test_a_run_resumed_within_an_epoch_is_bit_identical(table, tmp_path):
    data, ends = treebank(tmp_path), []
    for folder, checkpoint in (("whole", None), ("resumed", tmp_path / "whole" / "step=3.ckpt")):
        parser = tiny_parser()
        saver = pl.callbacks.ModelCheckpoint(
            tmp_path / folder, filename="{step}", every_n_train_steps=3, save_top_k=-1
        )
        adversary = ASCC(table, steps=2, start_step=1, every=2)
        run = trainer(adversary, saver, max_epochs=2, enable_checkpointing=True)
        run.fit(parser, datamodule=data, ckpt_path=checkpoint)
        assert run.global_step > 3
        ends.append(parser.state_dict())
    for key, weight in ends[0].items():
        assert torch.equal(weight, ends[1][key])
    SubstitutionTable({"the": ("cats",)}).write(table)
    run, checkpoint = trainer(ASCC(table)), tmp_path / "whole" / "step=3.ckpt"
    with pytest.raises(InputError) as error:
        run.fit(tiny_parser(), datamodule=data, ckpt_path=checkpoint)
    assert error.value.path == table


def test_dropout_masks_are_the_same_in_all_passes_or_fresh():
    """Without substitutes, texts and mixtures differ only by their masks."""
    for same in (True, False):
        parser = tiny_parser()
        batch = parser.encode(examples()).batch(range(4), 1.0)
        adversary = ready(parser, same_dropout=same)
        adversary._hulls = HullTable(parser, SubstitutionTable({}), MOST)
        torch.manual_seed(3)
        losses_of(adversary, parser, batch)
        assert (float(adversary.agreement._value.abs()) < 1e-6) == same


def test_bfloat16(table, tmp_path):
    ends = []
    for precision in ("32-true", "bf16-mixed"):
        parser = tiny_parser()
        run = trainer(ASCC(table, steps=2), precision=precision, max_steps=2)
        run.fit(parser, datamodule=treebank(tmp_path))
        ends.append(torch.cat([weight.flatten() for weight in parser.parameters()]))
        assert torch.isfinite(ends[-1]).all()
        assert ends[-1].dtype == torch.float32
    assert not torch.equal(*ends)
    assert (ends[0] - ends[1]).abs().max() < 0.01


def test_a_pretrained_encoder_is_trained(table, tmp_path):
    parser = BiaffineParser(
        TransformerEncoder(str(save_bert(tmp_path / "bert")), mix=2),
        vocabulary=Vocabulary.from_examples(examples()),
    )
    before = {name: weight.clone() for name, weight in parser.named_parameters()}
    trainer(ASCC(table, steps=1), max_steps=2).fit(parser, datamodule=treebank(tmp_path))
    moved = [name for name, weight in parser.named_parameters() if (weight != before[name]).any()]
    assert any(name.startswith("encoder.network.embeddings.word_embeddings") for name in moved)
    assert "arc_attn.weight" in moved


# What it refuses


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("steps", 0),
        ("most", 0),
        ("every", 0),
        ("start_step", -1),
        ("seed", -1),
        ("step_size", 0.0),
        ("step_size", float("inf")),
        ("alpha", -0.1),
        ("alpha", float("nan")),
        ("beta", 0.0),
        ("beta", float("inf")),
        ("weight_decay", -1.0),
    ],
)
def test_settings_out_of_range(setting, value):
    with pytest.raises(InputError) as error:
        ASCC("table.jsonl", **{setting: value})
    assert error.value.key == f"gradient adversary: {setting}"


class Silent(BiaffineParser):
    """Tells no distributions."""

    decisions = Model.decisions


def over_canine(folder: Any) -> BiaffineParser:
    known = Vocabulary.from_examples(examples())
    return BiaffineParser(CanineEncoder(str(save_canine(folder / "canine"))), vocabulary=known)


def silent(_: Any) -> BiaffineParser:
    return Silent(LSTMEncoder(5, 0, hidden=6), vocabulary=Vocabulary.from_examples(examples()))


@pytest.mark.parametrize("make", [silent, over_canine])
def test_models_that_it_cannot_train(table, tmp_path, make):
    model = make(tmp_path)
    with pytest.raises(InputError) as error:
        trainer(ASCC(table)).fit(model, datamodule=treebank(tmp_path))
    assert error.value.key == "gradient adversary: model"
    if make is silent:
        with pytest.raises(InputError):
            model.decisions(None, None)


def test_tables_and_adversaries_that_do_not_fit(table, tmp_path):
    with pytest.raises(InputError, match="only one"):
        trainer(ASCC(table), FGM()).fit(biaffine(), datamodule=treebank(tmp_path))
    SubstitutionTable({"elephant": ("cats",)}).write(table)
    with pytest.raises(InputError) as error:
        trainer(ASCC(table)).fit(biaffine(), datamodule=treebank(tmp_path))
    assert error.value.path == table


def test_texts_without_substitutes_have_no_hulls():
    model = biaffine()
    batch = model.encode([examples()[0]]).batch([0], 1.0)
    hulls = HullTable(model, SubstitutionTable({"x": ("y",)}), MOST).of(batch)
    embedded = model.embed(batch)
    assert torch.equal(hulls.mixed(embedded, torch.zeros(0, 1)), embedded)
