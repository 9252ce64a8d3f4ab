"""Masked language models that cannot be loaded, and settings out of range."""

import json
from pathlib import Path

import pytest
import torch
from attack_fakes import example
from tiny_language_models import VOCABULARY
from transformers import BertConfig, BertModel, BertTokenizer

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.masked_lm import MaskedLM
from robustparse.errors import InputError

SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def broken(folder: Path, tmp_path: Path, case: str) -> str:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    if case == "no tokenizer":
        for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
            (tmp_path / name).unlink(missing_ok=True)
    elif case == "other tokenizer":
        BertTokenizer(vocab=VOCABULARY | {"more": len(VOCABULARY)}).save_pretrained(tmp_path)
    elif case == "no head":
        config = BertConfig(vocab_size=len(VOCABULARY), **SIZES)
        BertModel(config).save_pretrained(tmp_path)
    elif case == "no mask":
        config = json.loads((tmp_path / "tokenizer_config.json").read_text())
        config["mask_token"] = None
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    elif case == "no config":
        (tmp_path / "config.json").unlink()
    elif case == "bad config":
        (tmp_path / "config.json").write_text("{")
    elif case == "no weights":
        (tmp_path / "model.safetensors").unlink()
    elif case == "torn weights":
        weights = tmp_path / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
    elif case == "pickled weights":
        (tmp_path / "model.safetensors").unlink()
        torch.save({}, tmp_path / "pytorch_model.bin")
    elif case == "not masked":
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))
    elif case == "no folder":
        return str(tmp_path / "absent")
    elif case == "no name":
        return "bert-of-nobody"
    return str(tmp_path)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("no folder", "neither a folder nor a model in the local cache"),
        ("no name", "set `download: true`"),
        ("no config", "no config.json"),
        ("no tokenizer", "it has no tokenizer"),
        ("other tokenizer", "its tokenizer has piece ids up to 24, its weights rows up to 23"),
        ("no head", r"weights lack cls\.predictions"),
        ("no mask", "no mask token"),
        ("bad config", "cannot be loaded"),
        ("no weights", "transformers cannot load it"),
        ("torn weights", "transformers cannot load it"),
        ("pickled weights", "transformers cannot load it"),
        ("not masked", "transformers cannot load it"),
    ],
)
def test_what_cannot_be_loaded(bert: Path, tmp_path: Path, case: str, message: str) -> None:
    model = broken(bert, tmp_path, case)
    slot = Slot(0, example("a cat", "DT NN").sentence, 1)
    with pytest.raises(InputError, match=message):
        MaskedLM(model).propose([slot], seed=0)


def test_bad_settings() -> None:
    with pytest.raises(InputError, match="top_k must be >= 1"):
        MaskedLM("x", top_k=0)
    with pytest.raises(InputError, match="sample must not exceed top_k, got 99 of 50"):
        MaskedLM("x", top_k=50)
