"""Shared models: folders and the hub give back the model, and nothing else is read or run."""

import inspect
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file
from test_loadable import SIZES, OwnParser
from tiny_semantic_parsers import EXAMPLES, make

from robustparse import load, trust
from robustparse.api.inputs import system_name
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import (
    BiLSTMTagger,
    InferSent,
    LSTMEncoder,
    Model,
    StackPointerParser,
    WordCNN,
    WordEmbeddings,
    WordLSTM,
)
from robustparse.models.base import Model as Base
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.shared_folder import read_model, write_model
from robustparse.types import Example, Sentence, TagSequence
from tiny_models import TEXTS, examples

CONTRACT = Path(__file__).parents[1] / "contract"
CONFIG, VOCABULARY, WEIGHTS = FILES = ("config.json", "vocabulary.json", "model.safetensors")
ATTRIBUTES = {"trained_on": "ab12", "data_columns": ["text", "label"], "numeric_labels": True}

SEMANTIC = ("TranX that copies", "Coarse2Fine")  # test_encoded_models has Seq2Seq, and encoders
TREES = examples()
LABELS = [Example(each.id, each.sentence, "xy"[each.id % 2]) for each in TREES]
TAGS = [
    Example(each.id, each.sentence, TagSequence(("B-X", *["O"] * (len(each.sentence) - 1))))
    for each in TREES
]


def words_of(data: list[Example]) -> dict[str, Vocabulary]:
    return {"vocabulary": Vocabulary.from_examples(data)}


MADE: dict[str, Callable[[], Model]] = {
    "biaffine": lambda: load(CONTRACT / "tiny.ckpt"),
    "pointer": lambda: StackPointerParser(LSTMEncoder(**SIZES), 4, 3, 3, **words_of(TREES)),
    "tagger": lambda: BiLSTMTagger(LSTMEncoder(**SIZES), crf=True, **words_of(TAGS)),
    "CNN": lambda: WordCNN(WordEmbeddings(5), filters=4, **words_of(LABELS)),
    "LSTM": lambda: WordLSTM(WordEmbeddings(5), hidden=4, **words_of(LABELS)),
    "InferSent": lambda: InferSent(WordEmbeddings(5), 3, **words_of(LABELS)),
    **{kind: (lambda kind=kind: make(kind)) for kind in SEMANTIC},
}


@pytest.mark.parametrize("name", MADE)
def test_a_shared_model_is_the_same_model(name: str, tmp_path: Path) -> None:
    model = MADE[name]().float().eval()
    for attribute, value in ATTRIBUTES.items():
        setattr(model, attribute, value)
    model.save_pretrained(tmp_path / "shared")
    assert {path.name for path in (tmp_path / "shared").iterdir()} == {*FILES}
    again = type(model).from_pretrained(tmp_path / "shared")
    assert type(again) is type(model)
    assert again.vocabulary == model.vocabulary
    torch.testing.assert_close(again.state_dict(), model.state_dict(), rtol=0, atol=0)
    context = ("the", "dog") if model.reads_pairs else ()
    texts = [Sentence(tuple(text.split(" ")), context=context) for text in TEXTS]
    texts = [each.sentence for each in EXAMPLES] if name in SEMANTIC else texts
    assert again.predict(texts) == model.predict(texts)
    assert {key: getattr(again, key) for key in ATTRIBUTES} == ATTRIBUTES
    again.save_pretrained(tmp_path / "again")
    for file in FILES:
        first, second = (tmp_path / folder / file for folder in ("shared", "again"))
        assert first.read_bytes() == second.read_bytes()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    load(CONTRACT / "tiny.ckpt").save_pretrained(tmp_path / "shared")
    return tmp_path / "shared"


def described(**changes: object) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda described, _: described.update(changes)


def named(class_path: str, **arguments: object) -> Callable[[dict[str, Any], object], object]:
    return lambda described, _: described["model"].update(class_path=class_path, **arguments)


def arguments(**changes: object) -> Callable[[dict[str, Any], object], object]:
    return lambda described, _: described["model"]["init_args"].update(changes)


