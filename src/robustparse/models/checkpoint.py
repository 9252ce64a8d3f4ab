"""What a checkpoint of ours holds in addition to Lightning's keys, and how it is read safely.

The key ``robustparse`` holds the format's number, the version that wrote it, the model's
specification (class path and plain arguments, nested), the vocabulary as lists and, if known, a
digest of the training data. Nothing in it is unpickled beyond what ``weights_only=True`` allows,
and only public classes of ``robustparse.models`` and classes of trusted modules are instantiated.
"""

import importlib
import inspect
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import torch

from robustparse import __version__, trust
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, reason
from robustparse.models.bounds import TRAIN_AGAIN, check_plain, check_weights
from robustparse.models.encoders.base import Encoder

FORMAT = 2
KEY = "robustparse"
_OURS = "robustparse.models"
_FOLDER = 0x10  # the attribute of DOS by which a zip archive marks a folder
_GIVEN_LATER = ("self", "vocabulary", "init_from")
# What an encoder reads from a file when it is new, and where a checkpoint keeps what was read.
_KEPT = {"model": "stored", "weights": "stored", "vectors": "vector_words"}


def specification(part: object) -> dict[str, Any]:
    """Return ``{"class_path", "init_args"}`` of an object that keeps its arguments as attributes.

    Paths become strings.

    Raises:
        InputError: no model could be made of it again: the class is not public, or an argument is
            neither plain data nor an object of a public class.
    """
    class_path = public_path(type(part))
    names = [n for n in inspect.signature(type(part).__init__).parameters if n not in _GIVEN_LATER]
    arguments: dict[str, Any] = {}
    for name in names:
        value = getattr(part, name)
        value = str(value) if isinstance(value, PurePath) else value
        if not _is_plain(value):
            try:
                public_path(type(value))
            except InputError as error:
                key = f"{class_path}: {name}"
                expected = "plain data, or an object of a class that checkpoints may name"
                raise InputError(error.found, key=key, expected=expected) from None
            value = specification(value)
        arguments[name] = value
    return {"class_path": class_path, "init_args": arguments}


def public_path(cls: type) -> str:
    """Return the path by which checkpoints name a class.

    Raises:
        InputError: it is neither a public class of ours nor one of a trusted module.
    """
    own = f"{cls.__module__}.{cls.__qualname__}"
    if getattr(importlib.import_module(_OURS), cls.__name__, None) is cls:
        return f"{_OURS}.{cls.__name__}"
    if not trust.allowed(own):
        raise InputError(
            f"no checkpoint of a {own} could be loaded",
            expected=f"a public class of {_OURS}, or one of a trusted module",
            remedy=f"add {trust.OPTION} {cls.__module__.partition('.')[0]}",
        )
    return own


def _is_plain(value: object) -> bool:
    """Tell whether a checkpoint can hold a value; numpy's numbers, though floats, it cannot."""
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))  # type: ignore[call-overload]
    if type(value) is dict:
        return all(map(_is_plain, [*value, *value.values()]))
    return value is None or type(value) in (bool, int, float, str)


def instantiate(spec: Mapping[str, Any], **given: Any) -> Any:
    """Return the object of a ``specification``.

    Raises:
        InputError: the class is not public, does not take these arguments, runs a program that
            the command line does not allow, or would read more files: a checkpoint holds all that
            it needs.
    """
    class_path = str(spec.get("class_path"))
    module = class_path.rpartition(".")[0]
    if not trust.allowed(class_path) or (module.startswith("robustparse.") and module != _OURS):
        raise InputError(
            f"names the class {class_path!r}",
            expected=f"a public class of {_OURS}, or one of a trusted module",
            remedy=f"if you know its code, add {trust.OPTION} {module.partition('.')[0]}",
        )
    try:
        arguments = {
            name: instantiate(value) if isinstance(value, dict) and "class_path" in value else value
            for name, value in spec["init_args"].items()
        }
        for source, kept in _KEPT.items():
            if arguments.get(source) is not None and arguments.get(kept) is None:
                raise InputError(
                    f"a checkpoint names {source} {arguments[source]!r} without the {kept} that "
                    "were read from there, and nothing else is read or fetched for a checkpoint",
                    remedy="train the model again",
                )
        kind = trust.allowed_class(class_path)
        trust.check_arguments(kind, arguments)
        return kind(**arguments, **given)
    except (ImportError, AttributeError, KeyError, TypeError) as error:
        raise InputError(
            f"this version of robustparse ({__version__}) cannot make the checkpoint's "
            f"{class_path}: {error}"
        ) from error


