"""Pretrained Transformers: found, loaded and run, offline unless told otherwise.

Only safetensors weights are read: nothing is unpickled. Code that comes with a model is never run.
Every error names what the model is for.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from tokenizers import normalizers
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging
from transformers.utils.hub import cached_file

from robustparse.devices import chosen_device
from robustparse.errors import InputError, located, reason
from robustparse.files import read_json

MASKED_LM, CAUSAL_LM = "masked language model", "causal language model"
ENCODER, TRANSLATOR = "pretrained encoder", "translation model"

WeightPrecision = Literal["float32", "bfloat16", "float64"]
Kind = Literal["masked", "causal"]

_KINDS: dict[Kind | Literal["encoder"], tuple[Any, str]] = {
    "masked": (AutoModelForMaskedLM, MASKED_LM),
    "causal": (AutoModelForCausalLM, CAUSAL_LM),
    "encoder": (AutoModel, ENCODER),
}
# Keys of a model's settings that name code, and those that name an implementation of some layers.
_CODE = (
    *("auto_map", "custom_pipelines", "kernel_config", "quantization_config"),
    *("trust_remote_code", "use_kernels"),
)
_IMPLEMENTATION = re.compile(r"_*(attn|experts)_implementation(_internal)?")
_TOKENIZER_FILES = "tokenizer.json or vocab.txt next to config.json"


class LoadedModel:
    """A pretrained Transformer on its device, in evaluation mode.

    Args:
        model: folder of a saved model, or a hub name.
        kind: a causal or masked language model, or an encoder without a head.
        precision: number format of the model.
        device: `auto` takes a GPU if there is one.
        download: whether a name that is not in the local cache may be fetched.

    Raises:
        InputError: there is no such model or device, the model has no tokenizer, comes with its own
            code, is a masked one without a mask token, or cannot be loaded.
    """

    def __init__(
        self,
        model: str,
        kind: Kind | Literal["encoder"],
        precision: WeightPrecision,
        device: str,
        download: bool,
    ) -> None:
        self.device = torch.device(chosen_device("device", device))
        self.network: PreTrainedModel
        self.tokenizer: PreTrainedTokenizerBase
        self.network, self.tokenizer = _load(*_KINDS[kind], model, download)
        module: torch.nn.Module = self.network
        module.to(device=self.device, dtype=getattr(torch, precision)).eval().requires_grad_(False)
        self._precision = precision

    @property
    def max_pieces(self) -> int:
        """Pieces of a text that the model reads, special ones included."""
        # RoBERTa numbers positions from 2: two places fewer than the table has fit every model.
        positions = int(getattr(self.network.config, "max_position_embeddings", 1 << 20)) - 2
        return min(positions, int(self.tokenizer.model_max_length))

    def padded(self, inputs: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Pad rows of piece ids: ids and attention mask, `(rows, pieces)` each."""
        width = max(len(ids) for ids in inputs)
        padding = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[*ids, *[padding] * (width - len(ids))] for ids in inputs]).long()
        mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids in inputs]).long()
        return ids.to(self.device), mask.to(self.device)

    def logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Compute the logits of every piece, `(rows, pieces, vocabulary)`, in float32 or float64.

        Arguments are as `padded` gives them.
        """
        return self._wide(self.network(input_ids=ids, attention_mask=mask).logits)

    def logits_at(
        self, ids: torch.Tensor, mask: torch.Tensor, columns: torch.Tensor
    ) -> torch.Tensor:
        """Compute the logits of one piece of each row, `(rows, vocabulary)`: that in `columns`."""
        rows = torch.arange(len(ids), device=self.device)
        batch = {"input_ids": ids, "attention_mask": mask}
        if self.head is None:
            return self._wide(self.network(**batch).logits[rows, columns])
        states = self.network.base_model(**batch).last_hidden_state
        return self._wide(self.head(states[rows, columns]))

    @cached_property
    @torch.inference_mode()
    def head(self) -> torch.nn.Module | None:
        """The part that turns one hidden row into logits, if it can be run on its own.

        It costs more than the encoder when it runs on every row. Classes name it differently and
        some put more between encoder and head, so it is used only where it reproduces the logits.
        """
        probe = torch.full((1, 3), self.tokenizer.mask_token_id, device=self.device)
        expected = self.network(input_ids=probe).logits[0, 1]
        for name in ("cls", "lm_head"):
            head = getattr(self.network, name, None)
            if isinstance(head, torch.nn.Module):
                hidden = self.network.base_model(input_ids=probe).last_hidden_state[:, 1]
                logits = head(hidden)
                if logits.shape[1:] == expected.shape and torch.allclose(
                    logits[0].float(), expected.float(), rtol=1e-2, atol=1e-2
                ):
                    return head
        return None

    def _wide(self, logits: torch.Tensor) -> torch.Tensor:
        return logits if self._precision == "float64" else logits.float()


class _Source(NamedTuple):
    """Where a model and its tokenizer are loaded from; errors say what they are for."""

    kind: str
    model: str  # as it was named
    path: str  # a folder, or a hub name
    local: bool

    def refused(self, found: str, expected: str) -> InputError:
        """Return the error of a model that cannot be used."""
        return InputError(found, key=f"{self.kind} {self.model}", expected=expected)


def load_encoder(
    model: str, download: bool, check: Callable[[Mapping[str, Any]], None]
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a Transformer without a head, in float32, and its tokenizer, which reads single words.

    Args:
        model: a folder, or a name in the local cache.
        download: fetch by name what is not in the cache.
        check: is given the model's configuration before the model is loaded.

    Raises:
        InputError: see ``LoadedModel``, or raised by ``check``.
    """
    network, tokenizer = _load(AutoModel, ENCODER, model, download, check, add_prefix_space=True)
    module: torch.nn.Module = network
    module.to(dtype=torch.float32)
    _begin_words_with_a_blank(tokenizer)
    return network, tokenizer


