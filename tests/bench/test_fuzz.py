"""The fuzzer finds no fault in 200 inputs, and finds the faults of readers that have some."""

import json
import time
from pathlib import Path
from typing import Any

import fuzz
from fuzz_readers import Reader
from robustparse.errors import InputError


def test_no_reader_stumbles(tmp_path: Path) -> None:
    assert fuzz.fuzz(fuzz.all_readers(tmp_path / "made"), 200, seed=1, folder=tmp_path) == []


def plain(content: bytes) -> Any:
    return json.loads(content)


def refusing(path: Path) -> Any:
    try:
        return plain(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError("not JSON", path=path) from None


def hanging(path: Path) -> Any:
    if path.read_bytes() != GOOD:
        time.sleep(60)
    return plain(GOOD)


GOOD = b'{"words": ["one", "two"], "number": 12}'


def test_faults_are_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 0.05)
    kinds = {
        "sound": (refusing, plain, set()),
        "trusting": (refusing, None, {"silent change"}),
        "careless": (lambda path: plain(path.read_bytes()), plain, {"traceback"}),
        "blind": (lambda path: plain(GOOD), plain, {"silent change"}),
        "slow": (hanging, plain, {"hang"}),
    }
    for name, (read, oracle, expected) in kinds.items():
        readers = {name: Reader(GOOD, read, oracle, 1, "a.json")}
        faults = fuzz.fuzz(readers, 30, seed=0, folder=tmp_path)
        assert {fault.split(": ")[1] for fault in faults} == expected, name
