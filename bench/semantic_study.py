"""Tables 2, 3 and 5 of Huang et al. (2021): semantic parsers, clean and trained robustly.

    python bench/study.py --study huang2021 --forms DATA/semparse --raw DATA/semparse_raw \
        --perturbed DATA/semparse_perturbed --vectors VECTORS --parser PARSER.ckpt \
        --corpora jobs --methods none mda --seeds 0 1 2

``--forms`` and ``--raw`` hold a folder for each corpus; ``--perturbed`` one with the sets that were
released for it, or none. Methods are ``none``; each of the six operations, and ``mda``, all six
together (20 % of the training utterances each, drawn for each operation anew); ``mda_online``, the
same with other utterances in every epoch, whose copies join the batches of their originals;
``mda_online_small``, that with fewer originals in a batch, which holds as many utterances as one of
clean training, copies included, so that there are as many steps as with ``mda``; ``control``, clean
training; ``fgm`` and ``pgd``; ``online``, word substitution against the model as it is, in every
batch. With copies a training takes as many epochs as a clean one, as in the paper,
and with ``mda`` up to 120 % more steps. The control takes as many steps as ``mda``; FGM, PGD and
online substitution, a step of which takes several passes through the network, take about as many
passes. Their learning rates fall as far as those of the other rows do: a schedule by epochs is
stretched or shortened with the steps.

Back translation needs the command ``apertium`` with Spanish, substitution of words (``online`` too)
a file of vectors, ``online`` NLTK's stop words, reordering a dependency parser's checkpoint. Online
substitution does not change utterances that are parsed wrongly: it changes hardly any at first. A
row whose ``scores.json`` is there is done; ``--table`` prints all rows that are done, means and
standard deviations over seeds.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from robustparse.files import make_folder, write_text
from semantic_tables import CORPORA, MODELS, Row, tables

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "src" / "robustparse" / "configs"
FRACTION = 0.2
OPERATIONS = (
    "insertion",
    "deletion",
    "function_word_substitution",
    "word_substitution",
    "back_translation",
    "reordering",
)
# Passes through the network and back that a step takes. Each of the five queries of online
# substitution is a beam search over part of the batch, about a third of one.
PASSES = {"control": 1.0, "fgm": 2.0, "pgd": 4.0, "online": 1.0 + 5 / 3}
REDRAWN = ("mda_online", "mda_online_small")
METHODS = ("none", "control", "fgm", "pgd", "online", "mda", *REDRAWN, *OPERATIONS)
_HERE = "robustparse.perturbations"


def operation(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return an operation by its class and what it needs, as ``augment --operations`` takes it."""
    settings: dict[str, Any] = {}
    if name == "word_substitution":
        generator = "robustparse.attacks.EmbeddingNeighbours"
        part = {"class_path": generator, "init_args": {"vectors": options.vectors}}
        settings = {"candidates": part}
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
    kind = "".join(part.capitalize() for part in name.split("_"))
    return {"class_path": f"{_HERE}.{kind}", "init_args": settings}


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
            operations = ["--operations", json.dumps([operation(name, options)])]
            run([*command, *drawn, *operations, "--trust", "commands"])
        made.append(path)
    return made


def train(row: Row, options: argparse.Namespace) -> None:
    """Train a row; after a stop it resumes."""
    # Of GEO and JOBS the last epoch counts, of ATIS the best one on dev. What is perturbed or
    # attacked in training is the raw text.
    data = options.raw if row.method in (*REDRAWN, "online") else options.forms
    command = ["fit", "--config", f"experiment/{row.corpus}_{row.model}", "--ckpt_path", "last"]
    command += ["--data.init_args.folder", str(data / row.corpus)]
    command += ["--data.init_args.seed", str(row.seed), "--model.init_args.seed", str(row.seed)]
    command += ["--trainer.default_root_dir", str(row.folder)]
    if row.method in ("fgm", "pgd"):
        command += ["--config", f"defense/{row.method}_texts"]
    elif row.method == "online":
        command += ["--config", str(online(row, options))]
    elif row.method in REDRAWN:
        command += ["--config", str(redrawn(row, options))]
    if row.method == "mda_online_small":
        whole_batch = config_of(row)["data"]["init_args"]["batch_texts"]
        originals = round(whole_batch / (1 + FRACTION * len(OPERATIONS)))
        command += ["--data.init_args.batch_texts", str(originals)]
    if passes := PASSES.get(row.method):
        command += as_many_passes(row, options, passes)
    elif made := copies(row, options):
        command += ["--data.init_args.augmented_files", json.dumps([*map(str, made)])]
        command += ["--data.init_args.vocabulary_of", "merged"]
    whole = not (row.folder / "last.ckpt").exists()
    begin = time.perf_counter()
    run(command)
    seconds = time.perf_counter() - begin
    if whole:  # what came before a stop took seconds too, which nobody knows
        write_text(row.seconds, json.dumps(round(seconds)) + "\n")


