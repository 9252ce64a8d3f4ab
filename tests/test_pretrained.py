"""A model's own Python code is never run, and nobody is asked whether it may."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoModel

from robustparse.errors import InputError
from robustparse.pretrained import LoadedModel, load_encoder, model_folder
from tiny_models import save_bert

CODE = """
from pathlib import Path
Path({marker!r}).touch()
from transformers import BertConfig, BertModel, BertTokenizer
class OwnConfig(BertConfig):
    model_type = "own"
class OwnModel(BertModel):
    config_class = OwnConfig
class OwnTokenizer(BertTokenizer):
    pass
"""
MAPS = {
    "config.json": {
        "AutoConfig": "own.OwnConfig",
        **dict.fromkeys(("AutoModel", "AutoModelForMaskedLM"), "own.OwnModel"),
        "AutoModelForCausalLM": "own.OwnModel",
    },
    "tokenizer_config.json": {"AutoTokenizer": ["own.OwnTokenizer", None]},
}
LOADED: dict[str, Callable[[str], object]] = {
    "encoder": lambda folder: load_encoder(folder, False, lambda _: None),
    "masked": lambda folder: LoadedModel(folder, "masked", "float32", "cpu", False),
    "causal": lambda folder: LoadedModel(folder, "causal", "float32", "cpu", True),
    "folder": lambda folder: model_folder(folder, False),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("plain"), layers=1)


@pytest.fixture
def own(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with code that leaves a marker; whoever asks on standard input is told yes."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    folder = tmp_path / "own"
    shutil.copytree(plain, folder)
    (folder / "own.py").write_text(CODE.format(marker=str(tmp_path / "marker")))
    return folder


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("how", LOADED)
@pytest.mark.parametrize("file", MAPS)
def test_a_model_with_its_own_code_is_refused(own: Path, file: str, how: str) -> None:
    edit(own / file, auto_map=MAPS[file])
    with pytest.raises(InputError, match="its own Python code, which is never run") as caught:
        LOADED[how](str(own))
    assert caught.value.path == str(own / file)
    assert caught.value.key == "auto_map"
    assert "choose such a model" in caught.value.remedy
    assert not (own.parent / "marker").exists()
    assert not any(name.startswith("transformers_modules.own") for name in sys.modules)


def test_the_code_would_leave_its_mark(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the test above would show nothing."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(own.parent))
    monkeypatch.syspath_prepend(str(own.parent))
    edit(own / "config.json", auto_map=MAPS["config.json"], model_type="own")
    AutoModel.from_pretrained(own, trust_remote_code=True)
    assert (own.parent / "marker").exists()


@pytest.mark.parametrize("content", ["{", "[" * 100_000, "[1]", '"bert"'])
def test_broken_settings_are_named(own: Path, content: str) -> None:
    (own / "config.json").write_text(content)
    with pytest.raises(InputError) as caught:
        LOADED["encoder"](str(own))
    assert caught.value.path == str(own / "config.json")
