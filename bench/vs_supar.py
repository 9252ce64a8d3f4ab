"""robustparse against SuPar 1.1.4 in one run: training speed, parsing speed, dev LAS.

    python bench/vs_supar.py --folder UD_English-EWT --json

Both train the biaffine parser over words, part-of-speech tags and characters (3 x 400 BiLSTM, MLPs
of 500 and 100) on the same files with the same words a batch, epochs and threads, each in processes
of its own, in turn; speeds are medians over the turns. SuPar trains in fp32, it has nothing else;
ours in fp32 and in bf16. Both parse with the models just trained, in fp32, ours then in bf16 too,
from a CoNLL-U file to a CoNLL-U file, with trees; every word counts in LAS, which one function here
reads off those files. SuPar runs in an environment of its own, made on first use. Run it on an
otherwise idle machine. ``--device cuda`` does all of it on a GPU, where steps are short: time more.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from supar_files import las, penn_copies

BENCH = Path(__file__).resolve().parent
PEER = "1.1.4"
# What SuPar imports; its list of requirements has more, which no LSTM parser needs.
PEER_NEEDS = ("stanza", "omegaconf", "dill", "pathos", "nltk")
WARMUP = 2
Figures = dict[str, Any]


def peer_python(given: Path | None) -> Path:
    """Return an interpreter that has SuPar, in the cache folder unless one is named; made if
    absent.
    """
    home = Path.home() / ".cache" / "robustparse" / f"supar-{PEER}"
    python = given or home / "bin" / "python"
    if python.exists() and not subprocess.run([python, "-c", "import supar"]).returncode:
        return python
    if given:
        sys.exit(f"{given} cannot import supar; leave --peer_python out to have it installed")
    print(f"installing SuPar into {home}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
    torch = "torch==" + version("torch").split("+")[0]
    for packages in ([torch], ["--no-deps", f"supar=={PEER}"], PEER_NEEDS):
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


class System:
    """One of the two: a script and an interpreter for it.

    Args:
        name: ``robustparse`` or ``supar``.
        command: what starts it.
        threads: of its processes.
        device: that its networks run on; of a GPU, ``cpu`` hides it.
    """

    def __init__(self, name: str, command: Sequence[str], threads: int, device: str) -> None:
        self.name, self.command, self.threads = name, command, threads
        threaded = {key: str(threads) for key in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        hidden = {"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}
        self.environment = {**os.environ, **threaded, **hidden}

    def __call__(self, action: str, **options: Any) -> Figures:
        """Run an action in a new process: the object on its last line."""
        words = [action, "--threads", str(self.threads)]
        for name, value in options.items():
            values = value if isinstance(value, list) else [value]
            words += [f"--{name}", *map(str, values)]
        run = subprocess.run(
            [*self.command, *words], env=self.environment, text=True, capture_output=True
        )
        if run.returncode:
            sys.exit(f"{self.name} {action} failed:\n{run.stdout}{run.stderr}")
        figures: Figures = json.loads(run.stdout.strip().split("\n")[-1])
        shown = {key: round(value, 1) for key, value in figures.items()}
        print(self.name, action, options.get("precision", ""), shown, flush=True)
        return figures


def training_speed(
    own: System, peer: System, train: Path, options: argparse.Namespace
) -> dict[str, float]:
    """Words a second, medians over turns in which each runs once."""
    found: dict[str, list[float]] = {"supar_fp32": [], "own_fp32": [], "own_bf16": []}
    size = {"train": train, "batch_words": options.batch_words}
    steps = {"warmup": WARMUP, "steps": options.steps}
    for turn in range(options.rounds):
        runs = {
            "supar_fp32": peer("speed", **size, **steps, seed=turn),
            "own_fp32": own("speed", **size, **steps, seed=turn, precision="32-true"),
            "own_bf16": own("speed", **size, **steps, seed=turn, precision="bf16-mixed"),
        }
        for name, figures in runs.items():
            found[name].append(figures["words_per_second"])
    return {f"train_words_{name}": statistics.median(values) for name, values in found.items()}


def trained(
    system: System, files: dict[str, Path], seed: int, work: Path, options: argparse.Namespace
) -> tuple[Path, Figures]:
    """Return a model and its training's figures, taken from ``work`` where they are there."""
    precision = {"precision": options.las_precision} if system.name == "robustparse" else {}
    sizes = {"batch_words": options.batch_words, "epochs": options.epochs, "seed": seed}
    content = files["train"].read_bytes() + json.dumps([sizes, precision]).encode()
    name = f"{system.name}_seed{seed}_{sha256(content).hexdigest()[:12]}"
    model, kept = work / f"{name}.ckpt", work / f"{name}.json"
    if not kept.exists():
        found = system("fit", train=files["train"], model=model, **sizes, **precision)
        write_text(kept, json.dumps(found))
    figures: Figures = json.loads(kept.read_text("utf-8"))
    return model, figures


