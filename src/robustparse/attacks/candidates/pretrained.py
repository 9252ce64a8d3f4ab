"""Finding, naming and loading a pretrained masked language model, offline unless told otherwise."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging
from transformers.utils.hub import cached_file

from robustparse.errors import InputError

_TOKENIZER_FILES = "expected tokenizer.json or vocab.txt beside config.json"

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
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{path.name} {content}\n".encode())
    return digest.hexdigest()


def load_pretrained(
    model: str, download: bool, precision: Precision, device: torch.device
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The masked language model in evaluation mode, and its tokenizer.

    Only safetensors weights are read: nothing is unpickled.

    Raises:
        InputError: the model is missing, has no tokenizer or no mask token, or cannot be loaded.
    """
    folder = model_folder(model, download)
    # A name stays a name: where only its config.json is cached, the rest is still to be fetched.
    named = not Path(model).expanduser().is_dir()
    source, local = (model, not download) if named else (str(folder), True)
    with _quiet():
        tokenizer = _tokenizer(model, source, local)
        network = _network(model, source, local)
    if len(tokenizer) > network.config.vocab_size:
        raise InputError(
            f"masked language model {model}: its tokenizer has {len(tokenizer)} pieces, its "
            f"weights only {network.config.vocab_size}; expected the tokenizer it was trained with"
        )
    module: torch.nn.Module = network
    module.to(device=device, dtype=getattr(torch, precision)).eval().requires_grad_(False)
    return network, tokenizer


def _tokenizer(model: str, source: str, local: bool) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
    except Exception as error:  # transformers raises many types for a bad or missing tokenizer
        raise InputError(
            f"masked language model {model}: its tokenizer cannot be loaded ({_first(error)}); "
            f"{_TOKENIZER_FILES}"
        ) from error
    # Without any file transformers makes up a tokenizer that knows special tokens only.
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise InputError(f"masked language model {model}: it has no tokenizer; {_TOKENIZER_FILES}")
    if tokenizer.mask_token_id is None:
        raise InputError(
            f"masked language model {model}: its tokenizer has no mask token; expected a tokenizer "
            "of a masked language model such as BERT's"
        )
    return tokenizer


def _network(model: str, source: str, local: bool) -> PreTrainedModel:
    try:
        # Loading may draw initial weights; the caller's random state is not ours to advance.
        with torch.random.fork_rng(devices=[]):
            network, report = AutoModelForMaskedLM.from_pretrained(
                source, local_files_only=local, use_safetensors=True, output_loading_info=True
            )
    except Exception as error:  # as above: a bad config, missing or truncated weights
        raise InputError(
            f"masked language model {model}: transformers cannot load it ({_first(error)}); "
            "expected a masked language model with weights in model.safetensors"
        ) from error
    if report["missing_keys"]:
        raise InputError(
            f"masked language model {model}: its weights lack {sorted(report['missing_keys'])[0]} "
            "and would be random there; expected a model saved with its masked language model head"
        )
    checked: PreTrainedModel = network
    return checked


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' progress bars and load reports off the terminal: errors say it all."""
    log: Any = logging  # untyped in transformers
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()


def _first(error: Exception) -> str:
    """The first line of an error's message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
