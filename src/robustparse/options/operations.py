"""Operations that ``--perturbed`` and ``--operations`` name, such as ``typos,final_stop``."""

import json
import os
from collections.abc import Sequence
from inspect import isabstract

from robustparse import perturbations
from robustparse.errors import InputError
from robustparse.options.arguments import each_option
from robustparse.perturbations.perturbation import Perturbation, plain_name

_OPTIONS = ("--operations", "--perturbed")


def with_operations(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with the names of operations as classes.

    A name is ``final_stop`` for the public class `FinalStop`, or the path of a custom class.
    A list in YAML or JSON, which may hold settings, stays as it is. A folder of perturbed texts is
    given to ``--perturbed_files``.

    Raises:
        InputError: a name is none of these.
    """
    kept: list[str] = []
    for name, value, tokens in each_option(arguments):
        named = name in _OPTIONS and value is not None and not value.lstrip().startswith("[")
        is_folder = "/" in str(value) or os.path.isdir(str(value))  # noqa: PTH112 - of any length
        if name == "--perturbed" and named and is_folder:
            kept += [f"--perturbed_files={value}"]
        else:
            kept += [f"{name}={_classes(name, str(value))}"] if named else tokens
    return kept


def _classes(option: str, value: str) -> str:
    """Return the classes of names that commas separate, as JSON."""
    public = _public_operations()
    names = [name.strip() for name in value.split(",")]
    unknown = [name for name in names if name not in public and "." not in name]
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
