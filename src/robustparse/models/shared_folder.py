"""The folder of a shared model: ``config.json``, ``vocabulary.json``, ``model.safetensors``.

The first two hold what checkpoints keep under ``KEY``, the last the weights and the digest of the
whole model, so that damage to any of the files is noticed and the weights' file identifies the
model. Nothing is unpickled.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from robustparse.errors import InputError
from robustparse.files.json_text import decode_json
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_bytes
from robustparse.pretrained.hub import CONFIG, VOCABULARY, WEIGHTS

_DIGEST = "robustparse.sha256"  # in the metadata of the weights


def write_model(
    folder: Path, description: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> None:
    """Write a model; the weights come last, so that an incomplete folder is rejected.

    Args:
        folder: the folder, which is made if it does not exist.
        description: plain data; its ``vocabulary`` gets a file of its own.
        weights: the weights by name.

    Raises:
        InputError: the folder holds a checkpoint, which commands would read instead, or it cannot
            be written.
    """
    from safetensors.torch import save

    for checkpoint in make_folder(folder).glob("*.ckpt"):
        problem = f"holds the checkpoint {checkpoint.name}"
        raise InputError(problem, path=folder, remedy="choose another folder")
    config = {key: value for key, value in description.items() if key != "vocabulary"}
    texts = [_json(config), _json(description["vocabulary"])]
    # Weights that share their memory, which safetensors refuses, are written separately.
    plain = {name: weight.detach().cpu().contiguous().clone() for name, weight in weights.items()}
    metadata = {
        _DIGEST: _digest(texts, plain)
    }  # one key only: several would be written in random order
    for name, text in zip((CONFIG, VOCABULARY), texts, strict=True):
        write_bytes(folder / name, text)
    write_bytes(folder / WEIGHTS, save(plain, metadata))


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read a model; its description is JSON, and otherwise unchecked.

    Args:
        path: the file of the weights; the others are next to it.

    Returns:
        The description and the weights.

    Raises:
        Exception: of any kind, if a file is missing, damaged or of another format.
    """
    from safetensors import safe_open

    texts = []
    for name in (CONFIG, VOCABULARY):
        if not (beside := path.with_name(name)).is_file():  # a pipe would never end
            raise FileNotFoundError(f"there is no {name} next to it")
        texts.append(beside.read_bytes())
    with safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if metadata.get(_DIGEST) != _digest(texts, weights):
        raise ValueError(
            f"its files do not belong together, or robustparse did not write {path.name}"
        )
    config, vocabulary = (decode_json(text.decode(), dict) for text in texts)
    return {**config, "vocabulary": vocabulary}, weights


def _json(content: object) -> bytes:
    return f"{json.dumps(content, indent=2, ensure_ascii=False)}\n".encode()


def _digest(texts: list[bytes], weights: Mapping[str, Tensor]) -> str:
    model = hashlib.sha256()
    for text in texts:
        model.update(hashlib.sha256(text).digest())
    for name, weight in sorted(weights.items()):
        model.update(f"{name} {weight.dtype} {list(weight.shape)}\n".encode())
        model.update(weight.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return model.hexdigest()
