"""Find the file of a checkpoint."""

import os
from pathlib import Path

from robustparse.errors import InputError
from robustparse.files.paths import remedy_for_url, with_home
from robustparse.files.reading import check_fetched
from robustparse.pretrained.hub import HUB, VOCABULARY, WEIGHTS, fetched

_AS_VICTIM = (
    "a Hugging Face classifier is a victim: give --victim hf:FOLDER, in Python "
    "robustparse.victims.HuggingFaceClassifier(FOLDER)"
)
_CHECKPOINTS = ("best.ckpt", "last.ckpt", WEIGHTS)  # of a run, and of a shared model


def checkpoint_file(path: str | Path, key: str | None = None) -> Path:
    """Return the file of a checkpoint: in the folder of a run ``best.ckpt``, else ``last.ckpt``.

    Args:
        path: the file, the folder of a training run or of a shared model, or a model on the hub
            (``hf://OWNER/NAME``).
        key: the option that names it.

    Raises:
        InputError: there is no such checkpoint, or it was not fetched.
    """
    path = with_home(fetched(path) if isinstance(path, str) and path.startswith(HUB) else path)
    is_folder = os.path.isdir(path)  # noqa: PTH112 - `Path` rejects texts too long for a name
    for file in [path / name for name in _CHECKPOINTS] if is_folder else [path]:
        if os.path.isfile(file):  # noqa: PTH113
            check_fetched(file)
            if file.name == WEIGHTS and not file.with_name(VOCABULARY).is_file():
                problem, expected = f"there is no {VOCABULARY} next to it", "a model of robustparse"
                raise InputError(problem, path=file, key=key, expected=expected, remedy=_AS_VICTIM)
            return file
        if os.path.lexists(file):  # the folder's other checkpoint is not meant
            problem = (
                "a link to a missing file" if Path(file).is_symlink() else "not a regular file"
            )
            raise InputError(problem, path=file, key=key, expected="a checkpoint")
    folder = path if is_folder else path.parent
    others = ", ".join(sorted(other.name for other in folder.glob("*.ckpt") if other.is_file()))
    remedy = f"{folder} has {others}" if others else remedy_for_url(path)
    if path.name.startswith("hf:"):
        remedy = _AS_VICTIM
    raise InputError("no such checkpoint", path=path, key=key, remedy=remedy)