def describe(
    model: object,
    vocabulary: Vocabulary,
    trained_on: str | None = None,
    data_columns: list[str] | None = None,
) -> dict[str, Any]:
    """Return what to store under ``KEY``.

    Args:
        model: its specification is stored.
        vocabulary: of its training data.
        trained_on: what tells these data from others.
        data_columns: the names of the columns that they were read from.
    """
    return {
        "format": FORMAT,
        "version": __version__,
        "model": specification(model),
        "vocabulary": vocabulary.to_lists(),
        "trained_on": trained_on,
        "data_columns": data_columns,
    }


def read_checkpoint(path: str | Path, key: str | None = None) -> dict[str, Any]:
    """Return a checkpoint's content, on the CPU.

    Args:
        path: of the file.
        key: the option that names it.

    Raises:
        InputError: the file is missing, truncated, no checkpoint of robustparse, of another
            format, or holds more than plain data.
    """
    path = Path(path)
    if not path.is_file():
        others = ", ".join(sorted(other.name for other in path.parent.glob("*.ckpt")))
        remedy = f"{path.parent} has {others}" if others else None
        raise InputError("no such checkpoint", path=path, key=key, remedy=remedy)
    try:
        content = load_plain(path)
    except Exception as error:  # a broken or hostile file may raise anything
        raise InputError(
            "not a readable checkpoint (truncated, damaged, or holding more than tensors and plain "
            f"data, which is never executed): {_refusal(error)}",
            path=path,
            remedy=TRAIN_AGAIN,
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get(KEY), dict):
        raise InputError("a checkpoint, but not one that robustparse wrote", path=path)
    described = content[KEY]
    if (found := described.get("format")) != FORMAT:
        raise InputError(
            f"format {found}, and this version {__version__} reads {FORMAT}",
            path=path,
            remedy=f"load it with robustparse {described.get('version')}, which wrote it",
        )
    parts = (described.get("model"), described.get("vocabulary"), content.get("state_dict"))
    if not all(isinstance(part, dict) for part in parts):
        raise InputError("the checkpoint is incomplete", path=path, remedy="train the model again")
    size = path.stat().st_size
    check_plain(described, path, KEY, _plain_size(path))
    for name, values in described["vocabulary"].items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise InputError("not a list of texts", path=path, key=f"vocabulary: {name}")
    check_weights(content["state_dict"], path, size)
    for name in ("global_step", "epoch"):
        if type(number := content.get(name, 0)) is not int or number < 0:
            raise InputError(f"must be >= 0, got {number!r:.40}", path=path, key=name)
    return content


def load_plain(path: Path, map_location: Any = "cpu") -> Any:
    """Read a file of ``torch.save``: only tensors and plain data, whose checksums hold.

    Such a file is a zip archive with a checksum a member, which torch does not look at.

    Raises:
        Exception: of any kind, where the file is no such archive, damaged or hostile.
    """
    with zipfile.ZipFile(path) as archive:
        # What torch writes is not compressed, so that a file holds no more than its size. Lengths
        # and attributes have no checksum, and torch reads nothing of a member marked as a folder.
        for member in archive.infolist():
            if member.file_size != member.compress_size or member.external_attr & _FOLDER:
                raise zipfile.BadZipFile(f"{member.filename} is not a plain member")
        packed = sum(member.file_size for member in archive.infolist())
        if packed > path.stat().st_size:
            raise zipfile.BadZipFile(f"its members claim {packed} bytes, more than the file has")
        if (damaged := archive.testzip()) is not None:
            raise zipfile.BadZipFile(f"the checksum of {damaged} does not hold")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong with the file is raised
        return torch.load(path, map_location=map_location, weights_only=True)


def _plain_size(path: Path) -> int:
    """Return the bytes of a checkpoint that are not the values of tensors."""
    with zipfile.ZipFile(path) as archive:
        return sum(one.file_size for one in archive.infolist() if one.filename.endswith(".pkl"))


