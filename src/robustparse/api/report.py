"""``robustparse.report``: one HTML page about attacks and certificates."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from robustparse.api.certify import CertifiedResults
from robustparse.api.results import AttackResults
from robustparse.api.worst_of_attacks import worst_of_attacks
from robustparse.errors import InputError
from robustparse.evaluation.comparison import Difference
from robustparse.evaluation.comparison import compare as compare_systems
from robustparse.evaluation.worst_of_attacks import WorstOfAttacks
from robustparse.files.paths import with_home
from robustparse.reports.export import export as export_report
from robustparse.reports.page import build_report

Attacked: TypeAlias = AttackResults | CertifiedResults | str | Path
"""Results, or the folder of an attack, of certificates or of a training run."""


def report(
    attacked: Attacked | Sequence[Attacked],
    out: str | Path = "report.html",
    export: str | Path | None = None,
    compare: bool = False,
) -> Path:
    """Write a page about the results of attacks and certificates; list the clean model's first.

    Args:
        attacked: results, folders that ``attack``, ``certify`` or ``fit`` wrote, or a list of them.
        out: the page.
        export: folder that gets each plot as PNG and SVG, and each table as LaTeX, for a paper.
        compare: show how certain the differences from the first system are, and the worst of
            several attacks on a system; needs finished attacks on the same sentences.

    Returns:
        Its path.

    Raises:
        InputError: a folder is missing, nothing can be read of any, systems cannot be compared, or
            the page cannot be written.
            Folders that cannot be read are named on the page and on standard error.
    """
    systems = _systems(attacked)
    folders = [with_home(each) if isinstance(each, str | Path) else each.folder for each in systems]
    names = [_name(each, systems) for each in systems]
    named = all(names) and len(set(names)) == len(names)
    page = with_home(out)
    write_report(folders, page, names if named else None, len(folders) if compare else 0, export)
    return page


def write_report(
    folders: Sequence[Path],
    page: Path,
    names: Sequence[str] | None = None,
    compared: int = 0,
    export: str | Path | None = None,
) -> tuple[Sequence[Difference], Sequence[WorstOfAttacks]]:
    """Write a page about folders; see `report`.

    Args:
        folders: the folders that commands wrote.
        page: the page.
        names: their names on the page; by default those of the folders.
        compared: the number of folders, from the first, that are compared.
        export: see `report`.

    Returns:
        The differences of the compared systems from the first one, and the worst of several attacks
        on each.
    """
    differences = compare_systems(folders[:compared]) if compared else ()
    worst = worst_of_attacks(folders[:compared])
    contents = build_report(folders, page, names, differences, worst)
    if export is not None:
        export_report(contents, with_home(export))
    return differences, worst


def _systems(attacked: object) -> list[Attacked]:
    """Return the argument of `report` as a flat list.

    Raises:
        InputError: something is neither results nor a folder, such as scores.
    """
    if isinstance(attacked, AttackResults | CertifiedResults | str | Path):
        return [attacked]
    if isinstance(attacked, Iterable) and not isinstance(attacked, Mapping):
        return [system for each in attacked for system in _systems(each)]
    expected = "results of attack or certify, a folder of them, or a list"
    raise InputError(f"got {attacked!r:.60}", key="attacked", expected=expected)


def _name(system: Attacked, systems: Sequence[Attacked]) -> str:
    """Return the name of results on the page; empty for a folder.

    The certificates of a victim that was attacked, too, have a name of their own.
    """
    if not isinstance(system, CertifiedResults):
        return system.name if isinstance(system, AttackResults) else ""
    attacked = {each.name for each in systems if isinstance(each, AttackResults)}
    return f"{system.name}, certified" if system.name in attacked else system.name
