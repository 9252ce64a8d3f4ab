"""Finding and loading pretrained Transformers, offline unless told otherwise.

Only safetensors weights are read: nothing is unpickled. Every error names what the model is for.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import normalizers
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging
from transformers.utils.hub import cached_file

from robustparse.devices import chosen_device
from robustparse.errors import InputError

_BAR = "\u2581"  # SentencePiece's blank
_TOKENIZER_FILES = "expected tokenizer.json or vocab.txt beside config.json"

MASKED_LM, CAUSAL_LM = "masked language model", "causal language model"
ENCODER = "pretrained encoder"

Precision = Literal["float32", "bfloat16", "float64"]
Kind = Literal["masked", "causal"]


def model_folder(model: str, download: bool, kind: str = MASKED_LM) -> Path:
    """Return the folder a model's files lie in: itself, or the hub cache's snapshot of a name.

    Args:
        model: a folder, or a name in the local cache.
        download: fetch by name what is not in the cache.
        kind: what the model is, for errors.

    Raises:
        InputError: there is no such folder, or nothing of that name in the local cache.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(
                f"{kind} {model}: the folder has no config.json; expected what "
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
            f"{kind} {model!r}: neither a folder nor a model in the local cache; {remedy}"
        ) from error
    return Path(str(config)).parent


def load_pretrained(
    model: str,
    download: bool,
    precision: Precision,
    device: torch.device,
    kind: Kind = "masked",
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Return the language model in evaluation mode, and its tokenizer.

    Raises:
        InputError: the model is missing, has no tokenizer, no mask token if it is a masked one, or
            cannot be loaded.
    """
    if kind == "masked":
        network, tokenizer = _load(AutoModelForMaskedLM, MASKED_LM, model, download)
    else:
        network, tokenizer = _load(AutoModelForCausalLM, CAUSAL_LM, model, download)
    module: torch.nn.Module = network
    module.to(device=device, dtype=getattr(torch, precision)).eval().requires_grad_(False)
    return network, tokenizer


def load_encoder(model: str, download: bool) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Return a Transformer without a head, in float32, and its tokenizer, which reads words one by
    one.

    Raises:
        InputError: the model is missing, has no tokenizer or one of another vocabulary, or cannot
            be loaded.
    """
    network, tokenizer = _load(AutoModel, ENCODER, model, download, add_prefix_space=True)
    module: torch.nn.Module = network
    module.to(dtype=torch.float32)
    _begin_words_with_a_blank(tokenizer)
    return network, tokenizer


def _load(
    auto_class: Any, kind: str, model: str, download: bool, **tokenizer_options: bool
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    folder = model_folder(model, download, kind)
    # A name stays a name: where only its config.json is cached, the rest is still to be fetched.
    named = not Path(model).expanduser().is_dir()
    source, local = (model, not download) if named else (str(folder), True)
    with quiet():
        tokenizer = _tokenizer(kind, model, source, local, tokenizer_options)
        network = _network(auto_class, kind, model, source, local)
    rows = getattr(network.config, "vocab_size", None)
    if rows is None:
        raise InputError(
            f"{kind} {model}: its config.json has no vocab_size; expected a model that reads the "
            "pieces of a vocabulary, such as BERT"
        )
    # Ids may have gaps, so that the number of pieces says little.
    if (last := max(tokenizer.get_vocab().values())) >= rows:
        raise InputError(
            f"{kind} {model}: its tokenizer has piece ids up to {last}, its weights rows up "
            f"to {rows - 1}; expected the tokenizer it was trained with"
        )
    return network, tokenizer


def _tokenizer(
    kind: str, model: str, source: str, local: bool, options: dict[str, bool]
) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local, **options)
    except Exception as error:  # transformers raises many types for a bad or missing tokenizer
        raise InputError(
            f"{kind} {model}: its tokenizer cannot be loaded ({first_line(error)}); "
            f"{_TOKENIZER_FILES}"
        ) from error
    # Without any file transformers makes up a tokenizer that knows special tokens only.
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise InputError(f"{kind} {model}: it has no tokenizer; {_TOKENIZER_FILES}")
    if kind == MASKED_LM and tokenizer.mask_token_id is None:
        raise InputError(
            f"{kind} {model}: its tokenizer has no mask token; expected a tokenizer of a masked "
            "language model such as BERT's"
        )
    return tokenizer


def _begin_words_with_a_blank(tokenizer: PreTrainedTokenizerBase) -> None:
    """Let a tokenizer that keeps blanks take each word for a word of its own, as it is in a text.

    The pieces of words behind the first begin with a blank: of byte-level tokenizers, and of
    SentencePiece's, which write it as a bar. Only some classes of tokenizers heed
    ``add_prefix_space``. A normalizer puts the blank where no step does, since a step behind one
    that splits words would put it before each part of a word.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return
    content = json.loads(backend.to_str())
    replacing = _steps(content["normalizer"], "normalizers")
    splitting = _steps(content["pre_tokenizer"], "pretokenizers")
    keeping = [step for step in splitting if step["type"] in ("ByteLevel", "Metaspace")]
    bars = {"type": "Replace", "pattern": {"String": " "}, "content": _BAR} in replacing
    put = any(step["type"] == "Prepend" for step in replacing) or any(
        step.get("add_prefix_space") or step.get("prepend_scheme", "never") != "never"
        for step in keeping
    )
    if (keeping or bars) and not put:
        before = [] if backend.normalizer is None else [backend.normalizer]
        blank = normalizers.Prepend(_BAR if bars else " ")
        backend.normalizer = normalizers.Sequence([*before, blank])


def _steps(top: dict[str, Any] | None, inner: str) -> list[dict[str, Any]]:
    """Return the steps that a tokenizer's file names, one or a sequence of them."""
    steps: list[dict[str, Any]] = [] if top is None else top.get(inner, [top])
    return steps


def _network(auto_class: Any, kind: str, model: str, source: str, local: bool) -> PreTrainedModel:
    try:
        # Loading may draw initial weights; the caller's random state is not ours to advance.
        with torch.random.fork_rng(devices=[]):
            network, report = auto_class.from_pretrained(
                source, local_files_only=local, use_safetensors=True, output_loading_info=True
            )
    except Exception as error:  # as above: a bad config, missing or truncated weights
        raise InputError(
            f"{kind} {model}: transformers cannot load it ({first_line(error)}); "
            f"expected a {kind} with weights in model.safetensors"
        ) from error
    # A pooler is a head of its own, which a model saved for another task comes without.
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise InputError(
            f"{kind} {model}: its weights lack {missing[0]} and would be random there; expected a "
            f"model saved as a {kind}"
        )
    checked: PreTrainedModel = network
    return checked


def named_device(name: str) -> torch.device:
    """Return the device of a name; `auto` takes a GPU if there is one.

    Raises:
        InputError: there is no such device.
    """
    return torch.device(chosen_device("device", name))


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Rows of similar length, the longest first; each list within a budget of padded tokens."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    begin = 0
    while begin < len(order):
        # The longest comes first: it fixes how many rows fit the budget.
        rows = order[begin : begin + max(1, budget // max(1, lengths[order[begin]]))]
        begin += len(rows)
        yield rows


@contextmanager
def quiet() -> Iterator[None]:
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


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
