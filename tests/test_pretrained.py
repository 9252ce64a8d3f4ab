"""A model's own Python code is never run, and nobody is asked whether it may."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoModel

from robustparse.errors import InputError
from robustparse.models.encoders.stored import network_of, to_store
from robustparse.pretrained.foreign_code import refuse_own_modules
from robustparse.pretrained.loaded_model import LoadedModel
from robustparse.pretrained.loading import load_encoder, model_folder
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


KERNEL = "kernels-community/flash-attn2"
NAMING_CODE: list[tuple[str, dict[str, object], str]] = [
    *((file, {"auto_map": MAPS[file]}, "auto_map") for file in MAPS),
    ("config.json", {"_attn_implementation": KERNEL}, "_attn_implementation"),
    ("config.json", {"attn_implementation": "somebody/kernel@main:name"}, "attn_implementation"),
    ("config.json", {"_attn_implementation": {"": "sdpa", "x": KERNEL}}, "_attn_implementation"),
    ("config.json", {"_attn_implementation_internal": KERNEL}, "_attn_implementation_internal"),
    ("config.json", {"text_config": {"attn_implementation": KERNEL}}, "attn_implementation"),
    ("config.json", {"attn_implementation": "flash_attention_2"}, "attn_implementation"),
    ("config.json", {"experts_implementation": KERNEL}, "experts_implementation"),
    ("config.json", {"quantization_config": {"quant_method": "mxfp4"}}, "quantization_config"),
    ("config.json", {"parts": [{"trust_remote_code": True}]}, "trust_remote_code"),
]


@pytest.mark.parametrize("how", LOADED)
@pytest.mark.parametrize(("file", "changes", "key"), NAMING_CODE)
def test_a_model_that_names_code_is_refused(
    own: Path, file: str, changes: dict[str, object], key: str, how: str
) -> None:
    edit(own / file, **changes)
    with pytest.raises(InputError) as caught:
        LOADED[how](str(own))
    assert caught.value.path == str(own / file)
    assert caught.value.key == key
    assert not (own.parent / "marker").exists()
    assert not any(name.startswith("transformers_modules.own") for name in sys.modules)


def test_implementations_of_torch_are_accepted(own: Path) -> None:
    edit(own / "config.json", _attn_implementation="eager", text_config={})
    network, _ = load_encoder(str(own), False, lambda _: None)
    assert network.config.hidden_size > 0


def test_a_checkpoint_names_no_kernel(own: Path) -> None:
    """The configuration of an encoder that a checkpoint holds is read like that of a folder."""
    network, tokenizer = load_encoder(str(own), False, lambda _: None)
    stored = to_store("own", network, tokenizer)
    network_of("own", stored)
    settings = {**json.loads(stored["config"]), "attn_implementation": KERNEL}
    with pytest.raises(InputError) as caught:
        network_of("own", {**stored, "config": json.dumps(settings)})
    assert "names code" in caught.value.found


@pytest.mark.parametrize("class_path", ["modeling_own.Own", "subprocess.Popen", None, 5])
def test_a_sentence_encoder_of_other_modules_is_refused(own: Path, class_path: object) -> None:
    usual = {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}
    (own / "modules.json").write_text(json.dumps([usual]))
    refuse_own_modules(str(own), False, "sentence encoder")
    (own / "modules.json").write_text(json.dumps([usual, {**usual, "type": class_path}]))
    with pytest.raises(InputError) as caught:
        refuse_own_modules(str(own), False, "sentence encoder")
    assert (caught.value.path, caught.value.key) == (str(own / "modules.json"), "type")


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
