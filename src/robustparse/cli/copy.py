"""``robustparse copy``: an installed recipe or configuration as a file of the user's own."""

from pathlib import Path

from robustparse.errors import InputError
from robustparse.files import write_text
from robustparse.recipes.installed import installed_file


def copy(name: str, out: str | None = None) -> None:
    """Copy an installed recipe or configuration into the current folder, for editing.

    Args:
        name: as `list` prints it, such as pwws or experiment/ewt_biaffine.
        out: the file to write (the file's own name, in the current folder).

    Raises:
        InputError: there is no such name, or a file would be overwritten.
    """
    source = installed_file(name)
    target = Path(source.name if out is None else out)
    if target.exists():
        raise InputError("the file exists", path=target, remedy="name another one with --out")
    write_text(target, source.read_text("utf-8"))
    print(target)
