"""Outcomes of TextAttack 0.3.11 for ``parity.py``: the random searches with several seeds.

    python bench/parity_runs.py --victim V.pt --texts T.tsv --synonyms S.json --stopwords W.txt \
        --work FOLDER --out RUNS.jsonl

The first ``--limit`` texts are attacked by every search, once by the deterministic ones and with
``--seeds`` seeds by the others, in the environment of ``vs_textattack.py``, which is made on first
use. FOLDER keeps what is done: the same command resumes where it was cut off, and with more seeds
it makes those that are missing. RUNS.jsonl is then an option of ``parity.py``, next to the others.
"""

import argparse
import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from parity import DETERMINISTIC, RANDOM, problem_options, read_texts
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from textattack_problem import keep_texts
from vs_textattack import peer_python, run

TEXTS = 100
FILES = {"victim": "victim.pt", "synonyms": "synonyms.json", "stopwords": "stopwords.txt"}


def laid_out(options: argparse.Namespace) -> Path:
    """Return the folder of the problem as TextAttack's side reads it, one for each problem."""
    given = [getattr(options, name).read_bytes() for name in (*FILES, "texts")]
    digest = sha256(b"".join(sha256(content).digest() for content in given))
    digest.update(str(options.limit).encode())
    folder = make_folder(options.work / digest.hexdigest()[:12])
    for name, file in FILES.items():
        shutil.copyfile(getattr(options, name), folder / file)
    keep_texts(folder / "texts.jsonl", read_texts(options.texts, options.limit))
    return folder


def outcomes(
    python: Path, folder: Path, method: str, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return what becomes of every text by a method, seed after seed."""
    seeds = options.seeds if method in RANDOM else 1
    kept = run(python, "peer", folder, [method], (options.limit, seeds), options)
    rows = map(json.loads, (kept / f"{method}.jsonl").read_text("utf-8").splitlines())
    wanted = [{"method": method, **row} for row in rows if row["round"] < seeds]
    return sorted(wanted, key=lambda row: (row["round"], row["index"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    problem_options(parser)
    parser.add_argument("--work", type=Path, required=True, help="keeps what is done")
    parser.add_argument("--out", type=Path, required=True, help="the file of the runs")
    parser.add_argument("--limit", type=int, default=TEXTS, help="the first N texts")
    methods = [*DETERMINISTIC, *RANDOM]
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods)
    parser.add_argument("--peer_python", type=Path, help="an interpreter that has TextAttack")
    parser.set_defaults(threads=1, seed=0)
    options = parser.parse_args()
    folder, python = laid_out(options), peer_python(options.peer_python)
    lines: list[dict[str, Any]] = []
    for method in options.methods:
        lines += outcomes(python, folder, method, options)
        print(method, lines[-1]["round"] + 1, "runs", flush=True)
    write_text(options.out, "".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
