"""The speed of an attack in N parallel shards, relative to one process.

    python bench/shards.py --checkpoint parser.ckpt --data test.conllu --shards 1 2 4 --json

One process has as many threads as there are cores, a shard has one. All times are of whole
processes, from their start until the merged folder is written, which must equal that of one
process. ``start`` is the time of an attack on a single sentence: what each shard costs beside its
sentences. The cores must be free.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from robustparse.evaluation.records import EXAMPLES

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--attack", default="zheng2020_universal")
    parser.add_argument("--shards", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--limit", type=int, default=2000, help="sentences")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    files = ["--attack", options.attack, "--checkpoint", options.checkpoint, "--data", options.data]
    with TemporaryDirectory() as folder:
        figures = measured(files, options.shards, options.limit, Path(folder))
    for name, value in figures.items():
        print(f"{name}: {value:.2f}")
    if options.json:
        print(json.dumps(figures))


def measured(
    files: Sequence[str], shards: Sequence[int], limit: int, folder: Path
) -> dict[str, float]:
    """Return seconds, and ratios of throughput.

    Raises:
        SystemExit: a command failed, or the merged folder is another one.
    """
    attack = ["attack", *files, "--limit"]
    cores = len(os.sched_getaffinity(0))
    figures = {"start": run([[*attack, "1", "--out", str(folder / "start")]], threads=1)}
    attack.append(str(limit))
    figures["one"] = run([[*attack, "--out", str(folder / "one")]], threads=cores)
    for count in shards:
        outs = [str(folder / f"{number}_of_{count}") for number in range(1, count + 1)]
        commands = [
            [*attack, "--shard", f"{number}/{count}", "--out", out]
            for number, out in enumerate(outs, start=1)
        ]
        merged = folder / f"merged_{count}"
        seconds = run(commands, threads=1) + run([["merge", str(merged), *outs]], threads=1)
        if (merged / EXAMPLES).read_bytes() != (folder / "one" / EXAMPLES).read_bytes():
            sys.exit(f"{count} merged shards have other sentences than one process")
        figures |= {f"shards_{count}": seconds, f"ratio_{count}": figures["one"] / seconds}
    return figures


def run(commands: Sequence[Sequence[str]], threads: int) -> float:
    """Run commands at the same time; return the seconds until the last one has ended."""
    begin = time.perf_counter()
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    program = [sys.executable, str(ROOT / "train.py")]
    running = [
        subprocess.Popen([*program, *each], env=environment, stdout=subprocess.DEVNULL)
        for each in commands
    ]
    statuses = [process.wait() for process in running]
    if any(statuses):
        sys.exit("a command failed; see its message above")
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
