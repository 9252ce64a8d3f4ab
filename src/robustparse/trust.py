"""Which classes, functions and programs a recipe, a configuration or a checkpoint may name.

To name a class is to run its code, so a name is checked before anything is imported for it: the
public classes of the package are allowed, a written list of Lightning's and torch's classes in
configurations, and all classes of a module that the user trusts (``--trust my_package``).

A class whose objects run a program says so with the attribute ``runs_programs = True``. Its
``command``, an argument or an attribute of the class, is the program's name, or a list that begins
with it. The command line must allow the program (``--trust apertium``), or all programs
(``--trust commands``).
"""

import ast
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from inspect import signature
from pathlib import Path
from traceback import walk_tb
from typing import Any, get_args, get_origin, get_type_hints

from robustparse.errors import InputError, Stopped

PACKAGE = __name__.partition(".")[0]
OPTION = "--trust"
COMMANDS = "commands"  # the name that stands for all programs
# None of their arguments is a function or an object of any type.
_LISTED: dict[str, tuple[str, ...]] = {
    "pytorch_lightning.callbacks": (
        *("DeviceStatsMonitor", "EarlyStopping", "GradientAccumulationScheduler"),
        *("LearningRateMonitor", "ModelCheckpoint", "ModelSummary", "OnExceptionCheckpoint"),
        *("RichModelSummary", "TQDMProgressBar"),
    ),
    "pytorch_lightning.cli": ("ReduceLROnPlateau",),
    "pytorch_lightning.loggers": ("CSVLogger", "TensorBoardLogger"),
    "pytorch_lightning.plugins": ("TorchSyncBatchNorm",),
    "pytorch_lightning.plugins.environments": (
        *("LightningEnvironment", "SLURMEnvironment", "TorchElasticEnvironment"),
    ),
    "pytorch_lightning.profilers": ("AdvancedProfiler", "PassThroughProfiler", "SimpleProfiler"),
    "pytorch_lightning.strategies": ("ModelParallelStrategy", "SingleDeviceStrategy"),
    "torch.optim": (
        *("ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam"),
        *("RAdam", "RMSprop", "Rprop", "SGD"),
    ),
    "torch.optim.lr_scheduler": (
        *("ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR"),
        *("LinearLR", "MultiStepLR", "OneCycleLR", "PolynomialLR", "StepLR"),
    ),
}
_trusted: set[str] = set()
_programs: set[str] = set()


def trust(names: Iterable[str]) -> None:
    """Allow every class of some modules, found in the current folder too, and some programs.

    Args:
        names: of packages or modules, each with all that it contains; of programs, as files name
            them; or ``commands`` for all programs.

    Raises:
        InputError: one is neither the name of a module nor of a program that is installed.
    """
    for name in names:
        root, *_ = parts = name.split(".")
        # jsonargparse could be told by a configuration to import whatever it likes.
        is_module = all(part.isidentifier() for part in parts) and root != "jsonargparse"
        is_program = name == COMMANDS or (bool(name) and shutil.which(name) is not None)
        if not (is_module or is_program):
            found = f"{name!r} is neither the name of a module nor of a program that is installed"
            raise InputError(found, key=OPTION, expected=f"my_package, a program or {COMMANDS}")
        _programs.add(name)
        # The name of a program does not also allow a file of the current folder.
        if is_module and not (is_program and PathFinder.find_spec(root) is None):
            _trusted.add(name)
    if _trusted and (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)  # last, so that no file there takes a library's place


def trusted() -> list[str]:
    """Name all that was trusted in this process, as `trust` takes it."""
    return sorted(_trusted | _programs)


def trusted_modules() -> list[str]:
    """Name the modules that were trusted in this process."""
    return sorted(_trusted)


def allowed(class_path: str) -> bool:
    """Say whether a class is a public one of the package or is in a trusted module."""
    return class_path in public_classes().values() or _is_trusted(class_path)


def check_class(
    class_path: str, *, path: str | Path | None = None, line: int | None = None, key: str
) -> None:
    """Refuse a class that a configuration may not name; nothing is imported.

    Args:
        class_path: as given, with its module or as a bare name.
        path: of the file.
        line: in it.
        key: the setting or the option.

    Raises:
        InputError: names the class, and what to write instead or how to trust it.
    """
    if full_path(class_path) is not None:
        return
    root, _, name = class_path.rpartition(".")
    public = public_classes()
    new = public.get(name)
    if root.partition(".")[0] == PACKAGE and new:
        found, remedy = f"{class_path} is an older name", f"write {new}"
    elif root and root.partition(".")[0] != PACKAGE:
        found = f"the class {class_path} is not trusted: naming a class runs its code"
        remedy = f"if you know its code, add {OPTION} {root.partition('.')[0]}"
    else:
        near = get_close_matches(name, [*public, *_listed()], n=1)
        found = f"{class_path} is not a class of {PACKAGE}"
        remedy = f"did you mean {near[0]}? " if near else ""
        remedy += "docs/reference/parts.md lists the classes; a class of your own is named "
        remedy += f"with its module, and allowed by {OPTION} my_package"
    raise InputError(found, path=path, line=line, key=key, remedy=remedy)


