"""Describes models in checkpoints, and reads checkpoints and shared models safely.

In addition to Lightning's keys, a checkpoint has the key ``robustparse``: the number of the format,
the version that wrote it, the model's specification (class path and plain arguments, nested), the
vocabulary as lists and, if known, a digest of the training data. Nothing is unpickled beyond
``weights_only=True``, and only public classes of ``robustparse.models`` and classes of trusted
modules are instantiated.
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
from robustparse.files.checkpoints import checkpoint_file
from robustparse.models.checkpoint_limits import TRAIN_AGAIN, check_plain, check_weights
from robustparse.models.encoders.base import Encoder
from robustparse.models.shared_folder import read_model
from robustparse.pretrained.hub import CONFIG, VOCABULARY, WEIGHTS

FORMAT = 2
KEY = "robustparse"
_OURS = "robustparse.models"
_FOLDER = 0x10  # the DOS attribute of folders in a zip archive
_NOT_DESCRIBED = ("vocabulary", "init_from")
# Arguments that name a file, and the arguments in which a checkpoint keeps its content.
_KEPT = {"model": "stored", "weights": "stored", "vectors": "vector_words", "encoding": "clusters"}


def specification(module: object) -> dict[str, Any]:
    """Return ``{"class_path", "init_args"}`` of an object that keeps its arguments as attributes.

    Paths become strings.

    Raises:
        InputError: the class is not public, or an argument is neither plain data nor an object of
            a public class.
    """
    class_path = public_path(type(module))
    arguments: dict[str, Any] = {}
    for name in argument_names(type(module)):
        if name in _NOT_DESCRIBED:
            continue
        value = getattr(module, name)
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


def argument_names(cls: type) -> list[str]:
    """Return the names of a constructor's arguments, including those of its base class."""
    names: dict[str, None] = {}
    for base in cls.__mro__:
        parameters = inspect.signature(base.__init__).parameters.values()  # type: ignore[misc]
        names |= dict.fromkeys(each.name for each in parameters if each.kind != each.VAR_KEYWORD)
        if not any(each.kind == each.VAR_KEYWORD for each in parameters):
            break
    names.pop("self", None)
    return [*names]


def public_path(cls: type) -> str:
    """Return the path by which checkpoints name a class.

    Raises:
        InputError: it is neither a public class of ours nor one of a trusted module.
    """
    path = f"{cls.__module__}.{cls.__qualname__}"
    if getattr(importlib.import_module(_OURS), cls.__name__, None) is cls:
        return f"{_OURS}.{cls.__name__}"
    if not trust.allowed(path):
        raise InputError(
            f"checkpoints of {path} could not be loaded",
            expected=f"a public class of {_OURS}, or one of a trusted module",
            remedy=f"add {trust.OPTION} {cls.__module__.partition('.')[0]}",
        )
    return path


def _is_plain(value: object) -> bool:
    """Tell whether a checkpoint can hold a value; it cannot hold numbers of numpy."""
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))  # type: ignore[call-overload]
    if type(value) is dict:
        return all(map(_is_plain, [*value, *value.values()]))
    return value is None or type(value) in (bool, int, float, str)


def instantiate(spec: Mapping[str, Any], **further: Any) -> Any:
    """Return the object of a ``specification``, made with further arguments.

    Raises:
        InputError: the class is not public, does not take these arguments, runs a program that
            the command line does not allow, or would read another file.
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
                    f"the checkpoint names {source} {arguments[source]!r} but lacks its content "
                    f"({kept}), and other files are not read",
                    remedy="train the model again",
                )
        kind = trust.allowed_class(class_path)
        trust.check_arguments(kind, arguments)
        return kind(**arguments, **further)
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
    numeric_labels: bool = False,
) -> dict[str, Any]:
    """Return what to store under ``KEY``.

    Args:
        model: the model.
        vocabulary: the vocabulary of its training data.
        trained_on: the digest of these data.
        data_columns: the names of their columns.
        numeric_labels: whether their labels are numbers in their file.
    """
    return {
        "format": FORMAT,
        "version": __version__,
        "model": specification(model),
        "vocabulary": vocabulary.to_lists(),
        "trained_on": trained_on,
        "data_columns": data_columns,
        "numeric_labels": numeric_labels,
    }


def read_checkpoint(path: str | Path, key: str | None = None) -> dict[str, Any]:
    """Return a checkpoint's content, on the CPU.

    Args:
        path: the file, or a folder (`checkpoint_file`).
        key: the option that names the file.

    Raises:
        InputError: the file is missing or damaged, is not a checkpoint of robustparse, has another
            format, or holds more than plain data.
    """
    path = checkpoint_file(path, key)
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
    if (number := described.get("format")) != FORMAT:
        raise InputError(
            f"format {number}, and this version {__version__} reads {FORMAT}",
            path=path,
            remedy=f"load it with robustparse {described.get('version')}, which wrote it",
        )
    needed = (described.get("model"), described.get("vocabulary"), content.get("state_dict"))
    if not all(isinstance(value, dict) for value in needed):
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
    """Read a file of ``torch.save`` that holds only tensors and plain data, or a shared model.

    The former is a zip archive. Its members have checksums, which torch does not check.

    Raises:
        Exception: of any kind, if the file is damaged, hostile or of another format.
    """
    if path.name == WEIGHTS:
        described, weights = read_model(path)
        return {KEY: described, "state_dict": weights}
    with zipfile.ZipFile(path) as archive:
        # Torch does not compress, so that the content is not larger than the file. Checksums do not
        # cover lengths and attributes, and torch skips members that are marked as folders.
        for member in archive.infolist():
            if member.file_size != member.compress_size or member.external_attr & _FOLDER:
                raise zipfile.BadZipFile(f"{member.filename} is not a plain member")
        packed = sum(member.file_size for member in archive.infolist())
        if packed > path.stat().st_size:
            raise zipfile.BadZipFile(f"its members claim {packed} bytes, more than the file has")
        if (damaged := archive.testzip()) is not None:
            raise zipfile.BadZipFile(f"the checksum of {damaged} does not hold")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bad file raises an exception
        return torch.load(path, map_location=map_location, weights_only=True)


def _plain_size(path: Path) -> int:
    """Return the size of a checkpoint in bytes, without the values of tensors."""
    if path.name == WEIGHTS:
        return sum(path.with_name(name).stat().st_size for name in (CONFIG, VOCABULARY))
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        return sum(member.file_size for member in members if member.filename.endswith(".pkl"))


def _refusal(error: Exception) -> str:
    """Return torch's reason to reject a file, without its advice on how to load it anyway."""
    *_, message = str(error).rpartition("WeightsUnpickler error:")
    first, *_ = message.strip().split("\n")
    return first.partition(". ")[0] if message != str(error) and first else reason(error)


