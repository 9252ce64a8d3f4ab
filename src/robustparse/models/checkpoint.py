"""What a robustparse checkpoint holds beside Lightning's own keys, and how it is read safely.

The key ``robustparse`` holds the format's number, the version that wrote it, the parser's
specification (class path and plain arguments, nested) and the vocabulary as lists. Nothing in it is
unpickled beyond what ``weights_only=True`` allows, and only classes of ``robustparse.models`` are
instantiated, and those of modules that the user trusts.
"""

import importlib
import inspect
import warnings
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import torch

from robustparse import __version__, trust
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, reason

FORMAT = 1
KEY = "robustparse"
_OURS = "robustparse.models."
_GIVEN_LATER = ("self", "vocabulary", "init_from")
# What an encoder reads from a file when it is new, and where a checkpoint keeps what was read.
_KEPT = {"model": "stored", "vectors": "vector_words"}


def specification(part: object) -> dict[str, Any]:
    """``{"class_path", "init_args"}`` of an object that keeps every argument as an attribute.

    Paths become strings.

    Raises:
        InputError: no parser could be made of it again: the class is not allowed, or an argument
            is neither plain data nor an object of an allowed class.
    """
    class_path = _class_path(part)
    if not _is_allowed(class_path):
        raise InputError(
            f"no checkpoint of a {class_path} could be loaded: only classes of robustparse.models "
            f"and of trusted modules are",
            remedy=f"add --trust {class_path.partition('.')[0]}",
        )
    names = [n for n in inspect.signature(type(part).__init__).parameters if n not in _GIVEN_LATER]
    arguments: dict[str, Any] = {}
    for name in names:
        value = getattr(part, name)
        value = str(value) if isinstance(value, PurePath) else value
        nested = _is_allowed(_class_path(value))
        if not nested and not _is_plain(value):
            raise InputError(
                f"{class_path}: no checkpoint could hold its {name}, a {_class_path(value)}; "
                "expected int, float, bool, str, None, a list or dictionary of these, or an object "
                "of a class in robustparse.models"
            )
        arguments[name] = specification(value) if nested else value
    return {"class_path": class_path, "init_args": arguments}


def _class_path(part: object) -> str:
    return _class_path_of(type(part))


def _class_path_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_allowed(class_path: str) -> bool:
    return class_path.startswith(_OURS) or trust.allowed(class_path)


def _is_plain(value: object) -> bool:
    """Whether a checkpoint can hold a value; numpy's numbers, though they are floats, it cannot."""
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))  # type: ignore[call-overload]
    if type(value) is dict:
        return all(map(_is_plain, [*value, *value.values()]))
    return value is None or type(value) in (bool, int, float, str)


def instantiate(spec: Mapping[str, Any], **given: Any) -> Any:
    """Return the inverse of ``specification``.

    Raises:
        InputError: the class is none of ours, does not take these arguments, or would read more
            files: a checkpoint holds all that it needs.
    """
    class_path = str(spec.get("class_path"))
    module_name, _, class_name = class_path.rpartition(".")
    try:
        may = _is_allowed(class_path)
        found = getattr(importlib.import_module(module_name), class_name) if may else None
        # What an allowed module imports from elsewhere is not allowed with it.
        if not inspect.isclass(found) or not _is_allowed(_class_path_of(found)):
            raise InputError(
                f"a checkpoint names the class {class_path!r}; only classes of "
                "robustparse.models are loaded, and of trusted modules",
                remedy=None
                if class_path.startswith("robustparse.")
                else f"if you know its code, add --trust {class_path.partition('.')[0]}",
            )
        arguments = {
            name: instantiate(value) if isinstance(value, dict) and "class_path" in value else value
            for name, value in spec["init_args"].items()
        }
        for source, kept in _KEPT.items():
            if arguments.get(source) is not None and arguments.get(kept) is None:
                raise InputError(
                    f"a checkpoint names {source} {arguments[source]!r} without the {kept} that "
                    "were read from there, and nothing else is read or fetched for a checkpoint; "
                    "train the parser again"
                )
        return found(**arguments, **given)
    except (ImportError, AttributeError, KeyError, TypeError) as error:
        raise InputError(
            f"this version of robustparse ({__version__}) cannot make the checkpoint's "
            f"{class_path}: {error}"
        ) from error


def describe(parser: object, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return what to store under ``KEY``."""
    return {
        "format": FORMAT,
        "version": __version__,
        "parser": specification(parser),
        "vocabulary": vocabulary.to_lists(),
    }


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Return a checkpoint's content, on the CPU.

    Raises:
        InputError: the file is missing, truncated, no checkpoint of robustparse, of another
            format, or holds more than plain data.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such checkpoint")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong with the file is said below, once
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a broken or hostile file may raise anything
        raise InputError(
            f"{path}: not a readable checkpoint (truncated, or holding more than tensors and plain "
            f"data, which is never executed): {_refusal(error)}"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get(KEY), dict):
        raise InputError(f"{path}: a checkpoint, but not one that robustparse wrote")
    described = content[KEY]
    if described.get("format") != FORMAT:
        raise InputError(
            f"{path}: checkpoint format {described.get('format')!r} (robustparse "
            f"{described.get('version')}), this version {__version__} reads format {FORMAT}; load "
            "it with the version that wrote it"
        )
    parts = (described.get("parser"), described.get("vocabulary"), content.get("state_dict"))
    if not all(isinstance(part, dict) for part in parts):
        raise InputError(f"{path}: the checkpoint is incomplete; train the parser again")
    return content


def _refusal(error: Exception) -> str:
    """Why torch refuses a file, without its advice on how to load it all the same."""
    *_, said = str(error).rpartition("WeightsUnpickler error:")
    first, *_ = said.strip().split("\n")
    return first.partition(". ")[0] if said != str(error) and first else reason(error)


def held_arguments(content: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """Return the arguments of a part of the parser, its encoder say, that a checkpoint holds.

    Raises:
        InputError: it holds none.
    """
    try:
        arguments: Mapping[str, Any] = content[KEY]["parser"]["init_args"][part]["init_args"]
    except (KeyError, TypeError):
        raise InputError(
            f"the checkpoint does not say what its {part} was; train the parser again"
        ) from None
    return arguments


def fill_weights(
    parser: torch.nn.Module, path: str | Path, weights: Mapping[str, Any], finite: bool = True
) -> None:
    """Load weights.

    Args:
        parser: gets them.
        path: the checkpoint, for errors.
        weights: by name.
        finite: refuse NaN and infinity, with which nothing can be parsed.

    Raises:
        InputError: names or shapes differ from the parser's, or a weight is no number.
    """
    try:
        parser.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(
            f"{path}: its weights do not fit this parser's configuration: "
            f"{' '.join(str(error).split())[:300]}"
        ) from None
    for name, weight in parser.named_parameters() if finite else ():
        # NaN and infinity reach the sum, which takes one quick pass; so may large finite numbers.
        if not weight.detach().sum().isfinite() and not weight.isfinite().all():
            raise InputError(
                f"{path}: its weight {name} holds NaN or infinity: training went wrong before it "
                "was written; take an earlier checkpoint or train the parser again"
            )
