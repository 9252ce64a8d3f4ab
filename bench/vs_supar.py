"""robustparse against SuPar 1.1.4 in one run: training speed, parsing speed, accuracy.

    python bench/vs_supar.py --folder UD_English-EWT --json

The same treebank, features (word, tag, character), sizes (``supar_peer.py``), words a batch, epochs
and threads on both sides, each in a process of its own, by turns. SuPar gets an environment of its
own, made at the first call. Weights and parses of the accuracy part are kept in ``--work``, so that
an interrupted run goes on; dev LAS counts punctuation and is computed here for both.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustparse.data.conllu import find_split, read_treebank

BENCH = Path(__file__).resolve().parent
ENVIRONMENT = Path("~/.cache/robustparse/supar-1.1.4").expanduser()
PACKAGES = ("stanza", "omegaconf", "dill", "pathos", "nltk")
OURS, PEER = "robustparse", "supar"


@dataclass(frozen=True)
class Side:
    """One of the two: its interpreter and its script."""

    python: Path
    script: str

    def run(self, action: str, **options: Any) -> dict[str, Any]:
        """One action in a process of its own; the JSON object of its last line."""
        command = [str(self.python), str(BENCH / self.script), action]
        for name, value in options.items():
            values = value if isinstance(value, list) else [value]
            command += [f"--{name}", *(str(one) for one in values)]
        threads = {"OMP_NUM_THREADS": str(options["threads"])}
        done = subprocess.run(
            command, env={**os.environ, **threads}, stdout=subprocess.PIPE, check=True, text=True
        )
        result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        print(self.script, action, result, file=sys.stderr, flush=True)
        return result


def peer_python(named: Path | None) -> Path:
    """The interpreter that has SuPar; its environment is made where it is not there."""
    if named is not None:
        return named
    python = ENVIRONMENT / "bin" / "python"
    ready = ENVIRONMENT / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "torch==2.13.0"], check=True, stdout=sys.stderr)
        subprocess.run([*pip, "--no-deps", "supar==1.1.4"], check=True, stdout=sys.stderr)
        subprocess.run([*pip, *PACKAGES], check=True, stdout=sys.stderr)
        ready.touch()
    return python


def training_ratios(sides: dict[str, Side], options: argparse.Namespace) -> dict[str, Any]:
    """Training words a second, medians over rounds in which the systems take turns."""
    common = {
        "train": find_split(options.folder, "train"),
        "batch_words": options.batch_words,
        "steps": options.steps,
        "threads": options.threads,
    }
    rates: dict[str, list[float]] = {"supar": [], "bf16": [], "fp32": []}
    for _ in range(options.rounds):
        for name, side, extra in (
            ("supar", PEER, {}),
            ("bf16", OURS, {"precision": "bf16-mixed"}),
            ("fp32", OURS, {"precision": "32-true"}),
        ):
            said = sides[side].run("speed", **common, **extra)
            rates[name].append(said["words_per_second"])
    median = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "train_ratio_bf16": median["bf16"] / median["supar"],
        "train_ratio_fp32": median["fp32"] / median["supar"],
        "train_words_per_second": median,
    }


def train(sides: dict[str, Side], options: argparse.Namespace, name: str, seed: int) -> Path:
    """The weights of a system after some epochs, from ``--work`` where they are there."""
    model = Path(options.work) / f"{name}_{options.epochs}_{seed}.{options.batch_words}.ckpt"
    if not model.exists():
        fresh = model.with_suffix(".new")
        precision = {"precision": "bf16-mixed"} if name == OURS else {}
        sides[name].run(
            "fit",
            train=find_split(options.folder, "train"),
            batch_words=options.batch_words,
            epochs=options.epochs,
            seed=seed,
            threads=options.threads,
            model=fresh,
            **precision,
        )
        fresh.rename(model)
    return model


def accuracy(sides: dict[str, Side], options: argparse.Namespace) -> dict[str, Any]:
    """Dev LAS by seed, and parsing sentences a second over the test set."""
    dev, test = (find_split(options.folder, split) for split in ("dev", "test"))
    las: dict[str, list[float]] = {PEER: [], OURS: []}
    rates: dict[str, list[float]] = {PEER: [], OURS: []}
    for seed in range(options.seeds):
        for name, side in sides.items():
            model = train(sides, options, name, seed)
            out = [model.with_suffix(f".{split}.conllu") for split in ("dev", "test")]
            common = {"train": find_split(options.folder, "train"), "threads": options.threads}
            said = side.run("parse", **common, model=model, data=[dev, test], out=out)
            rates[name].append(said["sentences_per_second"])
            las[name].append(score(dev, out[0]))
    mean = {name: statistics.mean(values) for name, values in las.items()}
    median = {name: statistics.median(values) for name, values in rates.items()}
    return {
        "parse_ratio": median[OURS] / median[PEER],
        "parse_sentences_per_second": median,
        "dev_las_difference": mean[OURS] - mean[PEER],
        "dev_las": las,
    }


def score(gold: Path, parsed: Path) -> float:
    """LAS in percent, punctuation counted."""
    right = words = 0
    for expected, found in zip(read_treebank(gold), read_treebank(parsed), strict=True):
        pairs = zip(expected.gold.heads, expected.gold.labels, strict=True)
        other = zip(found.gold.heads, found.gold.labels, strict=True)
        right += sum(one == two for one, two in zip(pairs, other, strict=True))
        words += len(expected.sentence)
    return 100 * right / words


def main() -> None:
    """Both parts, then one table's worth of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="the treebank")
    parser.add_argument("--peer_python", type=Path, help="an interpreter that has supar 1.1.4")
    parser.add_argument("--work", type=Path, default=Path("runs/vs_supar"))
    parser.add_argument("--batch_words", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--skip_las", action="store_true", help="only the speed of training")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    sides = {
        PEER: Side(peer_python(options.peer_python), "supar_peer.py"),
        OURS: Side(Path(sys.executable), "supar_own.py"),
    }
    figures = training_ratios(sides, options)
    if not options.skip_las:
        figures |= accuracy(sides, options)
    print(json.dumps(figures) if options.json else json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
