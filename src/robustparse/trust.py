"""Which classes a recipe, a configuration or a checkpoint may name.

To name a class is to run its code, so a name is checked before anything is imported for it: the
public classes of the package are allowed, a written list of Lightning's and torch's classes in
configurations, and all classes of a module that the user trusts (``--trust my_package``).
"""

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from traceback import walk_tb

from robustparse.errors import InputError, Stopped

PACKAGE = __name__.partition(".")[0]
OPTION = "--trust"
# None of their arguments is a function or an object of any type.
_LISTED: dict[str, tuple[str, ...]] = {
    "pytorch_lightning.callbacks": (
        *("DeviceStatsMonitor", "EarlyStopping", "GradientAccumulationScheduler"),
        *("LearningRateMonitor", "ModelCheckpoint", "ModelSummary", "OnExceptionCheckpoint"),
        *("RichModelSummary", "TQDMProgressBar"),
    ),
    "pytorch_lightning.cli": ("ReduceLROnPlateau",),
    "pytorch_lightning.loggers": ("CSVLogger", "TensorBoardLogger"),
    "pytorch_lightning.plugins": ("AsyncCheckpointIO", "TorchSyncBatchNorm"),
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


def trust(modules: Iterable[str]) -> None:
    """Allow every class of these modules, and find them in the current folder too.

    Args:
        modules: names of packages or modules, each with all that it contains.

    Raises:
        InputError: one is not the name of a module.
    """
    for module in modules:
        root, *_ = parts = module.split(".")
        # jsonargparse could be told by a configuration to import whatever it likes.
        if not all(part.isidentifier() for part in parts) or root == "jsonargparse":
            found = f"{module!r} is not the name of a module that can be trusted"
            raise InputError(found, key=OPTION, expected="my_package")
        _trusted.add(module)
    if _trusted and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that no file there takes a library's place


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