def parsing(
    system: System, model: Path, files: dict[str, Path], out: Path, precision: str
) -> dict[str, float]:
    """Dev LAS of a model, and sentences of the test set a second; the dev set warms up."""
    data, parses = zip(*((files[s], out / f"{s}.conllu") for s in ("dev", "test")), strict=True)
    make_folder(out)
    options = {"train": files["train"], "model": model, "data": [*data], "out": [*parses]}
    if system.name == "robustparse":
        options["precision"] = precision
    parsed = system("parse", **options)
    return {
        "dev_las": las(parses[0], files["dev"]),
        "parse_sentences": parsed["sentences_per_second"],
        "parse_sentences_without_files": parsed["sentences_per_second_without_files"],
    }


def accuracy(
    systems: Sequence[System],
    files: dict[str, Path],
    work: Path,
    folder: Path,
    options: argparse.Namespace,
) -> Figures:
    """Dev LAS and speed of parsing of every model, of ours in both precisions."""
    found: dict[str, dict[str, list[float]]] = {s.name: {} for s in systems}
    for seed in range(options.seeds):
        for system in systems:
            model, figures = trained(system, files, seed, work, options)
            out = folder / f"{system.name}_{seed}"
            fitted = {"fit_seconds": figures["seconds"], "fit_steps": figures["steps"]}
            row = {**fitted, **parsing(system, model, files, out, "32-true")}
            if system.name == "robustparse":
                mixed = parsing(system, model, files, out, "bf16-mixed")
                row |= {f"{name}_bf16": value for name, value in mixed.items()}
            print(system.name, f"seed {seed}: dev LAS {row['dev_las']:.2f}", flush=True)
            for name, value in row.items():
                found[system.name].setdefault(name, []).append(value)
    own, peer = (found[s.name] for s in systems)
    files_too, alone = "parse_sentences", "parse_sentences_without_files"
    return {
        "parse_ratio": _ratio(own[files_too], peer[files_too]),
        "parse_ratio_without_files": _ratio(own[alone], peer[alone]),
        "parse_ratio_bf16": _ratio(own[f"{files_too}_bf16"], peer[files_too]),
        "dev_las_difference": statistics.mean(own["dev_las"]) - statistics.mean(peer["dev_las"]),
        "by_seed": found,
    }


def _ratio(own: list[float], peer: list[float]) -> float:
    return statistics.median(own) / statistics.median(peer)


def measure(options: argparse.Namespace, folder: Path) -> Figures:
    """All figures; those that were not measured are None."""
    python = peer_python(options.peer_python)
    ours, theirs = str(BENCH / "supar_own.py"), str(BENCH / "supar_peer.py")
    own = System("robustparse", [sys.executable, ours], options.threads, options.device)
    peer = System("supar", [str(python), "-W", "ignore", theirs], options.threads, options.device)
    files = penn_copies(options.folder, make_folder(folder / "data"))
    kept = ("threads", "device", "batch_words", "epochs")
    settings = {name: getattr(options, name) for name in kept}
    figures: Figures = dict.fromkeys(
        ("train_ratio_bf16", "train_ratio_fp32", "parse_ratio", "dev_las_difference")
    )
    if options.steps:
        speeds = training_speed(own, peer, files["train"], options)
        for name in ("bf16", "fp32"):
            theirs_too = speeds["train_words_supar_fp32"]
            figures[f"train_ratio_{name}"] = speeds[f"train_words_own_{name}"] / theirs_too
        figures |= speeds
    if not options.skip_las:
        work = make_folder(options.work or folder / "work")
        figures |= accuracy((own, peer), files, work, folder, options)
    return {**figures, **settings, "las_precision": options.las_precision}


def main() -> None:
    """Print the figures; with ``--json`` as one object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="the treebank")
    parser.add_argument("--peer_python", type=Path, help="an interpreter that has SuPar")
    parser.add_argument("--work", type=Path, help="keeps trained models, to resume from")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of networks")
    parser.add_argument("--batch_words", type=int, default=5000, help="words a batch")
    parser.add_argument("--steps", type=int, default=8, help="timed steps; 0 leaves them out")
    parser.add_argument("--rounds", type=int, default=2, help="turns of the timed steps")
    parser.add_argument("--epochs", type=int, default=2, help="of training for LAS and parsing")
    parser.add_argument("--seeds", type=int, default=2, help="models of each system")
    parser.add_argument("--las_precision", default="bf16-mixed", help="of our training for LAS")
    parser.add_argument("--skip_las", action="store_true", help="no models: training speed only")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vs_supar_") as folder:
        figures = measure(options, Path(folder))
    for name, value in figures.items():
        print(f"{name:>28} {value:.3f}" if isinstance(value, float) else f"{name:>28} {value}")
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
