"""``robustparse copy``: copy an installed recipe or configuration for editing."""

from pathlib import Path

from robustparse.errors import InputError
from robustparse.files.writing import write_text
from robustparse.options.installed import installed_file


def copy(name: str, out: str | None = None) -> None:
    """Copy an installed recipe or configuration into the current folder, for editing.

    Args:
        name: a name that `list` prints, such as pwws or experiment/ewt_biaffine.
        out: the file to write; by default a file of the same name in the current folder.

    Raises:
        InputError: the name is unknown, or the file to write exists.
    """
    source = installed_file(name)
    target = Path(source.name if out is None else out)
    if target.exists():
        raise InputError("the file exists", path=target, remedy="name another one with --out")
    write_text(target, source.read_text("utf-8"))
    print(target)
