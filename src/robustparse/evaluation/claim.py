"""A run claims its output folder, so that lines of different runs never mix."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.evaluation.certificate_records import CERTIFICATES
from robustparse.evaluation.records import EXAMPLES, RUN, SUMMARY, read_record
from robustparse.files import write_text

_OTHER = "choose another --out or delete the folder"
_LINES = (EXAMPLES, CERTIFICATES)  # the files that runs write line by line, one in each folder


def claim(folder: Path, run: Mapping[str, Any], kind: type[Any], lines: str, begun: bool) -> None:
    """Write ``run.json``, or check that the lines in the folder belong to this run.

    A run may continue one with a lower limit, whose sentences are its first ones.

    Args:
        folder: the output folder.
        run: what distinguishes this run from others.
        kind: the type of the record in ``run.json``.
        lines: the name of the file that the run writes line by line.
        begun: whether an earlier run has begun it.

    Raises:
        InputError: the lines belong to another run, or the folder to a run of another kind.
    """
    path, text = folder / RUN, json.dumps(run, indent=2) + "\n"
    for other in _LINES:
        if other != lines and (folder / other).exists():
            raise InputError(f"holds {other} of another run", path=folder, remedy=_OTHER)
    if not begun:
        write_text(path, text)
        return
    if not path.exists():
        problem = f"holds {lines} but no {RUN}, which describes the run"
        raise InputError(problem, path=folder, remedy=_OTHER)
    stored, ours = (_flat(each) for each in (read_record(path, kind, _OTHER), run))
    extends = _limit(stored) < _limit(ours)
    for key in sorted({*stored, *ours} - ({"limit"} if extends else set())):
        if stored.get(key) != ours.get(key):
            how = f"{key}: {stored.get(key)!r} there, {ours.get(key)!r} here"
            if key.startswith("sha256."):
                name = re.sub("^sha256.((recipe|victim).)?", "", key)
                how = f"the content of {name} has changed"
            raise InputError(f"holds another run ({how})", path=folder, remedy=_OTHER)
    if extends:
        (folder / SUMMARY).unlink(missing_ok=True)  # before run.json: it covers fewer sentences
        write_text(path, text)


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
