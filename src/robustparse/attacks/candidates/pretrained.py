"""Finding, naming and loading a pretrained masked language model, offline unless told otherwise."""

import hashlib
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import cached_file

from robustparse.errors import InputError

Precision = Literal["float32", "bfloat16", "float64"]


def model_folder(model: str, download: bool) -> Path:
    """The folder a model's files lie in: itself, or the hub cache's snapshot of a name.

    Raises:
        InputError: there is no such folder, or nothing of that name in the local cache.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(
                f"masked language model {model}: the folder has no config.json; expected what "
                "save_pretrained writes (config.json, model.safetensors, tokenizer files)"
            )
        return path
    try:
        config = cached_file(model, "config.json", local_files_only=not download)
    except (OSError, ValueError) as error:
        remedy = (
            "check the name and the network"
            if download
            else "give the folder of a saved model, or set `download: true` to fetch it by name"
        )
        raise InputError(
            f"masked language model {model!r}: neither a folder nor a model in the local cache; "
            f"{remedy}"
        ) from error
    return Path(str(config)).parent


def files_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of a model folder's files."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            with path.open("rb") as file:
                digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def load_pretrained(
    model: str, download: bool, precision: Precision, device: torch.device
) -> tuple[Any, Any]:
    """The masked language model in evaluation mode, and its tokenizer.

    Only safetensors weights are read: nothing is unpickled.

    Raises:
        InputError: the model is missing, has no tokenizer or no mask token, or cannot be loaded.
    """
    folder = model_folder(model, download)
    source, local = (str(folder), True) if Path(model).expanduser().is_dir() else (model, not download)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
    except Exception as error:  # transformers raises many types for a bad or missing tokenizer
        raise InputError(
            f"masked language model {model}: its tokenizer cannot be loaded ({_first(error)}); "
            "expected tokenizer.json or vocab.txt beside config.json"
        ) from error
    if tokenizer.mask_token_id is None:
        raise InputError(
            f"masked language model {model}: its tokenizer has no mask token; expected a tokenizer "
            "of a masked language model such as BERT's"
        )
    try:
        # Loading may draw initial weights; the caller's random state is not ours to advance.
        with torch.random.fork_rng(devices=[]):
            network = AutoModelForMaskedLM.from_pretrained(
                source,
                local_files_only=local,
                dtype=getattr(torch, precision),
                use_safetensors=True,
            )
    except Exception as error:  # as above: a bad config, missing or truncated weights
        raise InputError(
            f"masked language model {model}: transformers cannot load it ({_first(error)}); "
            "expected a masked language model with weights in model.safetensors"
        ) from error
    return network.eval().requires_grad_(False).to(device), tokenizer


def _first(error: Exception) -> str:
    """The first line of an error's message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
