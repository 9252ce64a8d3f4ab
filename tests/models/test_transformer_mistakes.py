"""Models and settings that cannot be a pretrained encoder."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    BertTokenizer,
    ByT5Tokenizer,
    CanineConfig,
    CanineModel,
)

from robustparse.errors import InputError
from robustparse.models.checkpoint import KEY
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.load import load
from tiny_models import PIECES, save_bert


def test_wrong_models_are_said(tmp_path, vocabulary):
    def build(path, **options):
        TransformerEncoder(str(path), **options).build(vocabulary)

    with pytest.raises(InputError, match="neither a folder nor a model in the local cache"):
        build(tmp_path / "nowhere")
    folder = save_bert(tmp_path / "bert")
    with pytest.raises(InputError, match=r"must be at most 2, the layers of .*, got 3") as caught:
        build(folder, mix=3)
    assert caught.value.key == "mix"
    shutil.copytree(folder, tmp_path / "mute")
    for path in (tmp_path / "mute").glob("*token*"):
        path.unlink()
    with pytest.raises(InputError, match=r"mute: .*tokenizer"):
        build(tmp_path / "mute", mix=1)
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.word_embeddings.weight"] = weights["embeddings.word_embeddings.weight"][:6]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 6}))
    with pytest.raises(InputError, match=r"has piece ids up to 10, its weights rows up to 5; exp"):
        build(folder, mix=1)


def test_a_tokenizer_without_a_fast_version_is_refused(tmp_path, vocabulary):
    save_bert(tmp_path, layers=1, rows=384)
    for path in tmp_path.glob("*token*"):
        path.unlink()
    ByT5Tokenizer().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="ByT5Tokenizer is a tokenizer without a fast") as caught:
        TransformerEncoder(str(tmp_path), mix=1).build(vocabulary)
    assert caught.value.key == f"pretrained encoder {tmp_path}"
    assert "with a tokenizer.json" in caught.value.expected


def test_an_untested_model_without_pieces_is_refused(tmp_path, vocabulary):
    save_bert(tmp_path, layers=1)  # whose tokenizer stays
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = CanineConfig(**sizes, intermediate_size=16, num_hash_buckets=64)
    CanineModel(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"its config\.json has no vocab_size"):
        TransformerEncoder(str(tmp_path), mix=1, untested=True).build(vocabulary)


@pytest.mark.parametrize("spare", [1024, 1025])
def test_a_tokenizer_far_smaller_than_the_table_has_another_vocabulary(tmp_path, vocabulary, spare):
    rows = len(PIECES) + spare
    folder = save_bert(tmp_path / "bert", layers=1, rows=rows)
    encoder = TransformerEncoder(str(folder), mix=1)
    if spare == 1024:  # as tables are padded to round sizes
        encoder.build(vocabulary)
        assert len(encoder.network.get_input_embeddings().weight) == rows
        return
    with pytest.raises(InputError, match=f"another vocabulary: {len(PIECES)} pieces for.* {rows}"):
        encoder.build(vocabulary)


def test_a_tokenizer_may_leave_ids_out_but_not_pass_the_last_row(tmp_path, vocabulary):
    ids = {piece: id_ for id_, piece in enumerate(PIECES)} | {"dog": 40}
    for rows in (41, 40):
        folder = save_bert(tmp_path / str(rows), layers=1, rows=rows)
        BertTokenizer(vocab=ids).save_pretrained(folder)
        encoder = TransformerEncoder(str(folder), mix=1)
        if rows == 41:
            encoder.build(vocabulary)
            assert encoder.table.describe(["dog"])[0][0, 0] == 40
            continue
        with pytest.raises(InputError, match="has piece ids up to 40, its weights rows up to 39"):
            encoder.build(vocabulary)


def test_a_real_model_is_accepted(shared, vocabulary):
    encoder = TransformerEncoder(str(shared / "models" / "minilm-mlm"), mix=1)
    encoder.build(vocabulary)
    assert len(encoder.network.get_input_embeddings().weight) == 30522


@pytest.mark.parametrize(
    ("wrong", "limit"),
    [
        ({"mix": 0}, ">= 1"),
        ({"lstm_layers": -1}, ">= 0"),
        ({"hidden": 0}, ">= 1"),
        ({"dropout": 1.0}, "in [0, 1)"),
    ],
)
def test_impossible_sizes_are_refused(wrong, limit):
    (name, value), *_ = wrong.items()
    with pytest.raises(InputError) as caught:
        TransformerEncoder("anything", **wrong)
    assert caught.value.key == f"TransformerEncoder: {name}"
    assert caught.value.found == f"must be {limit}, got {value}"


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [("pooling", "first, mean, last"), ("long_sentences", "error, split, truncate")],
)
def test_unknown_choices_are_refused(setting, allowed):
    with pytest.raises(InputError, match=f"must be one of {allowed}, got 'all'") as caught:
        TransformerEncoder("anything", **{setting: "all"})
    assert caught.value.key == f"TransformerEncoder: {setting}"


@pytest.mark.parametrize(
    ("part", "garbage", "says"),
    [
        ("config", "no JSON", "configuration"),
        ("config", '{"model_type": "unheard"}', "configuration"),
        ("config", '{"model_type": "bert", "hidden_size": "much"}', "configuration"),
        ("tokenizer", "{}", "tokenizer"),
        ("special", '{"padding": 0, "unknown": 1, "first": 2, "last": "3"}', "special pieces"),
        ("special", '{"padding": 0}', "special pieces"),
    ],
)
def test_garbage_that_a_checkpoint_holds_of_an_encoder_is_named(
    part, garbage, says, held, tmp_path
):
    path = tmp_path / "parser.ckpt"
    stored = held[KEY]["model"]["init_args"]["encoder"]["init_args"]["stored"]
    torch.save({**held, KEY: _with(held[KEY], stored, {**stored, part: garbage})}, path)
    with pytest.raises(InputError, match=f"its {says} in the checkpoint cannot be used"):
        load(path)


@pytest.fixture(scope="module")
def held(tmp_path_factory, vocabulary) -> dict[str, Any]:
    """The content of a checkpoint."""
    folder = save_bert(tmp_path_factory.mktemp("bert"), layers=1)
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=1), vocabulary=vocabulary)
    content: dict[str, Any] = {"state_dict": parser.state_dict()}
    parser.on_save_checkpoint(content)
    return content


def _with(node: Any, old: Any, new: Any) -> Any:
    """A copy of nested dictionaries with one of them in place of another."""
    if node is old:
        return new
    return {k: _with(v, old, new) for k, v in node.items()} if isinstance(node, dict) else node


@pytest.mark.parametrize("name", ["T5", "Bart", "GPT2", "CLIPText"])
def test_networks_of_untested_types_work_or_are_refused(
    name: str, tmp_path: Path, vocabulary: Any
) -> None:
    """A T5 needs words for its decoder, too; a GPT-2 reads vectors of pieces like a BERT."""
    folder = save_bert(tmp_path, layers=1)
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    sizes: dict[str, Any] = {
        "T5": {"d_model": 16, "d_ff": 16, "d_kv": 8, "num_layers": 1, "num_heads": 2},
        "Bart": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
        | {f"{part}_{what}": 16 for part in ("encoder", "decoder") for what in ("ffn_dim",)}
        | {f"{part}_attention_heads": 2 for part in ("encoder", "decoder")},
        "GPT2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 24},
        "CLIPText": {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
        | {"num_attention_heads": 2, "max_position_embeddings": 24},
    }[name]
    config = getattr(transformers, f"{name}Config")(vocab_size=size, **sizes)
    kind = getattr(transformers, f"{name}Model")
    kind(config).save_pretrained(folder)
    with pytest.raises(InputError) as error:
        TransformerEncoder(str(folder), mix=1).build(vocabulary)
    assert error.value.key == f"pretrained encoder {folder}"
    encoder = TransformerEncoder(str(folder), mix=1, untested=True)
    if name == "GPT2":
        encoder.build(vocabulary)
        return
    with pytest.raises(InputError) as error:
        encoder.build(vocabulary)
    assert error.value.key == f"pretrained encoder {folder}"
