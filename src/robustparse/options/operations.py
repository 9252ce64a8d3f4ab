"""Operations that ``--perturbed`` and ``--operations`` name, such as ``typos,final_stop``."""

import json
import os
from collections.abc import Sequence
from inspect import isabstract

import yaml

from robustparse import perturbations
from robustparse.errors import InputError
from robustparse.options.tokens import each_option
from robustparse.options.yaml_files import parse_yaml
from robustparse.perturbations.perturbation import Perturbation, plain_name

_OPTIONS = ("--operations", "--perturbed")


def with_operations(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with the names of operations as classes.

    A name is ``final_stop`` for the public class `FinalStop`, or the path of a custom class. Names
    may also be a list in YAML or JSON; a list with settings stays as it is. A folder of perturbed
    texts is given to ``--perturbed_files``.

    Raises:
        InputError: a name is none of these, or an option is given twice.
    """
    kept: list[str] = []
    seen = set[tuple[str, bool]]()
    for name, value, tokens in each_option(arguments):
        value = _joined(name, value) if name in _OPTIONS and value is not None else value
        named = name in _OPTIONS and value is not None and not value.lstrip().startswith("[")
        of_files = name == "--perturbed" and named and _is_path(str(value))
        if name in _OPTIONS and (name, of_files) in seen:
            raise InputError("given twice", key=name, remedy="separate names by commas")
        seen.add((name, of_files))
        if of_files:
            kept += [f"--perturbed_files={value}"]
        else:
            kept += [f"{name}={_classes(name, str(value))}"] if named else tokens
    return kept


def _is_path(value: str) -> bool:
    """Return whether a value is a path, not names of operations."""
    is_file = "." in value and os.path.isfile(value)  # noqa: PTH113 - of any length
    return "/" in value or is_file or os.path.isdir(value)  # noqa: PTH112 - of any length


def _joined(option: str, value: str) -> str:
    """Join a list of names by commas; other values stay as they are."""
    node = parse_yaml(value, key=option) if value.lstrip().startswith("[") else None
    items = node.value if isinstance(node, yaml.SequenceNode) else []
    if not items or not all(isinstance(item, yaml.ScalarNode) for item in items):
        return value
    return ",".join(item.value for item in items)


def _classes(option: str, value: str) -> str:
    """Return the classes of names that commas separate, as JSON."""
    if "(" in value:  # as the pages write settings
        remedy = "write settings as '[{class_path: Typos, init_args: {edits: [swap]}}]'"
        raise InputError(f"got {value!r:.60}", key=option, expected="names", remedy=remedy)
    public = _public_operations()
    names = [name.strip() for name in value.split(",")]
    known = {*public, *public.values()}
    unknown = [name for name in names if name not in known and "." not in name]
    if unknown:
        remedy = "name a class of your own with its module, as my_package.MyOperation"
        if option == "--perturbed":
            remedy += "; write the path of a folder of perturbed texts with a slash, as ./perturbed"
        raise InputError(
            f"got {unknown[0]!r}",
            key=option,
            expected=f"some of {', '.join(sorted(public))}, separated by commas",
            remedy=remedy,
        )
    return json.dumps([{"class_path": public.get(name, name)} for name in names])


def _public_operations() -> dict[str, str]:
    """Return the names of the package's classes by their plain names."""
    public = (getattr(perturbations, name) for name in perturbations.__all__)
    operations = [
        kind for kind in public if issubclass(kind, Perturbation) and not isabstract(kind)
    ]
    return {plain_name(kind): kind.__name__ for kind in operations}