def load_network(
    model: str, download: bool, check: Callable[[Mapping[str, Any]], None]
) -> PreTrainedModel:
    """Load a Transformer without a head, in float32, that reads characters: it has no tokenizer.

    Arguments and errors are those of ``load_encoder``.
    """
    source = _found(ENCODER, model, download, check)
    with quiet():
        network = _network(source, AutoModel)
    module: torch.nn.Module = network
    module.to(dtype=torch.float32)
    return network


def load_translator(model: str, download: bool) -> tuple[Any, PreTrainedTokenizerBase]:
    """Load a sequence-to-sequence Transformer, such as Marian's, in evaluation mode.

    Args:
        model: a folder, or a name in the local cache.
        download: fetch by name what is not in the cache.

    Raises:
        InputError: see ``LoadedModel``.
    """
    network, tokenizer = _load(AutoModelForSeq2SeqLM, TRANSLATOR, model, download)
    module: torch.nn.Module = network
    return module.eval().requires_grad_(False), tokenizer


def model_folder(model: str, download: bool, kind: str = MASKED_LM) -> Path:
    """Find the folder that holds a model's files: itself, or the hub cache's snapshot of a name.

    Args:
        model: a folder, or a name in the local cache.
        download: fetch by name what is not in the cache.
        kind: what the model is, for errors.

    Raises:
        InputError: there is none, or it comes with its own code.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(
                "the folder has no config.json",
                key=f"{kind} {model}",
                expected="what save_pretrained writes (config.json, model.safetensors, tokenizer "
                "files)",
            )
    else:
        path = _cached_folder(model, download, kind)
    _refuse_own_code(path, kind)
    return path


def _cached_folder(model: str, download: bool, kind: str) -> Path:
    try:
        config = cached_file(model, "config.json", local_files_only=not download)
    except (OSError, ValueError) as error:
        remedy = (
            "check the name and the network"
            if download
            else "give the folder of a saved model, or set `download: true` to fetch it by name"
        )
        found = "neither a folder nor a model in the local cache"
        raise InputError(found, key=f"{kind} {model!r}", remedy=remedy) from error
    return Path(str(config)).parent


def refuse_own_modules(model: str, download: bool, kind: str) -> None:
    """Refuse a sentence encoder that is made of other modules than sentence_transformers has.

    The library imports whatever class ``modules.json`` names, from the model's folder too.

    Args:
        model: a folder, or a hub name.
        download: fetch by name what is not in the cache.
        kind: what the model is, for errors.

    Raises:
        InputError: names the file and the key.
    """
    folder = Path(model).expanduser()
    if not folder.is_dir():
        try:
            fetched = cached_file(model, "modules.json", local_files_only=not download)
            cached_file(model, "config.json", local_files_only=not download)
        except (OSError, ValueError):
            return  # the library says what is missing
        folder = Path(str(fetched)).parent
    for config in sorted(folder.rglob("config.json")):
        _refuse_own_code(config.parent, kind)
    modules = folder / "modules.json"
    for module in read_json(modules, list) if modules.is_file() else ():
        class_path = module.get("type") if isinstance(module, dict) else None
        if not str(class_path).startswith("sentence_transformers."):
            raise InputError(
                f"the {kind} names {class_path!r}, whose code is never run",
                path=modules,
                key="type",
                expected="a class of sentence_transformers",
                remedy="choose another model",
            )


def _refuse_own_code(folder: Path, kind: str) -> None:
    """Refuse a model that names code outside of transformers, which loading it would run."""
    for path in (folder / "config.json", folder / "tokenizer_config.json"):
        if path.is_file():
            with located(path):
                refuse_code(_settings(path, kind), kind)


def refuse_code(settings: Mapping[str, Any], kind: str) -> None:
    """Refuse settings of a model that name code outside of transformers.

    Args:
        settings: of a network or a tokenizer, which may hold those of its parts.
        kind: what the model is.

    Raises:
        InputError: names the first such key.
    """
    for key in _keys_of_code(settings):
        raise InputError(
            f"the {kind} names code that is not part of transformers, which is never run",
            key=key,
            expected="a model whose code is part of transformers",
            remedy=f"choose such a model, or take {key} out of its settings if transformers "
            "itself has the code of this one",
        )


def _keys_of_code(settings: object) -> Iterator[str]:
    """Yield the keys by which settings, and settings within them, name code to load.

    An implementation of attention or of experts may be a repository of the hub, or is looked up
    there if its library is missing. So may the kernels of quantized weights.
    """
    if isinstance(settings, list):
        for item in settings:
            yield from _keys_of_code(item)
    elif isinstance(settings, dict):
        for key, value in settings.items():
            names_layers = _IMPLEMENTATION.fullmatch(key) is not None
            if (key in _CODE and value) or (names_layers and not _is_torch(value)):
                yield key
            yield from _keys_of_code(value)


def _is_torch(implementation: object) -> bool:
    """Whether torch itself has an implementation, or all those of parts of the model."""
    if isinstance(implementation, dict):
        return all(map(_is_torch, implementation.values()))
    return implementation in (None, "eager", "sdpa", "batched_mm", "grouped_mm")


def _settings(path: Path, kind: str) -> dict[str, Any]:
    """Read a model's file of settings."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        found = f"the settings of the {kind} cannot be loaded ({reason(error)})"
        raise InputError(found, path=path) from error
    if not isinstance(content, dict):
        found = f"a {type(content).__name__}"
        raise InputError(found, path=path, expected=f"the settings of a {kind}")
    return content


