"""Finds pretrained Transformers and loads them, offline unless told otherwise.

Only safetensors weights are read: nothing is unpickled. Every error names what the model is for.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import normalizers
from transformers import (
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging
from transformers.utils.hub import cached_file

from robustparse.errors import InputError, reason
from robustparse.files.reading import check_fetched
from robustparse.pretrained.foreign_code import refuse_own_code, settings_in

MASKED_LM, CAUSAL_LM = "masked language model", "causal language model"
ENCODER, TRANSLATOR = "pretrained encoder", "translation model"
CLASSIFIER, TAGGER = "classifier", "tagger"

_READ = ("*.safetensors", "*.json", "*.model")  # files of a model that may be large
_TOKENIZER_FILES = "tokenizer.json or vocab.txt next to config.json"


def load_encoder(
    model: str, download: bool, check: Callable[[Mapping[str, Any]], None]
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a Transformer without a head, in float32, and a tokenizer that reads single words.

    See ``load`` for arguments and errors.
    """
    network, tokenizer = load(AutoModel, ENCODER, model, download, check, add_prefix_space=True)
    module: torch.nn.Module = network
    module.to(dtype=torch.float32)
    _begin_words_with_a_blank(tokenizer)
    return network, tokenizer


def load_network(
    model: str, download: bool, check: Callable[[Mapping[str, Any]], None]
) -> PreTrainedModel:
    """Load a Transformer without a head or tokenizer, in float32; it reads characters.

    See ``load`` for arguments and errors.
    """
    source = _source(ENCODER, model, download, check)
    with quiet():
        network = _network(source, AutoModel)
    module: torch.nn.Module = network
    module.to(dtype=torch.float32)
    return network


def load_translator(model: str, download: bool) -> tuple[Any, PreTrainedTokenizerBase]:
    """Load a sequence-to-sequence Transformer, such as Marian's, in evaluation mode.

    See ``load`` for arguments and errors.
    """
    network, tokenizer = load(AutoModelForSeq2SeqLM, TRANSLATOR, model, download)
    module: torch.nn.Module = network
    return module.eval().requires_grad_(False), tokenizer


