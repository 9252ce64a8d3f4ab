"""Inputs that users bring, each a folder with a script that judges what commands make of it.

The scripts lie in the folder ``cases`` of ``ROBUSTPARSE_SHARED``. One starts in an empty folder and
ends with status 0 if the outcome is right.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(os.environ.get("ROBUSTPARSE_SHARED", "/nowhere")) / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/cmd"))


@pytest.mark.slow
@pytest.mark.skipif(not NAMES, reason="ROBUSTPARSE_SHARED names no folder with cases")
@pytest.mark.parametrize("name", NAMES)
def test_what_users_bring(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [CASES / "run", name],
        env={
            **os.environ,
            "RP": str(Path(sys.executable).with_name("robustparse")),
            "PY": sys.executable,
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
