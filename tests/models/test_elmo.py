"""ELMo against the model written out in numpy, one word and one step at a time."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformer_vectors import read

from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.models.checkpoint import instantiate, specification
from robustparse.models.encoders.elmo import ELMoEncoder
from robustparse.models.load import load
from sample_runs import save_checkpoint
from tiny_elmo import OPTIONS, options_with, random_weights, save_elmo
from tiny_models import TEXTS, examples, random_parser

LONGER = "ein Eichhörnchen \u2014 pneumonoultramicroscopic -LRB- \U0001f600"
Vector = NDArray[np.float64]


class Plain:
    """The published model, of the files' weights in their own layout."""

    def __init__(self, options: dict[str, Any], weights: dict[str, NDArray[np.float32]]) -> None:
        self.cnn, self.lstm = options["char_cnn"], options["lstm"]
        self.weights = {name: values.astype(np.float64) for name, values in weights.items()}
        self.clipped = {"cell_clip": 0, "proj_clip": 0}

    def spelled(self, characters: list[int]) -> Vector:
        """A word's vector: bytes, or the mark of a sentence."""
        w, width = self.weights, self.cnn["max_characters_per_token"]
        ids = [258, *characters[: width - 2], 259]
        ids += [260] * (width - len(ids))
        embedded = w["char_embed"][ids]
        activation = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}[self.cnn["activation"]]
        found = []
        for k, (size, number) in enumerate(self.cnn["filters"]):
            for one in range(number):
                best = -np.inf
                for start in range(width - size + 1):
                    window = embedded[start : start + size]
                    value = (window * w[f"CNN/W_cnn_{k}"][0, :, :, one]).sum()
                    best = max(best, value + w[f"CNN/b_cnn_{k}"][one])
                found.append(activation(best))
        x = np.array(found)
        for k in range(self.cnn["n_highway"]):
            gate = sigmoid(x @ w[f"CNN_high_{k}/W_carry"] + w[f"CNN_high_{k}/b_carry"])
            changed = x @ w[f"CNN_high_{k}/W_transform"] + w[f"CNN_high_{k}/b_transform"]
            x = gate * np.maximum(changed, 0) + (1 - gate) * x
        return x @ w["CNN_proj/W_proj"] + w["CNN_proj/b_proj"]

    def clip(self, x: Vector, name: str) -> Vector:
        limit = self.lstm[name]
        if limit is None:
            return x
        self.clipped[name] += int((np.abs(x) > limit).sum())
        return np.clip(x, -limit, limit)

    def run(self, vectors: list[Vector], direction: int, layer: int) -> list[Vector]:
        """The states of one layer, in the order of its inputs."""
        cell_name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        matrix, bias, down = (self.weights[f"{cell_name}/{n}"] for n in ("W_0", "B", "W_P_0"))
        size = self.lstm["dim"]
        cell, state, states = np.zeros(size), np.zeros(self.lstm["projection_dim"]), []
        for vector in vectors:
            gates = np.concatenate([vector, state]) @ matrix + bias
            i, j, f, o = (gates[k * size : (k + 1) * size] for k in range(4))
            cell = self.clip(sigmoid(f + 1.0) * cell + sigmoid(i) * np.tanh(j), "cell_clip")
            state = self.clip((sigmoid(o) * np.tanh(cell)) @ down, "proj_clip")
            states.append(state)
        if self.lstm["use_skip_connections"] and layer:
            states = [state + vector for state, vector in zip(states, vectors, strict=True)]
        return states

    def layers(self, words: list[bytes]) -> Vector:
        """``(1 + n_layers, 1 + words, 2 * projection_dim)``, the sentence's begin first."""
        vectors = [self.spelled(ids) for ids in ([256], *map(list, words), [257])]
        left, right = vectors, vectors[::-1]
        found = [[np.concatenate([v, v]) for v in vectors]]
        for layer in range(self.lstm["n_layers"]):
            left, right = self.run(left, 0, layer), self.run(right, 1, layer)
            pairs = zip(left, right[::-1], strict=True)
            found.append([np.concatenate(pair) for pair in pairs])
        return np.array(found)[:, :-1]


