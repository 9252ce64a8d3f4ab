"""Memory and speed of `merge` on the folders of many shards of an attack, of made-up sentences.

    python bench/merge.py --shards 200 --lines 1000000 --json

The folders are made in a temporary folder, which needs 1.2 KB a line twice. `merge` runs in a
process of its own; its peak memory includes the interpreter and the libraries.
"""

import argparse
import json
import resource
import time
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from robustparse.api.merge import merge
from robustparse.data.shard import Shard
from robustparse.evaluation.accumulator import added
from robustparse.evaluation.attack_processes import Speed
from robustparse.evaluation.attack_summary import AttackSummary
from robustparse.evaluation.record_files import encode_record
from robustparse.evaluation.records import EXAMPLES, ExampleRecord
from robustparse.evaluation.shards import write_shard
from robustparse.files.writing import write_bytes
from robustparse.tasks.dependency import DEPENDENCY

POOL = 100  # distinct sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--shards", type=int, default=200)
    parser.add_argument("--lines", type=int, default=1_000_000, help="of all shards")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    figures = measured(options.shards, options.lines)
    for name, value in figures.items():
        print(f"{name}: {value:,.1f}")
    if options.json:
        print(json.dumps(figures))


def measured(shards: int, lines: int) -> dict[str, float]:
    """Return the peak memory, and lines a second."""
    with TemporaryDirectory() as folder:
        every = [Path(folder) / f"shard_{number}" for number in range(1, shards + 1)]
        pool = [made_up(number) for number in range(POOL)]
        for number, path in enumerate(every, start=1):
            write(path, Shard(number, shards), pool, lines // shards)
        receiver, sender = get_context("spawn").Pipe(duplex=False)
        arguments = (Path(folder) / "merged", every, sender)
        process = get_context("spawn").Process(target=_merge, args=arguments)
        process.start()
        seconds, megabytes = receiver.recv()
        process.join()
        merged = (Path(folder) / "merged" / EXAMPLES).stat().st_size
    count = lines // shards * shards
    figures = {"lines": count, "megabytes": merged / 2**20, "seconds": seconds}
    return {**figures, "lines_per_second": count / seconds, "peak_megabytes": megabytes}


def _merge(out: Path, shards: list[Path], sender: Any) -> None:
    begin = time.perf_counter()
    merge(out, shards)
    seconds = time.perf_counter() - begin
    sender.send((seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def made_up(number: int) -> ExampleRecord:
    """Return the record of an attacked sentence of random words, with a random tree."""
    rng = np.random.Generator(np.random.Philox(key=number))
    length = int(rng.integers(5, 40))
    words = [f"word{each}" for each in rng.integers(0, 1000, length)]
    tree = {"heads": [0, *range(1, length)], "labels": ["dep"] * length}
    right = {"correct_heads": length, "correct_labels": length, "uas": 100.0, "las": 100.0}
    edited, queries = int(rng.integers(0, length)), int(rng.integers(10, 500))
    candidates = {"proposed": queries, "AttackableTags": queries - 5}
    return {
        "id": 0,
        "tokens": words,
        "adversarial_tokens": [*words[:edited], "other", *words[edited + 1 :]],
        "edited": [edited],
        "gold": tree,
        "clean": {**tree, **right},
        "attacked": {**tree, **right},
        "counted": length,
        "targeted": True,
        "skipped": False,
        "success": number % 3 == 0,
        "queries": {"charged": queries, "unique": queries - 1},
        "edited_tags": ["NN"],
        "candidates": {"slots": length, "sums": {"all": candidates, "Lexicon": candidates}},
        "unseen": {"oov": [0, 1], "oot": [0, 0]},
    }


def write(path: Path, shard: Shard, pool: list[ExampleRecord], lines: int) -> None:
    """Write what an attack with ``--shard`` writes."""
    path.mkdir()
    records = [pool[line % len(pool)] for line in range(lines)]
    first = (shard.number - 1) * lines
    content = (encode_record({**each, "id": first + at}) for at, each in enumerate(records))
    write_bytes(path / EXAMPLES, b"".join(content))
    trees = {id(each): _tree(each).encode() for each in pool}
    write_bytes(path / "adversarial.conllu", b"".join(trees[id(each)] for each in records))
    sums = AttackSummary(DEPENDENCY).over(pool).counts()
    speed = {name: value for name, value in vars(Speed()).items() if name != "model_seconds"}
    about = {"attack": added([sums] * (lines // len(pool))), "speed": speed, "pending": lines}
    run = {"attack": "made up", "victims": ["none"], "seed": 0, "settings": {"init_args": {}}}
    heads = {EXAMPLES: "", "adversarial.conllu": ""}
    write_shard(path, "attack", str(shard), DEPENDENCY, run, about, heads)


def _tree(record: ExampleRecord) -> str:
    rows = enumerate(record["adversarial_tokens"], start=1)
    return "".join(f"{at}\t{word}" + "\t_" * 8 + "\n" for at, word in rows) + "\n"


if __name__ == "__main__":
    main()
