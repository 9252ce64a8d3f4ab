"""What an attack was run with, as ``run.json`` of its folder says: which folders compare."""

import json
from pathlib import Path
from typing import Any

from robustparse.evaluation.lines import RUN

# Neither the parser's checkpoint nor how it decodes: parsers are what is compared. Data go by
# their content, not by where they lie.
_COMPARED = ("attack", "settings", "seed", "limit", "fraction", "fraction_of")


def read_run(folder: Path) -> dict[str, Any]:
    """Return what an attack was run with; nothing where that is not known."""
    try:
        run = json.loads((folder / RUN).read_text("utf-8"))
    except (OSError, ValueError):  # the page can do without
        return {}
    return run if isinstance(run, dict) else {}


def attack_key(run: dict[str, Any]) -> str | None:
    """Return the same text for runs that differ only in the parser; None where unknown."""
    if not run:
        return None
    digests = run.get("sha256")
    data = digests.get("data") if isinstance(digests, dict) else None
    return json.dumps([data, *(run.get(name) for name in _COMPARED)], sort_keys=True)


def parser_key(run: dict[str, Any]) -> str | None:
    """Return the same text for runs against one parser; None where that is not known."""
    digests = run.get("sha256")
    checkpoint = digests.get("checkpoint") if isinstance(digests, dict) else None
    return None if checkpoint is None else json.dumps([checkpoint, run.get("decoder")])