def sigmoid(x: Vector) -> Vector:
    return 1 / (1 + np.exp(-x))


def mix_weights(layers: int) -> Vector:
    return np.linspace(-0.5, 0.8, layers)


def made(paths: dict[str, str], vocabulary, **settings) -> ELMoEncoder:
    encoder = ELMoEncoder(**paths, **settings)
    encoder.build(vocabulary)
    encoder = encoder.double().eval()
    with torch.no_grad():
        encoder.mix_weights.copy_(torch.from_numpy(mix_weights(len(encoder.mix_weights))))
        encoder.gamma.fill_(1.7)
    return encoder


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, str]:
    return save_elmo(tmp_path / "elmo")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"char_cnn__activation": "tanh", "char_cnn__n_characters": 262},
        {"lstm__cell_clip": None, "lstm__proj_clip": None, "lstm__n_layers": 1},
        {"lstm__use_skip_connections": False, "lstm__n_layers": 3, "char_cnn__n_highway": 1},
    ],
)
def test_words_get_what_the_published_model_says(changes, tmp_path, vocabulary):
    options = options_with(**changes)
    weights = random_weights(options)
    encoder = made(save_elmo(tmp_path, options, weights), vocabulary)
    plain = Plain(options, weights)
    texts = [*TEXTS, LONGER]
    states, _, lengths = read(encoder, *texts)
    assert encoder.out_dim == states.shape[2] == 10
    mix = np.exp(mix_weights(1 + options["lstm"]["n_layers"]))
    mix *= 1.7 / mix.sum()
    for text, row, length in zip(texts, states, lengths.tolist(), strict=True):
        words = [word.encode() for word in text.replace("-LRB-", "(").split(" ")]
        expected = torch.from_numpy(np.einsum("k,kld->ld", mix, plain.layers(words)))
        torch.testing.assert_close(row[: length + 1], expected, rtol=0, atol=1e-10)
    limited = options["lstm"]["cell_clip"] is not None
    assert all((count > 0) == limited for count in plain.clipped.values())


def test_vectors_do_not_depend_on_batch_mates(paths, vocabulary):
    encoder = made(paths, vocabulary)
    states, _, _ = read(encoder, *TEXTS, LONGER)
    for text, row in zip([*TEXTS, LONGER], states, strict=True):
        alone, _, _ = read(encoder, text)
        torch.testing.assert_close(row[: alone.shape[1]], alone[0], rtol=0, atol=1e-12)
    again, _, _ = read(encoder, *TEXTS, LONGER)  # nothing is kept of what was read before
    assert torch.equal(again, states)


def test_the_unknown_word_has_no_characters(paths, vocabulary):
    encoder = made(paths, vocabulary)
    unknown = encoder.embed(torch.ones(1, 1, dtype=torch.int64), torch.zeros(1, 1))[0, 1]
    expected = Plain(OPTIONS, random_weights()).spelled([])
    np.testing.assert_allclose(unknown.detach().numpy(), expected, rtol=0, atol=1e-12)
    assert encoder.embedded(["dog", "zebra"]) is None  # no word has an embedding of its own


MIX = {"encoder.mix_weights", "encoder.gamma"}


@pytest.mark.parametrize("tune", [False, True])
def test_only_the_mix_learns_unless_the_model_is_tuned(paths, tune):
    encoder = ELMoEncoder(**paths, tune=tune, lstm_layers=1, hidden=6)
    parser = random_parser(encoder).train()
    of_model = [f"encoder.network.{name}" for name, _ in encoder.network.named_parameters()]
    assert len(encoder.pretrained_parameters()) == (len(of_model) if tune else 0)
    assert all(module.training == tune for module in encoder.network.modules())
    before = {name: value.clone() for name, value in parser.state_dict().items()}
    optimizer = torch.optim.SGD([p for p in parser.parameters() if p.requires_grad], 0.1)
    batch = parser.encode(examples()).batch(range(len(TEXTS)), 1.0)
    parser.loss(parser(batch), batch).sum().backward()
    for name, parameter in parser.named_parameters():
        assert (parameter.grad is not None) == (tune or name not in of_model), name
    optimizer.step()
    moved = {name for name, value in parser.state_dict().items() if (value != before[name]).any()}
    assert moved >= MIX
    assert moved & {*of_model} == ({*of_model} if tune else set())