def load(
    auto_class: Any,
    kind: str,
    model: str,
    download: bool,
    check: Callable[[Mapping[str, Any]], None] = lambda _: None,
    **tokenizer_options: bool,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a network and its tokenizer.

    Args:
        auto_class: the class of transformers that loads the network.
        kind: what the model is, for errors.
        model: a folder, or a name in the local cache.
        download: whether to download a model that is not in the cache.
        check: receives the model's configuration before the model is loaded.
        tokenizer_options: passed to the tokenizer.

    Raises:
        InputError: see ``LoadedModel``, or raised by ``check``.
    """
    source = _source(kind, model, download, check)
    with quiet():
        tokenizer = _tokenizer(source, tokenizer_options)
        network = _network(source, auto_class)
    rows = getattr(network.config, "vocab_size", None)
    if rows is None:
        expected = "a model that reads the pieces of a vocabulary, such as BERT"
        raise source.refused("its config.json has no vocab_size", expected)
    # Ids may have gaps, so the largest one is compared, not the number of pieces.
    if (last := max(tokenizer.get_vocab().values())) >= rows:
        message = f"its tokenizer has piece ids up to {last}, its weights rows up to {rows - 1}"
        raise source.refused(message, "the tokenizer it was trained with")
    return network, tokenizer


def model_folder(model: str, download: bool, kind: str = MASKED_LM) -> Path:
    """Return the folder with a model's files: the folder itself, or its snapshot in the hub cache.

    Args:
        model: a folder, or a name in the local cache.
        download: whether to download a model that is not in the cache.
        kind: what the model is, for errors.

    Raises:
        InputError: there is no such model, a file of it was not fetched, or it names code of its
            own.
    """
    if not isinstance(model, str | Path):
        expected = "the folder of a saved model, or its name on the hub"
        remedy = "save it with save_pretrained, and its tokenizer too"
        raise InputError(f"got {model!r:.60}", key=kind, expected=expected, remedy=remedy)
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(
                "the folder has no config.json",
                key=f"{kind} {model}",
                expected="what save_pretrained writes (config.json, model.safetensors, tokenizer "
                "files)",
            )
        for file in chain.from_iterable(map(path.glob, _READ)):
            check_fetched(file)
    else:
        path = _cached_folder(model, download, kind)
    refuse_own_code(path, kind)
    return path


def output_names(path: Path, settings: Mapping[str, Any]) -> list[str]:
    """Return the names of a classifier's or tagger's outputs, in their order.

    Args:
        path: the model's config.json.
        settings: its content.

    Raises:
        InputError: the outputs are not numbered from 0.
    """
    # Without names, transformers takes LABEL_0, LABEL_1 and so on, by default two.
    unnamed = {number: f"LABEL_{number}" for number in range(settings.get("num_labels") or 2)}
    named = settings.get("id2label") or unnamed
    names = {str(key): str(named[key]) for key in named} if isinstance(named, dict) else {}
    numbers = [str(number) for number in range(len(named))]
    if names.keys() != set(numbers):
        expected = 'a name for each output, numbered from 0: {"0": "no", "1": "yes"}'
        raise InputError(f"got {named!r:.60}", path=path, key="id2label", expected=expected)
    return [names[number] for number in numbers]


def _cached_folder(model: str, download: bool, kind: str) -> Path:
    try:
        config = cached_file(model, "config.json", local_files_only=not download)
    except (OSError, ValueError) as error:
        remedy = (
            "check the name and the network"
            if download
            else "give the folder of a saved model, or set `download: true` to fetch it by name"
        )
        message = "neither a folder nor a model in the local cache"
        raise InputError(message, key=f"{kind} {model!r}", remedy=remedy) from error
    return Path(str(config)).parent


class _Source(NamedTuple):
    """The location of a model and its tokenizer, and the kind of model for errors."""

    kind: str
    model: str  # as it was named
    path: str  # a folder, or a hub name
    local: bool

    def refused(self, message: str, expected: str) -> InputError:
        """Return the error of a model that cannot be used."""
        return InputError(message, key=f"{self.kind} {self.model}", expected=expected)


def _source(
    kind: str, model: str, download: bool, check: Callable[[Mapping[str, Any]], None]
) -> _Source:
    """Locate a model and check its configuration."""
    folder = model_folder(model, download, kind)
    check(settings_in(folder / "config.json", kind))
    # A name remains a name, since the cache may hold only config.json and the rest is downloaded.
    named = not Path(model).expanduser().is_dir()
    path, local = (model, not download) if named else (str(folder), True)
    return _Source(kind, model, path, local)


def _tokenizer(source: _Source, options: dict[str, bool]) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            source.path, local_files_only=source.local, trust_remote_code=False, **options
        )
    except Exception as error:  # transformers raises many types for a bad or missing tokenizer
        message = f"its tokenizer cannot be loaded ({reason(error)})"
        raise source.refused(message, _TOKENIZER_FILES) from error
    # If there is no file, transformers returns a tokenizer with only special tokens.
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise source.refused("it has no tokenizer", _TOKENIZER_FILES)
    if source.kind == MASKED_LM and tokenizer.mask_token_id is None:
        expected = "a tokenizer of a masked language model such as BERT's"
        raise source.refused("its tokenizer has no mask token", expected)
    return tokenizer


def _begin_words_with_a_blank(tokenizer: PreTrainedTokenizerBase) -> None:
    """Make tokenizers that encode blanks treat a single word like a word inside a text.

    In byte-level and SentencePiece tokenizers, the pieces of words after the first begin with a
    blank (written as a bar in SentencePiece). Only some tokenizer classes respect
    ``add_prefix_space``; for the others a normalizer adds the blank. It cannot be a later step,
    which would add the blank to every part of a word that an earlier step splits.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return
    splitting = json.loads(backend.to_str())["pre_tokenizer"] or {}
    steps = splitting.get("pretokenizers", [splitting])
    keeping = [step for step in steps if step.get("type") in ("ByteLevel", "Metaspace")]
    put = any(
        step.get("add_prefix_space") or step.get("prepend_scheme", "never") != "never"
        for step in keeping
    )
    if keeping and not put:
        before = [] if backend.normalizer is None else [backend.normalizer]
        backend.normalizer = normalizers.Sequence([*before, normalizers.Prepend(" ")])


def _network(source: _Source, auto_class: Any) -> PreTrainedModel:
    try:
        # Loading may draw initial weights, which must not advance the global random state.
        with torch.random.fork_rng(devices=[]):
            network, report = auto_class.from_pretrained(
                source.path,
                local_files_only=source.local,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except Exception as error:  # many types: a bad config, missing or truncated weights
        message = f"transformers cannot load it ({reason(error)})"
        expected = f"a {source.kind} with weights in model.safetensors"
        raise source.refused(message, expected) from error
    # A model saved for another task may lack the pooler, which is not used here.
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    if missing:
        message = f"its weights lack {missing[0]} and would be random there"
        raise source.refused(message, f"a model saved as a {source.kind}")
    checked: PreTrainedModel = network
    return checked


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the progress bars and load reports of transformers."""
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
