"""Check which classes and programs a recipe, a configuration or a checkpoint may name.

Naming a class runs its code, so names are checked before anything is imported. Files may name the
public classes of the package, the classes of Lightning and torch that are listed below, and all
classes of a module that the user trusts (``--trust my_package``, or ``my_package`` in the
environment variable ``ROBUSTPARSE_TRUST``).

A class that runs a program sets the attribute ``runs_programs = True``. Its ``command``, an
argument or an attribute of the class, is the program's name or a list that begins with the name.
The command line must allow the program (``--trust apertium``) or all programs
(``--trust commands``).
"""

import ast
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from inspect import signature
from pathlib import Path
from traceback import walk_tb
from typing import Any, get_args, get_origin, get_type_hints

from robustparse.errors import InputError, Stopped, did_you_mean, reason, root_cause

PACKAGE = __name__.partition(".")[0]
OPTION = "--trust"
VARIABLE = "ROBUSTPARSE_TRUST"  # of the environment; the same names, separated by commas
HELP = (
    "allow recipes and checkpoints to name classes of this module, which may be in the current "
    "folder, or to run this program, or with `commands` all programs; repeat it, or separate names "
    f"by commas; the environment variable {VARIABLE} allows the same"
)
COMMANDS = "commands"  # the name that stands for all programs
# No argument of these classes is a function or an arbitrary object.
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


def trust(names: Iterable[str], key: str = OPTION) -> None:
    """Allow all classes of modules, also of modules in the current folder, and programs.

    Args:
        names: packages or modules, with everything they contain; programs, as files name them; or
            ``commands`` for all programs.
        key: the option or environment variable that holds the names.

    Raises:
        InputError: a name is neither a module name nor an installed program.
    """
    for name in names:
        root, *_ = parts = name.split(".")
        # Through jsonargparse, a configuration could import any module.
        is_module = all(part.isidentifier() for part in parts) and root != "jsonargparse"
        is_program = name == COMMANDS or (bool(name) and shutil.which(name) is not None)
        if not (is_module or is_program):
            problem = f"{name!r} is neither a module name nor an installed program"
            raise InputError(problem, key=key, expected=f"my_package, a program or {COMMANDS}")
        _programs.add(name)
        # A program's name must not allow a module of the same name in the current folder.
        if is_module and not (is_program and PathFinder.find_spec(root) is None):
            _trusted.add(name)
    if _trusted and (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)  # last, so that no file in it hides a library


def trusted() -> list[str]:
    """Return all names that were trusted in this process."""
    return sorted(_trusted | _programs)


def trusted_modules() -> list[str]:
    """Return the modules that were trusted in this process."""
    return sorted(_trusted)


def allowed(class_path: str) -> bool:
    """Tell whether a class is a public class of the package or belongs to a trusted module."""
    return class_path in public_classes().values() or _is_trusted(class_path)


def check_class(
    class_path: str, *, path: str | Path | None = None, line: int | None = None, key: str
) -> None:
    """Check that a configuration may name a class, without importing anything.

    Args:
        class_path: a class path or a bare class name.
        path: the file that names the class.
        line: the line in the file.
        key: the setting or option that names the class.

    Raises:
        InputError: the class is not allowed; the error says what to write or how to trust it.
    """
    if full_path(class_path) is not None:
        return
    root, _, name = class_path.rpartition(".")
    public = public_classes()
    new = public.get(name)
    if root.partition(".")[0] == PACKAGE and new:
        problem, remedy = f"{class_path} is an older name", f"write {new}"
    elif root and root.partition(".")[0] != PACKAGE:
        problem = f"the class {class_path} is not trusted: naming a class runs its code"
        remedy = f"if you know its code, add {OPTION} {root.partition('.')[0]}"
    else:
        problem = f"{class_path} is not a class of {PACKAGE}"
        remedy = "`robustparse list components` prints the classes; a class of your own is named "
        remedy += f"with its module, and allowed by {OPTION} my_package"
        remedy = " ".join(filter(None, [did_you_mean(name, [*public, *_listed()]), remedy]))
    raise InputError(problem, path=path, line=line, key=key, remedy=remedy)