def test_a_checkpoint_is_loaded_without_the_files(paths, tmp_path):
    parser = random_parser(ELMoEncoder(**paths, lstm_layers=1, hidden=6)).float()
    path = save_checkpoint(parser, tmp_path / "parser.ckpt")
    sentences = [example.sentence for example in examples()]
    for file in paths.values():
        Path(file).unlink()
    again = load(path)
    assert again.predict(sentences) == parser.predict(sentences)
    held = specification(parser)
    encoder = held["init_args"]["encoder"]["init_args"]
    assert again.encoder.differences(encoder) == []
    other = ELMoEncoder(**save_elmo(tmp_path / "other", options_with(lstm__cell_clip=3)))
    other.build(parser.vocabulary)
    (difference,) = other.differences(encoder)
    assert difference.startswith("the options of its language model (options: ")
    encoder["stored"] = {"options": json.dumps(options_with(lstm__dim=0))}
    with pytest.raises(InputError) as caught:
        instantiate(held, vocabulary=parser.vocabulary)
    assert (caught.value.key, caught.value.path) == ("lstm.dim", None)
    encoder["stored"] = None
    with pytest.raises(InputError, match=r"names weights .* lacks its content"):
        instantiate(held, vocabulary=parser.vocabulary)


@pytest.mark.slow
def test_the_experiment_runs_once_its_paths_are_given(paths, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = "model.init_args"
    sizes = f"--{given}.arc_dim 6 --{given}.label_dim 4 --{given}.encoder.init_args.hidden 5"
    files = " ".join(f"--{given}.encoder.init_args.{name} {path}" for name, path in paths.items())
    quiet = "--trainer.enable_progress_bar false --trainer.enable_model_summary false"
    brief = f"--trainer.max_steps 1 --trainer.limit_val_batches 1 --trainer.accelerator cpu {quiet}"
    experiment = "fit --config model/biaffine_elmo --data.init_args.folder sample"
    main(f"{experiment} {files} {sizes} {brief}".split())
    parser = load("runs/biaffine_elmo/last.ckpt")
    assert isinstance(parser.encoder, ELMoEncoder)
    assert len(parser.predict([TEXTS[0].split()])[0].heads) == 5


CELLS = "RNN_0/RNN/MultiRNNCell"


@pytest.mark.parametrize(
    ("changes", "key", "found", "expected"),
    [
        ({"lstm__dim": 8}, f"{CELLS}/Cell0/LSTMCell/W_0", [10, 28], [10, 32]),
        ({"lstm__projection_dim": 6}, "CNN_proj/W_proj", [9, 5], [9, 6]),
        ({"char_cnn__embedding": {"dim": 3}}, "char_embed", [261, 4], [261, 3]),
        ({"char_cnn__filters": [[1, 3], [2, 4]]}, "CNN_high_0/W_carry", [9, 9], [7, 7]),
        (
            {"char_cnn__filters": [[1, 3], [3, 4], [2, 2]]},
            "CNN/W_cnn_1",
            [1, 2, 4, 4],
            [1, 3, 4, 4],
        ),
        ({"char_cnn__n_highway": 3}, "CNN_high_2/W_carry", None, [9, 9]),
        ({"lstm__n_layers": 3}, f"{CELLS}/Cell2/LSTMCell/W_0", None, [10, 28]),
    ],
)
def test_options_that_do_not_fit_the_weights_are_named(
    changes, key, found, expected, paths, vocabulary
):
    Path(paths["options"]).write_text(json.dumps(options_with(**changes)))
    with pytest.raises(InputError) as caught:
        ELMoEncoder(**paths).build(vocabulary)
    error = caught.value
    assert (error.path, error.key) == (paths["weights"], key)
    assert error.found == ("it is missing" if found is None else f"has shape {found}")
    assert error.expected == f"shape {expected}, as {paths['options']} says"
    assert error.remedy == "give the options and the weights of one published model"


@pytest.mark.parametrize(
    ("changes", "key"),
    [({"lstm__n_layers": 1}, "Cell1/LSTMCell/B"), ({"char_cnn__n_highway": 1}, "W_carry")],
)
def test_layers_that_the_options_do_not_have_are_named(changes, key, paths, vocabulary):
    Path(paths["options"]).write_text(json.dumps(options_with(**changes)))
    with pytest.raises(InputError) as caught:
        ELMoEncoder(**paths).build(vocabulary)
    assert caught.value.key.endswith(key)
    assert caught.value.found.endswith("but the model has no such layer")
    assert caught.value.expected == f"only the layers of {paths['options']}"


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"lstm__dim": "7"}, "lstm.dim", "must be a whole number >= 1, got '7'"),
        ({"lstm__cell_clip": 0}, "lstm.cell_clip", "must be a number > 0 or null, got 0"),
        ({"char_cnn__filters": [[1]]}, "char_cnn.filters", "must be a list of pairs"),
        ({"char_cnn__activation": "elu"}, "char_cnn.activation", "must be one of relu, tanh, got"),
        ({"char_cnn__n_characters": 60}, "char_cnn.n_characters", "must be one of 261, 262, got"),
        (
            {"char_cnn__max_characters_per_token": 2},
            "char_cnn.max_characters_per_token",
            "must be >= 3, for its filters, got 2",
        ),
        ({"char_cnn": None}, "char_cnn.max_characters_per_token", "it is missing"),
    ],
)
def test_options_of_no_use_are_named(changes, key, says, paths, vocabulary):
    options = {**OPTIONS, **changes} if "char_cnn" in changes else options_with(**changes)
    Path(paths["options"]).write_text(json.dumps(options))
    with pytest.raises(InputError) as caught:
        ELMoEncoder(**paths).build(vocabulary)
    assert (caught.value.path, caught.value.key) == (paths["options"], key)
    assert caught.value.found.startswith(says)


