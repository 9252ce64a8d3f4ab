"""Checkpoints: a parser comes back as it was, and nothing in a file is ever executed."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from robustparse import __version__
from robustparse.data.datamodule import Augmentation
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.errors import InputError
from robustparse.models.checkpoint import FORMAT, KEY, instantiate, read_checkpoint, specification
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.load import load
from robustparse.models.optimization import Optimization
from sample_runs import save_checkpoint, trainer
from sample_texts import trained_classifier
from tiny_models import save_classifier


def content(parser: BiaffineParser) -> dict[str, Any]:
    """What Lightning would write of a parser, as far as we read it."""
    held: dict[str, Any] = {"state_dict": parser.state_dict()}
    parser.on_save_checkpoint(held)
    return held


@pytest.fixture
def small(make_parser) -> BiaffineParser:
    return make_parser().float()


@pytest.fixture
def saved(small, tmp_path) -> Path:
    path = tmp_path / "good.ckpt"
    torch.save(content(small), path)
    return path


def rewritten(saved: Path, change: Any) -> Path:
    held = torch.load(saved, weights_only=True)
    change(held)
    path = saved.with_name("changed.ckpt")
    torch.save(held, path)
    return path


def test_a_parser_comes_back_as_it_was(small, saved, examples):
    state = torch.get_rng_state()
    loaded = load(saved)
    assert torch.equal(torch.get_rng_state(), state)
    assert type(loaded) is BiaffineParser
    assert not any(module.training for module in loaded.modules())
    assert loaded.vocabulary == small.vocabulary
    for name, weight in small.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weight), name
    assert specification(loaded) == specification(small)
    batch = loaded.encode(examples).batch(range(3), 1.0)
    assert loaded.predict_step(batch, 0) == small.predict_step(
        small.encode(examples).batch(range(3), 1.0), 0
    )


def test_a_checkpoint_says_which_data_it_was_trained_on(make_parser, treebank, tmp_path):
    """Whatever the seed and the copies; other words or other trees are other data."""
    text, found = treebank.read_text(), {}
    (tmp_path / "words.conllu").write_text(text.replace("\tdog\t", "\tcow\t"))
    (tmp_path / "trees.conllu").write_text(text.replace("\tobl\t", "\tobj\t"))
    for name, path, settings in (
        ("same", treebank, {}),
        ("seed", treebank, {"seed": 1}),
        ("copies", treebank, {"augmentation": Augmentation([str(treebank)])}),
        ("words", tmp_path / "words.conllu", {}),
        ("trees", tmp_path / "trees.conllu", {}),
    ):
        parser = make_parser(dropout=0.0)
        data = TreebankDataModule(train_file=str(path), **settings)
        trainer(max_steps=1).fit(parser, datamodule=data)
        torch.save(content(parser), tmp_path / name)
        found[name] = load(tmp_path / name).trained_on
        assert parser.trained_on == found[name]
    assert found["same"] == found["seed"] == found["copies"]
    assert len({*found.values(), None}) == 4


def test_only_training_changes_what_a_model_was_trained_on(make_parser, treebank, tmp_path):
    parser, data = make_parser(dropout=0.0), TreebankDataModule(folder="sample")
    trainer(max_steps=1).fit(parser, datamodule=TreebankDataModule(train_file=str(treebank)))
    before = content(parser)[KEY]
    trainer(limit_test_batches=1).test(parser, datamodule=data, verbose=False)
    assert content(parser)[KEY] == before


def test_a_trained_parser_continues_from_its_checkpoint(small, saved):
    other = BiaffineParser(
        LSTMEncoder(5, 3, 4, 6, 2), arc_dim=7, label_dim=4, seed=9, init_from=str(saved)
    )
    assert other.vocabulary == small.vocabulary
    for name, weight in small.state_dict().items():
        assert torch.equal(other.state_dict()[name], weight), name


def test_a_specification_holds_plain_data_and_makes_the_same_again(vocabulary):
    encoder = LSTMEncoder(word_dim=6, character_dim=0, hidden=3, layers=1, dropout=0.1)
    optimization = Optimization(learning_rate=1e-3, betas=(0.8, 0.9), schedule="linear")
    parser = BiaffineParser(
        encoder, 5, 3, 0.2, optimization=optimization, seed=4, vocabulary=vocabulary
    )
    described = specification(parser)
    assert described["init_args"]["encoder"]["init_args"]["word_dim"] == 6
    assert described["init_args"]["optimization"]["init_args"]["betas"] == (0.8, 0.9)
    assert not {"vocabulary", "init_from"} & set(described["init_args"])
    again = instantiate(described, vocabulary=vocabulary)
    assert specification(again) == described
    assert again.optimization.schedule == "linear"


@pytest.mark.parametrize("size", [0, 1, 64, 500, 2000, -1])
def test_truncated_files_are_refused(saved, size):
    saved.write_bytes(saved.read_bytes()[:size])
    with pytest.raises(InputError, match=r"good\.ckpt: not a readable checkpoint"):
        load(saved)


def test_a_changed_byte_is_refused_or_changes_nothing(saved):
    good, bytes_ = read_checkpoint(saved), saved.read_bytes()
    refused = 0
    for place in range(0, len(bytes_), 101):
        saved.write_bytes(bytes_[:place] + bytes([bytes_[place] ^ 16]) + bytes_[place + 1 :])
        try:
            held = read_checkpoint(saved)
        except InputError:
            refused += 1
            continue
        assert held[KEY] == good[KEY]
        assert held["state_dict"].keys() == good["state_dict"].keys()
        for name, weight in good["state_dict"].items():
            assert torch.equal(held["state_dict"][name], weight), name
    assert refused > 150


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_refused(tmp_path, seed):
    path = tmp_path / "noise.ckpt"
    generator = torch.Generator().manual_seed(seed)
    path.write_bytes(bytes(torch.randint(0, 256, (300,), generator=generator).tolist()))
    with pytest.raises(InputError, match=r"noise\.ckpt: not a readable checkpoint"):
        load(path)


def test_why_a_file_is_refused_is_said_without_advice_to_load_it(tmp_path):
    (tmp_path / "notes.ckpt").write_text("# Notes\n")
    with pytest.raises(InputError, match=r"never executed\): File is not a zip file;"):
        load(tmp_path / "notes.ckpt")
    torch.save({"a": Hostile}, tmp_path / "class.ckpt")
    with pytest.raises(InputError, match=r"Unsupported global"):
        load(tmp_path / "class.ckpt")


def test_missing_files_and_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.ckpt: no such checkpoint"):
        load(tmp_path / "none.ckpt")
    with pytest.raises(InputError, match="no such checkpoint"):
        load(tmp_path)
    save_classifier(tmp_path / "other")
    for path in (tmp_path / "other", tmp_path / "other" / "model.safetensors", "hf:other"):
        with pytest.raises(InputError) as error:
            load(path)
        assert "--victim hf:" in str(error.value.remedy)


class Hostile:
    """Makes a folder when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("way", ["pickle", "state_dict", "beside"])