def allowed_class(class_path: str) -> type:
    """Import a class whose name was checked by `check_class`.

    The name may still lead to an object that a trusted module imports, such as a function of os.

    Raises:
        ImportError, AttributeError: there is no such class.
        InputError: it is a function, or a class of a module that is not trusted.
    """
    module, _, name = class_path.rpartition(".")
    kind: object = getattr(import_module(module), name)
    if not isinstance(kind, type):
        raise InputError(f"{class_path} is not a class; files cannot name functions")
    defined = f"{kind.__module__}.{kind.__qualname__}"
    ours = defined.startswith(f"{PACKAGE}.")
    if not (ours or _is_trusted(defined) or class_path in _listed().values()):
        raise InputError(f"{class_path} is {defined}, which is not trusted")
    return kind


def check_arguments(kind: type, arguments: Mapping[str, Any], key: str | None = None) -> None:
    """Check that an object described by a file or an option runs no untrusted program.

    Args:
        kind: the class of the object.
        arguments: plain arguments of its constructor.
        key: the setting or option that describes the object.

    Raises:
        InputError: the class runs a program that the command line does not allow, or it is a class
            of the package that takes a function, which only Python code can pass.
    """
    if getattr(kind, "runs_programs", False):
        program = _program(kind, arguments)
        if not _programs.intersection((COMMANDS, program)):
            raise InputError(
                f"{kind.__name__} runs the program {program}, which needs your permission",
                key=key,
                remedy=f"if you trust it, add {OPTION} {shlex.quote(program)}, or {OPTION} "
                f"{COMMANDS} for all programs",
            )
    if kind.__module__.partition(".")[0] == PACKAGE and _takes_function(kind):
        raise InputError(
            f"a {kind.__name__} takes a function, which files and options cannot name",
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
    except NameError:  # the module imports some types for type checkers only
        return False
    return any(map(_is_function, hints.values()))


def _is_function(hint: object) -> bool:
    origin = get_origin(hint) or hint
    return origin is Callable or any(map(_is_function, get_args(hint)))


def full_path(name: str) -> str | None:
    """Return the class path of an allowed class from its path or bare name, or None."""
    if "." in name:
        listed = name in _listed().values()
        return name if listed or allowed(name) else None
    return public_classes().get(name) or _listed().get(name)


@cache
def public_classes() -> dict[str, str]:
    """Map bare names of the package's public classes to their class paths."""
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
def failures_of_trusted_code() -> Iterator[None]:
    """Report trusted code that fails, or that ends the program, for example in a constructor.

    Otherwise ``sys.exit()`` in such code would look like a successful command, and an exception
    like a fault of this package.

    Raises:
        InputError: code of a trusted module raised an exception, which names the line, or ended the
            program.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        cause = root_cause(error)
        walked = [*walk_tb(cause.__traceback__)]
        names = [str(frame.f_globals.get("__name__", "")) for frame, _ in walked]
        # Libraries that trusted code calls fail because of it, but code of ours may have a fault.
        ours = [name.partition(".")[0] == PACKAGE for name in names]
        at = max((at for at, name in enumerate(names) if _is_trusted(f"{name}.")), default=-1)
        if at < 0 or any(ours[at:]):
            raise
        frame, line = walked[at]
        raise InputError(
            f"{type(cause).__name__}: {reason(cause)}",
            path=frame.f_code.co_filename,
            line=line,
            key=frame.f_code.co_name,
            remedy="correct your code and run again",
        ) from error
    except SystemExit as end:
        frames = [frame for frame, _ in walk_tb(end.__traceback__)]
        names = [str(frame.f_globals.get("__name__", "")) for frame in frames]
        modules = [name for name in names if _is_trusted(f"{name}.")]
        if not modules or isinstance(end, Stopped):
            raise
        problem = f"{modules[-1]} ended the program with exit status {end.code or 0}"
        raise InputError(problem, key=OPTION, remedy="let it raise an exception") from end


def _is_trusted(class_path: str) -> bool:
    return any(class_path.startswith(f"{module}.") for module in _trusted)