@pytest.mark.parametrize("broken", ["options", "weights"])
@pytest.mark.parametrize("content", [None, b"\x80 no such file"])
def test_files_that_cannot_be_read_are_named(broken, content, paths, vocabulary):
    Path(paths[broken]).unlink()
    if content is not None:
        Path(paths[broken]).write_bytes(content)
    with pytest.raises(InputError) as caught:
        ELMoEncoder(**paths).build(vocabulary)
    assert caught.value.path == paths[broken]
    assert caught.value.key == f"ELMoEncoder: {broken}"
    assert caught.value.found.startswith(f"the {broken} cannot be read (")


@pytest.mark.parametrize("values", [np.full((9, 5), np.nan), np.ones((9, 5), dtype=np.int64)])
def test_weights_that_are_no_finite_numbers_are_named(values, tmp_path, vocabulary):
    paths = save_elmo(tmp_path, weights={**random_weights(), "CNN_proj/W_proj": values})
    with pytest.raises(InputError) as caught:
        ELMoEncoder(**paths).build(vocabulary)
    assert (caught.value.path, caught.value.key) == (paths["weights"], "CNN_proj/W_proj")
    assert caught.value.expected == "finite floating-point numbers"


def test_the_extra_is_named_where_h5py_is_missing(paths, vocabulary, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError) as caught:
        ELMoEncoder(**paths).build(vocabulary)
    assert caught.value.key == "ELMoEncoder: weights"
    assert caught.value.remedy == "run `pip install 'robustparse[elmo]'`"


@pytest.mark.parametrize(
    ("wrong", "limit"),
    [({"hidden": 0}, ">= 1"), ({"lstm_layers": -1}, ">= 0"), ({"dropout": 1.0}, "in [0, 1)")],
)
def test_impossible_sizes_are_refused(wrong, limit):
    (name, value), *_ = wrong.items()
    with pytest.raises(InputError) as caught:
        ELMoEncoder("options.json", "weights.hdf5", **wrong)
    assert caught.value.key == f"ELMoEncoder: {name}"
    assert caught.value.found == f"must be {limit}, got {value}"