def as_many_passes(row: Row, options: argparse.Namespace, passes: float) -> list[str]:
    """Return the options of as many passes as training on the copies of all operations takes.

    A schedule by epochs is stretched, so that the rate falls as far as in clean training.
    """
    config = config_of(row)
    own = [options.forms / row.corpus / "train.tsv"]
    copied = [*own, *copies(replace(row, method="mda"), options)]
    clean, steps = steps_of(own, config), round(steps_of(copied, config) / passes)
    found = ["--trainer.max_epochs", "-1", "--trainer.max_steps", str(steps)]
    optimization = config["model"]["init_args"]["optimization"]
    if optimization["schedule"] == "epochs":
        constant = optimization.get("constant_epochs", 0) * steps / clean
        stretched = {"decay": optimization["decay"] ** (clean / steps)}
        stretched["constant_epochs"] = round(constant)
        for name, value in stretched.items():
            found += [f"--model.init_args.optimization.{name}", str(value)]
    return found


def config_of(row: Row) -> dict[str, Any]:
    """Return the shipped configuration of a row's clean training."""
    path = CONFIGS / "experiment" / f"{row.corpus}_{row.model}.yaml"
    config: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return config


def steps_of(files: Sequence[Path], config: Mapping[str, Any]) -> int:
    """Return the steps of training on the texts of the files, as a configuration has it."""
    texts = sum(len(file.read_text("utf-8").splitlines()) for file in files)
    batches = -(-texts // config["data"]["init_args"]["batch_texts"])
    return int(batches * config["trainer"]["max_epochs"])


def online(row: Row, options: argparse.Namespace) -> Path:
    """Write the shipped online substitution with the vectors, the row's seed and slots kept."""
    shipped = CONFIGS / "defense" / "substitution_neighbours.yaml"
    config = yaml.safe_load(shipped.read_text("utf-8"))
    (adversary,) = config["trainer"]["callbacks+"]
    adversary["init_args"]["seed"] = row.seed
    attack = adversary["init_args"]["attack"]["init_args"]
    attack["constraints"].insert(0, {"class_path": "robustparse.attacks.Slots"})
    for part in (attack["candidates"], *attack["constraints"]):
        if "vectors" in part.get("init_args", {}):
            part["init_args"]["vectors"] = str(options.vectors)
    path = make_folder(row.folder) / shipped.name
    write_text(path, yaml.safe_dump(config, sort_keys=False))
    return path


def redrawn(row: Row, options: argparse.Namespace) -> Path:
    """Write a defense that copies other utterances by each operation in every epoch."""
    adversaries = [
        {
            "class_path": "robustparse.defenses.PerturbationAdversary",
            "init_args": {
                "operations": [operation(name, options)],
                "fraction": FRACTION,
                "seed": 100 * row.seed + place,
            },
        }
        for place, name in enumerate(OPERATIONS)
    ]
    path = make_folder(row.folder) / "redrawn.yaml"
    write_text(path, yaml.safe_dump({"trainer": {"callbacks+": adversaries}}, sort_keys=False))
    return path


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


def rows_of(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows that are asked for, seed by seed."""
    for seed in options.seeds:
        for corpus in options.corpora:
            for method in options.methods:
                for model in options.models:
                    yield Row(options.home, corpus, model, method, seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and score what is not there, then print the tables."""
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
    options = parser.parse_args(arguments)
    make_folder(options.home)
    rows = list(rows_of(options))
    for row in rows if not options.table else ():
        if not row.scores.exists():
            train(row, options)
            evaluate(row, options)
    print(tables(rows))


if __name__ == "__main__":
    main()