def allowed_class(class_path: str) -> type:
    """Import a class that a file names, by a name that was checked.

    A trusted module also holds what it imports itself, such as functions of the module os.

    Raises:
        ImportError, AttributeError: there is none of this name.
        InputError: it is a function, or a class of a module that is not trusted.
    """
    module, _, name = class_path.rpartition(".")
    kind: object = getattr(import_module(module), name)
    if not isinstance(kind, type):
        raise InputError(f"{class_path} is not a class; functions are never named")
    defined = f"{kind.__module__}.{kind.__qualname__}"
    ours = defined.startswith(f"{PACKAGE}.")
    if not (ours or _is_trusted(defined) or class_path in _listed().values()):
        raise InputError(f"{class_path} is {defined}, which is not trusted")
    return kind


def check_arguments(kind: type, arguments: Mapping[str, Any], key: str | None = None) -> None:
    """Refuse an object that a file or an option describes, where it runs a program or a function.

    Args:
        kind: its class.
        arguments: of the constructor, plain values.
        key: the setting or the option.

    Raises:
        InputError: the class runs a program that the command line does not allow; or it is one of
            the package's and takes a function, which only Python can give.
    """
    if getattr(kind, "runs_programs", False):
        program = _program(kind, arguments)
        if not _programs.intersection((COMMANDS, program)):
            raise InputError(
                f"{kind.__name__} runs the program {program}, which no file may start by itself",
                key=key,
                remedy=f"if you know it, add {OPTION} {shlex.quote(program)}, or {OPTION} "
                f"{COMMANDS} for all programs",
            )
    if kind.__module__.partition(".")[0] == PACKAGE and _takes_function(kind):
        raise InputError(
            f"a {kind.__name__} takes a function, which no file and no option names",
            key=key,
            remedy=f"make it in Python, or name a class of your own and add {OPTION} my_package",
        )


def _program(kind: type, arguments: Mapping[str, Any]) -> str:
    command = arguments.get("command", getattr(kind, "command", None))
    if command is None:
        parameter = signature(kind).parameters.get("command")
        command = kind.__name__ if parameter is None else parameter.default
    return str(command[0] if isinstance(command, list | tuple) and command else command)


def _takes_function(kind: type) -> bool:
    try:
        hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    except NameError:  # of names that its file imports only for type checkers
        return False
    return any(map(_is_function, hints.values()))


def _is_function(hint: object) -> bool:
    origin = get_origin(hint) or hint
    return origin is Callable or any(map(_is_function, get_args(hint)))


def full_path(name: str) -> str | None:
    """Return the class path of an allowed class, whose name may be bare, or None."""
    if "." in name:
        listed = name in _listed().values()
        return name if listed or allowed(name) else None
    return public_classes().get(name) or _listed().get(name)


@cache
def public_classes() -> dict[str, str]:
    """Return the class paths of the package's public classes by their bare names."""
    found: dict[str, str] = {}
    for stub in sorted(Path(__file__).parent.glob("*/__init__.pyi")):
        for statement in ast.parse(stub.read_text("utf-8")).body:
            if isinstance(statement, ast.ImportFrom):
                names = [each.asname or each.name for each in statement.names]
                found |= {name: f"{PACKAGE}.{stub.parent.name}.{name}" for name in names}
    return found


@cache
def _listed() -> dict[str, str]:
    return {name: f"{module}.{name}" for module, names in _LISTED.items() for name in names}


@contextmanager
def trusted_code_may_not_exit() -> Iterator[None]:
    """Report code of a trusted module that ends the program, in a constructor for example.

    Without this, ``sys.exit()`` there would look like a command that has done its work.

    Raises:
        InputError: names the module.
    """
    try:
        yield
    except SystemExit as end:
        frames = [frame for frame, _ in walk_tb(end.__traceback__)]
        names = [str(frame.f_globals.get("__name__", "")) for frame in frames]
        modules = [name for name in names if _is_trusted(f"{name}.")]
        if not modules or isinstance(end, Stopped):
            raise
        found = f"{modules[-1]} ended the program with exit status {end.code or 0}"
        raise InputError(found, key=OPTION, remedy="let it raise an exception") from end


def _is_trusted(class_path: str) -> bool:
    return any(class_path.startswith(f"{module}.") for module in _trusted)