def model_arguments(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of the model in a checkpoint."""
    return _arguments(content[KEY]["model"], "itself")


def encoder_arguments(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of the model's encoder in a checkpoint."""
    return _arguments(model_arguments(content).get("encoder"), "its encoder")


def _arguments(described: Any, what: str) -> Mapping[str, Any]:
    arguments = described.get("init_args") if isinstance(described, dict) else None
    if not isinstance(arguments, dict):
        problem = f"the checkpoint does not describe {what}"
        raise InputError(problem, remedy="train the model again")
    return arguments


def check_same_class(
    model: object, content: Mapping[str, Any], key: str, path: str | Path | None = None
) -> None:
    """Check that a model may start from a checkpoint: of its class, or of one that it extends.

    Args:
        model: the model.
        content: the checkpoint's content.
        key: the setting that names the checkpoint.
        path: the checkpoint.

    Raises:
        InputError: names both classes.
    """
    stored = str(content[KEY]["model"].get("class_path")).rpartition(".")[2]
    if stored not in {base.__name__ for base in type(model).__mro__}:
        raise InputError(
            f"holds a {stored}",
            path=path,
            key=key,
            expected=f"a {type(model).__name__}",
            remedy=f"name a checkpoint of that class, or set the model's class_path to {stored}",
        )


def check_same_files(
    encoder: Encoder, vocabulary: Vocabulary, checkpoint: Mapping[str, Any]
) -> None:
    """Check that a run continues with the same vectors, tokenizer and vocabulary."""
    remedy = "resume with the files it was trained with, or start from it with "
    remedy += "model.init_args.init_from"
    if differences := encoder.differences(encoder_arguments(checkpoint)):
        problem = f"the checkpoint's encoder differs in {' and '.join(differences)}"
        raise InputError(problem, remedy=remedy)
    lists = vocabulary.to_lists()
    if any(lists.get(name) != stored for name, stored in checkpoint[KEY]["vocabulary"].items()):
        raise InputError(
            "the checkpoint was trained with another vocabulary than this data gives",
            remedy=remedy,
        )


def fill_weights(
    model: torch.nn.Module, path: str | Path, content: Mapping[str, Any], finite: bool = True
) -> None:
    """Load the weights of a checkpoint's content; with ``finite``, reject NaN and infinity.

    Raises:
        InputError: names or shapes differ from the model's, or a weight is not finite.
    """
    weights = content["state_dict"]
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        needed, stored = _shapes(model.state_dict()), _shapes(weights)
        first = next(name for name in needed | stored if needed.get(name) != stored.get(name))
        raise InputError(
            "its weights do not fit this model's configuration: "
            f"{first} is {stored.get(first, 'missing')}",
            path=path,
            expected=f"it to be {needed.get(first, 'missing')}",
            remedy="give the model the settings that the checkpoint was trained with"
            + _other_settings(model, content[KEY]["model"]),
        ) from None
    for name, weight in model.named_parameters() if finite else ():
        # The quick sum is not finite if a weight is not; large finite weights need the slow check.
        if not weight.detach().sum().isfinite() and not weight.isfinite().all():
            raise InputError(
                f"its weight {name} holds NaN or infinity: training went wrong before it was "
                "written",
                path=path,
                remedy="take an earlier checkpoint or train the model again",
            )


def _other_settings(model: object, stored: Mapping[str, Any]) -> str:
    """Return the integers in which a checkpoint's specification differs, as options."""
    settings = dict(_leaves(specification(model)["init_args"]))
    differing = [
        f" --model.init_args.{name} {value}"
        for name, value in _leaves(stored["init_args"])
        if isinstance(value, int)
        and settings.get(name, value) != value
        and name != "seed"
        and not name.startswith("optimization.")
    ]
    return ":" + "".join(differing) if differing else ""


def _leaves(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the innermost settings with their full names."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _shapes(weights: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: f"of shape {list(weight.shape)}" if isinstance(weight, torch.Tensor) else "no tensor"
        for name, weight in weights.items()
    }