def test_code_in_a_file_is_never_executed(saved, tmp_path, way):
    marker = tmp_path / "executed"
    path = tmp_path / "evil.ckpt"
    if way == "pickle":
        path.write_bytes(pickle.dumps(Hostile(marker)))
    elif way == "state_dict":
        torch.save({"state_dict": Hostile(marker)}, path)
    else:
        held = torch.load(saved, weights_only=True)
        torch.save({**held, "callbacks": Hostile(marker)}, path)
    with pytest.raises(InputError, match=r"evil\.ckpt: not a readable checkpoint.*never executed"):
        load(path)
    assert not marker.exists()
    # The trap itself works.
    if way == "pickle":
        pickle.loads(path.read_bytes())
        assert marker.exists()


@pytest.mark.parametrize("held", [[1], {"state_dict": {}}, {KEY: "x"}, {KEY: {}}])
def test_other_checkpoints_are_refused(tmp_path, held):
    path = tmp_path / "other.ckpt"
    torch.save(held, path)
    with pytest.raises(InputError, match=r"other\.ckpt: "):
        read_checkpoint(path)


def test_another_format_names_both_and_the_remedy(saved):
    def change(held: dict[str, Any]) -> None:
        held[KEY].update(format=FORMAT + 1, version="9.9")

    with pytest.raises(InputError) as refused:
        load(rewritten(saved, change))
    error = refused.value
    assert error.path == str(saved.with_name("changed.ckpt"))
    assert error.found == f"format {FORMAT + 1}, and this version {__version__} reads {FORMAT}"
    assert "robustparse 9.9" in error.remedy