def _found(
    kind: str, model: str, download: bool, check: Callable[[Mapping[str, Any]], None]
) -> _Source:
    """Find a model whose configuration passes a check."""
    folder = model_folder(model, download, kind)
    check(_settings(folder / "config.json", kind))
    # A name stays a name: where only its config.json is cached, the rest is still to be fetched.
    named = not Path(model).expanduser().is_dir()
    path, local = (model, not download) if named else (str(folder), True)
    return _Source(kind, model, path, local)


def _load(
    auto_class: Any,
    kind: str,
    model: str,
    download: bool,
    check: Callable[[Mapping[str, Any]], None] = lambda _: None,
    **tokenizer_options: bool,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    source = _found(kind, model, download, check)
    with quiet():
        tokenizer = _tokenizer(source, tokenizer_options)
        network = _network(source, auto_class)
    rows = getattr(network.config, "vocab_size", None)
    if rows is None:
        expected = "a model that reads the pieces of a vocabulary, such as BERT"
        raise source.refused("its config.json has no vocab_size", expected)
    # Ids may have gaps, so that the number of pieces says little.
    if (last := max(tokenizer.get_vocab().values())) >= rows:
        found = f"its tokenizer has piece ids up to {last}, its weights rows up to {rows - 1}"
        raise source.refused(found, "the tokenizer it was trained with")
    return network, tokenizer


def _tokenizer(source: _Source, options: dict[str, bool]) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            source.path, local_files_only=source.local, trust_remote_code=False, **options
        )
    except Exception as error:  # transformers raises many types for a bad or missing tokenizer
        found = f"its tokenizer cannot be loaded ({reason(error)})"
        raise source.refused(found, _TOKENIZER_FILES) from error
    # Without any file transformers makes up a tokenizer that knows special tokens only.
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise source.refused("it has no tokenizer", _TOKENIZER_FILES)
    if source.kind == MASKED_LM and tokenizer.mask_token_id is None:
        expected = "a tokenizer of a masked language model such as BERT's"
        raise source.refused("its tokenizer has no mask token", expected)
    return tokenizer


def _begin_words_with_a_blank(tokenizer: PreTrainedTokenizerBase) -> None:
    """Let a tokenizer that keeps blanks take each word for a word of its own, as it is in a text.

    The pieces of words after the first begin with a blank: of byte-level tokenizers, and of
    SentencePiece's, which write it as a bar. Only some classes of tokenizers heed
    ``add_prefix_space``. A normalizer puts the blank where no step does, since a step after one
    that splits words would put it before each part of a word.
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
        # Loading may draw initial weights; the caller's random state is not ours to advance.
        with torch.random.fork_rng(devices=[]):
            network, report = auto_class.from_pretrained(
                source.path,
                local_files_only=source.local,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except Exception as error:  # as above: a bad config, missing or truncated weights
        found = f"transformers cannot load it ({reason(error)})"
        expected = f"a {source.kind} with weights in model.safetensors"
        raise source.refused(found, expected) from error
    # A pooler is a head of its own, which a model saved for another task comes without.
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    if missing:
        found = f"its weights lack {missing[0]} and would be random there"
        raise source.refused(found, f"a model saved as a {source.kind}")
    checked: PreTrainedModel = network
    return checked


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield rows of similar length, the longest first, within a budget of padded tokens a list."""
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
