"""Tables 2, 3 and 5 of Huang et al. (2021): semantic parsers, clean and trained robustly.

    python bench/semantic_study.py --forms DATA/semparse --raw DATA/semparse_raw \
        --perturbed DATA/semparse_perturbed --vectors VECTORS --parser PARSER.ckpt \
        --corpora jobs --methods none mda --seeds 0 1 2

``--forms`` and ``--raw`` hold a folder for each corpus; ``--perturbed`` one with the sets that were
released for it, or none. Methods are ``none``; ``fgm`` and ``pgd``; each of the six operations;
``mda``, all six together (20 % of the training utterances each, drawn for each operation anew);
``control``, clean training for the time of FGM. Training on copies takes as many steps as clean
training, FGM and PGD-3 as many epochs, hence two and four times the time.

Back translation needs the command ``apertium`` with Spanish, substitution of other words a file of
vectors, reordering a dependency parser's checkpoint. A row whose ``scores.json`` is there is done;
``--table`` prints all rows that are done, means and standard deviations over seeds.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import yaml

from robustparse.files import make_folder, write_text

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "src" / "robustparse" / "configs" / "experiment"
CORPORA, MODELS = ("geo", "jobs", "atis"), ("seq2seq", "coarse2fine", "tranx")
FRACTION = 0.2
OPERATIONS = (
    "insertion",
    "deletion",
    "function_word_substitution",
    "word_substitution",
    "back_translation",
    "reordering",
)
METHODS = ("none", "control", "fgm", "pgd", "mda", *OPERATIONS)
_HERE = "robustparse.perturbations"


@dataclass(frozen=True)
class Row:
    """One training, and where it is."""

    home: Path
    corpus: str
    model: str
    method: str
    seed: int

    @property
    def folder(self) -> Path:
        """Its outputs."""
        return self.home / f"{self.corpus}_{self.model}_{self.method}_{self.seed}"

    @property
    def scores(self) -> Path:
        """What `evaluate` wrote."""
        return self.folder / "test" / "scores.json"


def operation(name: str, options: argparse.Namespace) -> str:
    """Return an operation as ``augment --operations`` takes it."""
    if name == "word_substitution":
        generator = "robustparse.attacks.EmbeddingNeighbours"
        part = {"class_path": generator, "init_args": {"vectors": options.vectors}}
        settings: dict[str, Any] = {"candidates": part}
    elif name == "back_translation":
        settings = {
            side: [
                {
                    "class_path": f"{_HERE}.TranslationCommand",
                    "init_args": {"command": ["apertium", "-u", pair]},
                }
            ]
            for side, pair in (("there", "eng-spa"), ("back", "spa-eng"))
        } | {"cache": str(options.home / "translations.sqlite")}
    elif name == "reordering":
        settings = {"parser": options.parser}
    else:
        return name
    kind = "".join(part.capitalize() for part in name.split("_"))
    return json.dumps([{"class_path": f"{_HERE}.{kind}", "init_args": settings}])


def copies(row: Row, options: argparse.Namespace) -> list[Path]:
    """Make the copies that a row is trained on, unless they are there."""
    names = OPERATIONS if row.method == "mda" else (row.method,)
    made = []
    for name in names:
        if name not in OPERATIONS:
            continue
        path = options.home / f"{row.corpus}_{name}_{row.seed}.tsv"
        if not path.exists():
            # Each operation draws its own utterances.
            seed = 100 * row.seed + OPERATIONS.index(name)
            data = options.raw / row.corpus / "train.tsv"
            command = ["augment", "--task", "semantic", "--data", str(data), "--out", str(path)]
            drawn = ["--fraction", str(FRACTION), "--seed", str(seed)]
            run([*command, *drawn, "--operations", operation(name, options)])
        made.append(path)
    return made


def train(row: Row, options: argparse.Namespace) -> None:
    """Train a row; after a stop it resumes."""
    path = CONFIGS / f"{row.corpus}_{row.model}.yaml"
    config = yaml.safe_load(path.read_text("utf-8"))
    epochs, texts = config["trainer"]["max_epochs"], config["data"]["init_args"]["batch_texts"]
    folder = options.forms / row.corpus
    # Of GEO and JOBS the last epoch counts, of ATIS the best one on dev.
    command = ["fit", "--config", f"experiment/{row.corpus}_{row.model}", "--ckpt_path", "last"]
    command += ["--data.init_args.folder", str(folder), "--data.init_args.seed", str(row.seed)]
    command += ["--model.init_args.seed", str(row.seed)]
    command += ["--trainer.default_root_dir", str(row.folder)]
    if row.method in ("fgm", "pgd"):
        defense = "fgm_texts" if row.method == "fgm" else "pgd"
        command += ["--config", f"defense/{defense}"]
    elif row.method == "control":
        command += ["--trainer.max_epochs", str(2 * epochs)]
    elif made := copies(row, options):
        lines = len((folder / "train.tsv").read_text("utf-8").splitlines())
        steps = -(-lines // texts) * epochs
        command += ["--trainer.max_epochs", "-1", "--trainer.max_steps", str(steps)]
        command += ["--data.init_args.augmented_files", json.dumps([*map(str, made)])]
        command += ["--data.init_args.vocabulary_of", "merged"]
    begin = time.perf_counter()
    run(command)
    seconds = time.perf_counter() - begin
    write_text(row.folder / "seconds.json", json.dumps(round(seconds)) + "\n")


def run(command: Sequence[str]) -> None:
    """Run ``robustparse``."""
    print("robustparse", *command, flush=True)
    subprocess.run([sys.executable, "train.py", *command], cwd=ROOT, check=True)


def evaluate(row: Row, options: argparse.Namespace) -> None:
    """Score a row on the test set, and on its perturbed sets where there are some."""
    found = "best" if row.corpus == "atis" else "last"
    command = ["evaluate", "--checkpoint", str(row.folder / f"{found}.ckpt")]
    command += ["--data", str(options.forms / row.corpus / "test.tsv")]
    if options.perturbed and (folder := options.perturbed / row.corpus).is_dir():
        command += ["--perturbed", str(folder)]
    run([*command, "--out", str(row.scores.parent)])


def figures(row: Row) -> dict[str, float]:
    """Return the figures of a row that is done."""
    found = json.loads(row.scores.read_text("utf-8"))
    kept = {"test": found["exact_match"]}
    for part in ("micro", "macro") if "perturbed_files" in found else ():
        scores = found["perturbed_files"][part]
        kept[part] = scores["perturbation_accuracy"]
        kept[f"robust {part}"] = scores["robust_accuracy"]
        kept[f"black box {part}"] = scores["blackbox_success_rate"]
    return kept


def table(rows: Sequence[Row]) -> str:
    """Return the table of the rows that are done, in Markdown."""
    grouped: dict[tuple[str, str, str], list[dict[str, float]]] = defaultdict(list)
    for row in rows:
        if row.scores.exists():
            grouped[row.corpus, row.model, row.method].append(figures(row))
    names = ("test", "micro", "macro", "robust micro", "robust macro", "black box macro")
    lines = [
        f"| corpus | parser | training | seeds | {' | '.join(names)} |",
        f"|---|---|---|---|{'---|' * len(names)}",
    ]
    for (corpus, model, method), found in grouped.items():
        cells = [_cell([one[name] for one in found if name in one]) for name in names]
        head = f"| {corpus.upper()} | {model} | {method} | {len(found)} "
        lines.append(f"{head}| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(values: Sequence[float]) -> str:
    if not values:
        return "-"
    spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    return f"{mean(values):.2f}{spread}"


def rows_of(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows that are asked for, seed by seed."""
    for seed in options.seeds:
        for corpus in options.corpora:
            for method in options.methods:
                for model in options.models:
                    yield Row(options.home, corpus, model, method, seed)


def main() -> None:
    """Train and score what is not there, then print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--forms", type=Path, required=True)
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--perturbed", type=Path)
    parser.add_argument("--vectors")
    parser.add_argument("--parser")
    parser.add_argument("--home", type=Path, default=ROOT / "runs" / "huang2021")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=["geo", "jobs"])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["none", "mda"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--table", action="store_true", help="print what is done only")
    options = parser.parse_args()
    make_folder(options.home)
    rows = list(rows_of(options))
    for row in rows if not options.table else ():
        if not row.scores.exists():
            train(row, options)
            evaluate(row, options)
    print(table(rows))


if __name__ == "__main__":
    main()