@pytest.mark.parametrize("part", ["model", "vocabulary"])
@pytest.mark.parametrize("value", [None, [], "text"])
def test_incomplete_checkpoints_are_refused(saved, part, value):
    with pytest.raises(InputError, match="the checkpoint is incomplete"):
        load(rewritten(saved, lambda held: held[KEY].update({part: value})))


def test_a_checkpoint_without_weights_is_refused(saved):
    with pytest.raises(InputError, match="the checkpoint is incomplete"):
        load(rewritten(saved, lambda held: held.pop("state_dict")))


@pytest.mark.parametrize(
    "class_path",
    [
        "os.mkdir",
        "subprocess.Popen",
        "torch.nn.Linear",
        "robustparse.errors.InputError",
        "robustparse.modelsx.BiaffineParser",
        "robustparse.models.checkpoint.Path",
        "robustparse.models.load.load",  # ours, but no class
        "robustparse.models.load.Model.trainer",
        "BiaffineParser",
        "",
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_foreign_classes_are_refused(saved, tmp_path, class_path, nested):
    marker = tmp_path / "made"

    def change(held: dict[str, Any]) -> None:
        spec = held[KEY]["model"]
        where = spec["init_args"]["encoder"] if nested else spec
        where.update(class_path=class_path, init_args={"path": str(marker)})

    with pytest.raises(InputError, match=r"expected a public class of robustparse\.models"):
        load(rewritten(saved, change))
    assert not marker.exists()


def test_a_class_of_ours_that_is_no_parser_is_refused(saved):
    def change(held: dict[str, Any]) -> None:
        held[KEY]["model"] = {
            "class_path": "robustparse.models.LSTMEncoder",
            "init_args": {},
        }

    with pytest.raises(InputError):
        load(rewritten(saved, change))


def test_a_class_that_is_gone_and_an_argument_too_many_name_the_class(saved):
    def gone(held: dict[str, Any]) -> None:
        held[KEY]["model"]["class_path"] = "robustparse.models.Gone"

    with pytest.raises(InputError, match=r"robustparse\.models\.Gone'; expected a public class"):
        load(rewritten(saved, gone))
    with pytest.raises(InputError, match=r"cannot make .*BiaffineParser: .*unexpected"):
        load(rewritten(saved, lambda held: held[KEY]["model"]["init_args"].update(wings=2)))
    with pytest.raises(InputError, match="cannot make"):
        load(rewritten(saved, lambda held: held[KEY]["model"].pop("init_args")))


@pytest.mark.parametrize(
    "change",
    [
        lambda held: held["state_dict"].update({"arc_attn.weight": torch.zeros(2, 2)}),
        lambda held: held["state_dict"].pop("arc_attn.weight"),
        lambda held: held["state_dict"].update(extra=torch.zeros(1)),
        lambda held: held["state_dict"].update({"arc_attn.weight": "text"}),
        lambda held: held[KEY]["model"]["init_args"].update(arc_dim=9),
        lambda held: held[KEY]["vocabulary"]["words"].append("more"),
    ],
)
def test_weights_that_do_not_fit_are_refused(saved, change):
    with pytest.raises(InputError, match=r"changed\.ckpt: its weights do not fit"):
        load(rewritten(saved, change))


def test_training_resumes_only_with_the_same_vocabulary(small):
    held = content(small)
    small.on_load_checkpoint(held)
    held[KEY]["vocabulary"]["words"].reverse()
    with pytest.raises(InputError, match="trained with another vocabulary"):
        small.on_load_checkpoint(held)


def test_what_is_stored_is_plain(saved, small):
    held = read_checkpoint(saved)[KEY]
    assert held["version"] == __version__
    assert held["vocabulary"] == small.vocabulary.to_lists()


def test_a_model_does_not_start_from_another_class(tmp_path):
    path = save_checkpoint(trained_classifier().float(), tmp_path / "reviews.ckpt")
    with pytest.raises(InputError) as error:
        BiaffineParser(LSTMEncoder(5, 3, 4, 6, 2), init_from=str(path))
    assert (error.value.path, error.value.key) == (str(path), "init_from")
    assert (error.value.found, error.value.expected) == ("holds a WordCNN", "a BiaffineParser")