# What a hostile model may say: all its files belong together.
HOSTILE: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "class": named("os.mkdir", init_args={"name": "made"}),
    "function of ours": named("robustparse.models.load.load", init_args={"path": "made"}),
    "class without trust": named("test_loadable.OwnParser"),
    "encoder alone": named("robustparse.models.LSTMEncoder", init_args={}),
    "no arguments": lambda described, _: described["model"].pop("init_args"),
    "large layer": arguments(arc_dim=10**12),
    "file of vectors": lambda described, _: described["model"]["init_args"]["encoder"][
        "init_args"
    ].update(vectors="../vectors.txt"),
    "start": arguments(init_from="tiny.ckpt"),
    "format": described(format=99),
    "no model": described(model=None),
    "words": described(vocabulary={"words": "text"}),
    "weight too few": lambda _, weights: weights.popitem(),
    "weight too many": lambda _, weights: weights.update(extra=torch.zeros(2)),
    "shape": lambda _, weights: weights.update({next(iter(weights)): torch.zeros(1, 1)}),
    "NaN": lambda _, weights: weights.update(
        {name: weight * float("nan") for name, weight in weights.items()}
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_is_refused(
    name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    description, weights = read_model(shared / WEIGHTS)
    HOSTILE[name](description, weights)
    write_model(shared, description, weights)
    with pytest.raises(InputError) as error:
        Model.from_pretrained(shared)
    assert error.value.path == str(shared / WEIGHTS)
    assert not Path("made").exists()


def replaced(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def changed(name: str, old: bytes, new: bytes) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        content = (folder / name).read_bytes()
        assert old in content
        (folder / name).write_bytes(content.replace(old, new, 1))

    return change


def reshaped(folder: Path) -> None:
    save_file(load_file(folder / WEIGHTS), folder / WEIGHTS)  # without the digest


DAMAGED: dict[str, Callable[[Path], object]] = {
    **{f"no {name}": lambda folder, name=name: (folder / name).unlink() for name in FILES},
    **{f"empty {name}": replaced(name, b"") for name in FILES},
    **{
        f"half of {name}": lambda folder, name=name: (folder / name).write_bytes(
            (folder / name).read_bytes()[:1000]
        )
        for name in FILES
    },
    "deep": replaced(CONFIG, b"[" * 100_000),
    "edited": changed(CONFIG, b'"repair"', b'"greedy"'),
    "another word": changed(VOCABULARY, b'"the"', b'"teh"'),
    "no digest": reshaped,
    "pipe": lambda folder: ((folder / CONFIG).unlink(), os.mkfifo(folder / CONFIG)),
    "folder": lambda folder: ((folder / WEIGHTS).unlink(), (folder / WEIGHTS).mkdir()),
    "dangling link": lambda folder: (
        (folder / WEIGHTS).unlink(),
        (folder / WEIGHTS).symlink_to("nowhere"),
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_folder_is_refused(name: str, shared: Path) -> None:
    DAMAGED[name](shared)
    with pytest.raises(InputError) as error:
        Model.from_pretrained(shared)
    assert error.value.path in (str(shared), str(shared / WEIGHTS))


def test_a_changed_bit_is_refused_or_changes_nothing(shared: Path) -> None:
    good = read_model(shared / WEIGHTS)
    for path in map(shared.joinpath, FILES):
        content = path.read_bytes()
        for at in range(0, len(content), len(content) // 40):
            path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
            try:
                Model.from_pretrained(shared)
            except InputError:
                continue
            described, weights = read_model(shared / WEIGHTS)
            assert described == good[0]
            torch.testing.assert_close(weights, good[1], rtol=0, atol=0)
        path.write_bytes(content)


def test_a_class_of_ones_own_needs_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_trusted", {"test_loadable"})
    OwnParser(LSTMEncoder(**SIZES), 3, 3, **words_of(TREES)).save_pretrained(tmp_path / "own")
    assert type(Model.from_pretrained(tmp_path / "own")) is OwnParser
    monkeypatch.setattr(trust, "_trusted", set())
    with pytest.raises(InputError, match="--trust test_loadable"):
        Model.from_pretrained(tmp_path / "own")


def test_another_class_and_another_checkpoint_are_refused(shared: Path) -> None:
    with pytest.raises(InputError) as error:
        WordCNN.from_pretrained(shared)
    assert error.value.expected == "a WordCNN"
    started = BiaffineParser(LSTMEncoder(6, 4, 6, 8, 1), 8, 6, init_from=str(shared))
    torch.testing.assert_close(started.state_dict(), load(shared).state_dict(), rtol=0, atol=0)
    shutil.copy(CONTRACT / "tiny.ckpt", shared / "best.ckpt")
    with pytest.raises(InputError) as error:  # commands would read best.ckpt
        started.save_pretrained(shared)
    assert error.value.path == str(shared)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A hub that keeps what is uploaded in the local cache; the calls."""
    cache, calls = tmp_path / "cache", list[dict[str, Any]]()

    def upload(_: object, repo_id: str, folder_path: Path, **options: Any) -> str:
        commit = f"{len(calls):040}"
        calls.append({"repo_id": repo_id, **options})
        repository = cache / f"models--{repo_id.replace('/', '--')}"
        shutil.copytree(folder_path, repository / "snapshots" / commit)
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / (options["revision"] or "main")).write_text(commit)
        return f"https://hub/{repo_id}/commit/{commit}"

    def create(_: object, repo_id: str, **options: Any) -> huggingface_hub.RepoUrl:
        calls.append({"made": repo_id, **options})
        return huggingface_hub.RepoUrl(f"https://huggingface.co/{repo_id}")

    monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", upload)
    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", create)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    return calls


def test_a_model_goes_to_the_hub_and_comes_back(hub: list[dict[str, Any]]) -> None:
    model = load(CONTRACT / "tiny.ckpt")
    url = model.push_to_hub("me/parser", private=True, commit_message="First")
    assert url.startswith("https://hub/me/parser/commit/")
    assert hub[0] == {"made": "me/parser", "private": True, "exist_ok": True}
    assert hub[1]["commit_message"] == "First"
    model.arc_attn.weight.data.zero_()
    model.push_to_hub("me/parser", branch="v2")
    zeros = {source: not load(source).arc_attn.weight.any() for source in NAMES}
    assert zeros == NAMES
    for options, zero in (({}, False), ({"revision": "v2"}, True)):
        again = Model.from_pretrained("me/parser", **options)
        assert bool(again.arc_attn.weight.any()) is not zero
    assert system_name([str(checkpoint) for checkpoint in [again.checkpoint]]) == "parser"


NAMES = {"hf://me/parser": False, "hf://me/parser@v2": True, f"hf://me/parser@{3:040}": True}


@pytest.mark.parametrize(
    "name",
    ["hf://me/none", "hf://me", "hf://", "hf://../../etc", "hf://me/parser@../../x", "me/none"],
)
def test_what_the_hub_does_not_have_is_refused(name: str, hub: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError):
        Model.from_pretrained(name)
    with pytest.raises(InputError):
        load(name)


@pytest.mark.parametrize("method", ["from_pretrained", "push_to_hub"])
def test_the_arguments_are_those_of_the_hub(method: str) -> None:
    """Except the configuration, which the model makes, and the card."""
    theirs = inspect.signature(getattr(huggingface_hub.ModelHubMixin, method)).parameters
    ours = inspect.signature(getattr(Base, method)).parameters
    left_out = {"config", "model_card_kwargs", "model_kwargs"}
    assert [*ours] == [name for name in theirs if name not in left_out]
    defaults = {name: each.default for name, each in ours.items() if name != "commit_message"}
    assert defaults == {name: theirs[name].default for name in defaults}


def test_a_configuration_is_readable(shared: Path) -> None:
    config = json.loads((shared / CONFIG).read_text())
    assert config["model"]["class_path"] == "robustparse.models.BiaffineParser"
    assert "vocabulary" not in config
