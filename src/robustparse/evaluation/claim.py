"""A run claims its output folder, so that lines of different runs never mix."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.evaluation.certificate_records import CERTIFICATES
from robustparse.evaluation.record_files import read_record
from robustparse.evaluation.records import EXAMPLES, RUN, SUMMARY
from robustparse.files.writing import write_json

_OTHER = "choose another --out or delete the folder"
_DIGESTS = "sha256."  # how the keys of digests of files begin
_LINES = (EXAMPLES, CERTIFICATES)  # the files that runs write line by line, one in each folder


def claim(folder: Path, run: Mapping[str, Any], kind: type[Any], lines: str, begun: bool) -> None:
    """Write ``run.json``, or check that the lines in the folder belong to this run.

    A run may continue one with a lower limit, whose sentences are its first ones; a shard may not,
    since the limit changes which sentences are its own.

    Args:
        folder: the output folder.
        run: what distinguishes this run from others.
        kind: the type of the record in ``run.json``.
        lines: the name of the file that the run writes line by line.
        begun: whether an earlier run has begun it.

    Raises:
        InputError: the lines belong to another run, or the folder to a run of another kind.
    """
    path = folder / RUN
    check_unclaimed(folder, [other for other in _LINES if other != lines])
    if not begun:
        write_json(path, run)
        return
    if not path.exists():
        problem = f"holds {lines} but no {RUN}, which describes the run"
        raise InputError(problem, path=folder, remedy=_OTHER)
    stored = read_record(path, kind, _OTHER)
    extends = "shard" not in run and _limit(stored) < _limit(run)
    if extends:
        stored["limit"] = run.get("limit")
    if difference := next(differences(stored, run), None):
        raise InputError(f"holds another run ({difference})", path=folder, remedy=_OTHER)
    if extends:
        (folder / SUMMARY).unlink(missing_ok=True)  # before run.json: it covers fewer sentences
        write_json(path, run)


def check_unclaimed(folder: Path, files: Sequence[str] = _LINES) -> None:
    """Check that no run has claimed a folder by writing one of these files.

    Raises:
        InputError: it holds lines of a run.
    """
    for lines in files:
        if (folder / lines).exists():
            raise InputError(f"holds {lines} of another run", path=folder, remedy=_OTHER)


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    """Yield how the settings of two runs differ, sorted by their keys; then, how their files do."""
    stored, ours = _flat(first), _flat(second)
    for key in sorted({*stored, *ours}, key=lambda key: (key.startswith(_DIGESTS), key)):
        if stored.get(key) == ours.get(key):
            continue
        name = re.sub(f"^{_DIGESTS}((recipe|victim).)?", "", key)
        if not key.startswith(_DIGESTS):
            yield f"{key}: {stored.get(key)!r} there, {ours.get(key)!r} here"
        elif key in stored and key in ours:
            yield f"the content of {name} has changed"
        else:
            yield f"{name} belongs to the run {'there' if key in stored else 'here'} only"


def _limit(run: Mapping[str, Any]) -> float:
    """Return how many sentences a run takes at most."""
    limit = run.get("limit")
    return math.inf if limit is None else limit


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join nested keys by dots."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        nested = isinstance(value, dict)
        flat |= _flat(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": value}
    return flat