def _refusal(error: Exception) -> str:
    """Why torch refuses a file, without its advice on how to load it all the same."""
    *_, said = str(error).rpartition("WeightsUnpickler error:")
    first, *_ = said.strip().split("\n")
    return first.partition(". ")[0] if said != str(error) and first else reason(error)


def held_arguments(content: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """Return the arguments of a part of the model, such as its encoder, in a checkpoint."""
    try:
        arguments: Mapping[str, Any] = content[KEY]["model"]["init_args"][part]["init_args"]
    except (KeyError, TypeError):
        raise InputError(
            f"the checkpoint does not say what its {part} was", remedy="train the model again"
        ) from None
    return arguments


def check_same_class(model: object, path: str | Path, content: Mapping[str, Any]) -> None:
    """Refuse to start a model from a checkpoint of a class that it does not extend.

    Raises:
        InputError: names both classes.
    """
    held = str(content[KEY]["model"].get("class_path")).rpartition(".")[2]
    if held not in {base.__name__ for base in type(model).__mro__}:
        raise InputError(
            f"holds a {held}",
            path=path,
            key="init_from",
            expected=f"a {type(model).__name__}",
            remedy=f"name a checkpoint of that class, or set the model's class_path to {held}",
        )


def check_same_files(
    encoder: Encoder, vocabulary: Vocabulary, checkpoint: Mapping[str, Any]
) -> None:
    """Refuse to continue a run with other vectors, another tokenizer or another vocabulary."""
    remedy = "resume with the files it was trained with, or start from it with "
    remedy += "model.init_args.init_from"
    if found := encoder.differences(held_arguments(checkpoint, "encoder")):
        raise InputError(
            f"the checkpoint's encoder differs in {' and '.join(found)}", remedy=remedy
        )
    lists = vocabulary.to_lists()  # of which the first checkpoints have one less
    if any(lists.get(name) != found for name, found in checkpoint[KEY]["vocabulary"].items()):
        raise InputError(
            "the checkpoint was trained with another vocabulary than this data gives",
            remedy=remedy,
        )


def fill_weights(
    model: torch.nn.Module, path: str | Path, content: Mapping[str, Any], finite: bool = True
) -> None:
    """Load the weights of a checkpoint's content; with ``finite``, refuse NaN and infinity.

    Raises:
        InputError: names or shapes differ from the model's, or a weight is not finite.
    """
    weights = content["state_dict"]
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        own, held = _shapes(model.state_dict()), _shapes(weights)
        first = next(name for name in {**own, **held} if own.get(name) != held.get(name))
        raise InputError(
            "its weights do not fit this model's configuration: "
            f"{first} is {held.get(first, 'missing')}",
            path=path,
            expected=f"it to be {own.get(first, 'missing')}",
            remedy="give the model the settings that the checkpoint was trained with"
            + _other_settings(model, content[KEY]["model"]),
        ) from None
    for name, weight in model.named_parameters() if finite else ():
        # NaN and infinity reach the sum, which takes one quick pass; so may large finite numbers.
        if not weight.detach().sum().isfinite() and not weight.isfinite().all():
            raise InputError(
                f"its weight {name} holds NaN or infinity: training went wrong before it was "
                "written",
                path=path,
                remedy="take an earlier checkpoint or train the model again",
            )


def _other_settings(model: object, held: Mapping[str, Any]) -> str:
    """Name the numbers in a checkpoint's specification that are not the model's, as options."""
    own = dict(_leaves(specification(model)["init_args"]))
    differing = [
        f" --model.init_args.{name} {value}"
        for name, value in _leaves(held["init_args"])
        if isinstance(value, int)
        and own.get(name, value) != value
        and name != "seed"
        and not name.startswith("optimization.")
    ]
    return ":" + "".join(differing) if differing else ""


def _leaves(settings: Mapping[str, Any], room: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings that hold no others, by their whole names."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{room}{name}.")
        else:
            yield room + name, value


def _shapes(weights: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: f"of shape {list(weight.shape)}" if isinstance(weight, torch.Tensor) else "no tensor"
        for name, weight in weights.items()
    }
