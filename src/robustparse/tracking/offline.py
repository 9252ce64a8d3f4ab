"""What an offline W&B run holds on disk.

W&B writes its log in blocks and flushes only full ones: a killed process loses what it logged last,
up to some hundred rows. Reading the log back tells which, so that a resumed run can log them again.

The file: 7 bytes of header, then blocks of 32,768 bytes; in them records of crc32 (4 bytes), length
(2), type (1: 1 whole, 2 first, 3 middle, 4 last part) and payload, a protocol buffer; a block's
tail of under 7 bytes is empty (the format of LevelDB's log).
"""

import json
import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from robustparse.tracking.ledger import Ledger

STEP, EPOCH = "trainer/global_step", "epoch"

_HEADER, _BLOCK, _RECORD = 7, 32768, 7
_WHOLE, _LAST = 1, 4


@dataclass(frozen=True, slots=True)
class Point:
    """One ``log`` call.

    Args:
        step: W&B's own counter of calls.
        values: what was logged, ``trainer/global_step`` with it.
    """

    step: int
    values: dict[str, object]

    @property
    def names(self) -> set[str]:
        """What was logged: of tables and other media the name without W&B's own keys.

        A chart is logged as the table that it draws.
        """
        media = {name.removesuffix("._type") for name in self.values if name.endswith("._type")}
        return {*self.values, *media, *(name.removesuffix("_table") for name in media)}


def segments(folder: Path, run_id: str) -> list[Path]:
    """Return the log files of a run, one for each time it was started, the oldest first."""
    return sorted(folder.glob(f"wandb/*run-*-{run_id}/run-{run_id}.wandb"))


def read_points(path: Path) -> list[Point]:
    """Return the points of a log file, as far as it is whole."""
    from wandb.proto import wandb_internal_pb2 as protocol

    points = []
    for payload in _payloads(path.read_bytes()):
        record = protocol.Record()  # type: ignore[attr-defined]
        record.ParseFromString(payload)
        if record.HasField("history"):
            items = {
                item.key or ".".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            points.append(Point(int(items["_step"]), items))
    return points


def lost_figures(ledger: Ledger, points: Iterable[Point]) -> dict[int, dict[str, float]]:
    """Step -> name -> value of what a ledger has and no point, with the epoch of the step.

    Media are not among them: training makes them again, and the ledger forgets that it had them.
    """
    durable = {(point.values.get(STEP), name) for point in points for name in point.names}
    lost: dict[int, dict[str, float]] = defaultdict(dict)
    epochs: dict[int, dict[str, float]] = {}
    for step, name, value in ledger.rows:
        there = (step, name) in durable
        try:
            number = float(value)
        except ValueError:
            if not there:
                ledger.forget(step, name)
            continue
        if name == EPOCH:
            epochs[step] = {EPOCH: number}
        if not there:
            lost[step][name] = number
    return {step: {**values, **epochs.get(step, {})} for step, values in lost.items()}


def _payloads(content: bytes) -> Iterator[bytes]:
    at, payload = _HEADER, b""
    while at + _RECORD <= len(content):
        left = _BLOCK - at % _BLOCK
        if left < _RECORD:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", content, at)
        if kind == 0 or at + _RECORD + length > len(content):
            return
        at += _RECORD + length
        payload += content[at - length : at]
        if kind in (_WHOLE, _LAST):
            yield payload
            payload = b""


def await_point(folder: Path, run_id: str, step: int, seconds: float) -> None:
    """Wait until a run's last segment holds the point of a step; so many seconds at most.

    W&B's service may close its file a moment after ``finish`` has returned.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        paths = segments(folder, run_id)
        points = read_points(paths[-1]) if paths else []
        if points and points[-1].step >= step:
            return
        time.sleep(0.05)
