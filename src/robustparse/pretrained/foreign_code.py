"""Rejects pretrained models that name code outside of the libraries, which loading would run."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from transformers.utils.hub import cached_file

from robustparse.errors import InputError, located, reason
from robustparse.files.json_text import read_json

# Settings that name code, and settings that name an implementation of some layers.
_CODE = (
    *("auto_map", "custom_pipelines", "kernel_config", "quantization_config"),
    *("trust_remote_code", "use_kernels"),
)
_IMPLEMENTATION = re.compile(r"_*(attn|experts)_implementation(_internal)?")


def refuse_code(settings: Mapping[str, Any], kind: str) -> None:
    """Reject settings that name code outside of transformers.

    Args:
        settings: settings of a network or tokenizer, possibly nested.
        kind: what the model is, for errors.

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
    """Yield the keys, also in nested settings, that name code to load.

    An implementation of attention or of experts may be a repository on the hub, or is searched for
    there if its library is missing. The same holds for kernels of quantized weights.
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
    """Tell whether an implementation, or each one in a dictionary, is part of torch."""
    if isinstance(implementation, dict):
        return all(map(_is_torch, implementation.values()))
    return implementation in (None, "eager", "sdpa", "batched_mm", "grouped_mm")


def refuse_own_code(folder: Path, kind: str) -> None:
    """Reject a model folder whose settings name code outside of transformers."""
    for path in (folder / "config.json", folder / "tokenizer_config.json"):
        if path.is_file():
            with located(path):
                refuse_code(settings_in(path, kind), kind)


def refuse_own_modules(model: str, download: bool, kind: str) -> None:
    """Reject a sentence encoder with modules that are not part of sentence_transformers.

    The library imports any class that ``modules.json`` names, even from the model's folder.

    Args:
        model: a folder, or a hub name.
        download: whether to download a model that is not in the cache.
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
        refuse_own_code(config.parent, kind)
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


def settings_in(path: Path, kind: str) -> dict[str, Any]:
    """Read a model's file of settings."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        message = f"the settings of the {kind} cannot be loaded ({reason(error)})"
        raise InputError(message, path=path) from error
    if not isinstance(content, dict):
        message = f"a {type(content).__name__}"
        raise InputError(message, path=path, expected=f"the settings of a {kind}")
    return content
