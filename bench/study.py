"""The studies of ``docs/results.md``: rows of (configuration, seed, attack), resumable.

    python bench/study.py --study ewt_blackbox --folder UD_English-EWT --masked_lm MODEL

A row trains with ``robustparse fit`` unless its checkpoint is there, attacks the test set with
``robustparse attack`` (which goes on where it stopped), and keeps its figures in
``bench/results/STUDY_ROW.json``. ``--table`` prints the table of the rows that are finished.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from robustparse.data.conllu import find_split
from robustparse.evaluation.lines import read_lines
from robustparse.files import write_text
from studies import CHARACTER, ROOT, STUDIES, Row, Study, result
from study_tables import budget_table, defence_table, kept


@dataclass(frozen=True)
class Inputs:
    """What the machine has: the treebank, the masked language model, the pretrained encoder."""

    folder: Path
    masked_lm: str
    encoder: str


def run(command: list[str]) -> float:
    """Run ``robustparse`` with these arguments; the seconds it took."""
    print("robustparse", *command, flush=True)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "train.py", *command], cwd=ROOT, check=True)
    return time.perf_counter() - begin


def train(row: Row, inputs: Inputs) -> None:
    """Train a row whose ``finished.json`` is not there, going on from its last checkpoint."""
    done = row.folder / "finished.json"
    if done.exists():
        return
    command = ["fit", "--config", str(row.config), "--data.init_args.folder", str(inputs.folder)]
    if row.pretrained:
        command += ["--model.init_args.encoder.init_args.model", inputs.encoder]
    if row.base is not None:
        augment(row.base, inputs)
        command += ["--data.init_args.augmented_files", json.dumps([str(row.base.copies)])]
        command += ["--trainer.default_root_dir", str(row.folder)]
    seconds = run([*command, "--ckpt_path", "last"])
    write_text(done, json.dumps({"seconds": seconds}))


def attack_command(row: Row, inputs: Inputs) -> list[str]:
    """``attack`` with a row's recipe and checkpoint."""
    recipe = ROOT / "configs" / "attack" / f"{row.recipe}.yaml"
    command = ["attack", "--attack", str(recipe)]
    if row.recipe != CHARACTER:
        command += ["--attack.candidates.init_args.generator.init_args.model", inputs.masked_lm]
    return [*command, "--checkpoint", str(row.folder / row.checkpoint)]


def augment(row: Row, inputs: Inputs) -> None:
    """Perturb half of the training sentences, at random attackable words, failures included."""
    if not row.copies.exists():
        run(
            [
                *attack_command(row, inputs),
                *("--attack.search.init_args.ranking", "random", "--share", "0.5"),
                *("--data", str(find_split(inputs.folder, "train"))),
                *("--out", str(row.copies.parent)),
            ]
        )


def attack(row: Row, study: Study, inputs: Inputs) -> None:
    """Attack a row's checkpoint on the test set; and score it on its base's adversaries."""
    for gamma in study.gammas:
        run(
            [
                *attack_command(row, inputs),
                *("--attack.search.init_args.gamma", str(gamma)),
                *("--data", str(find_split(inputs.folder, "test")), "--share", str(study.share)),
                *("--out", str(row.attacked(gamma))),
            ]
        )
        if row.base is not None:
            static = row.base.attacked(gamma) / "adversarial.conllu"
            checkpoint = str(row.folder / row.checkpoint)
            where = ["--out", str(row.folder / f"static_{round(100 * gamma):02d}")]
            run(["evaluate", "--checkpoint", checkpoint, "--data", str(static), *where])


def keep(study: str, row: Row) -> None:
    """Copy a row's figures, and the counts a bootstrap needs, into ``bench/results``."""
    for gamma in STUDIES[study].gammas:
        attacked = row.attacked(gamma)
        summary = json.loads((attacked / "summary.json").read_text("utf-8"))
        lines = read_lines(attacked / "examples.jsonl")
        static = row.folder / f"static_{round(100 * gamma):02d}" / "scores.json"
        scores = json.loads(static.read_text("utf-8")) if static.exists() else None
        figures = {
            "row": row.name,
            "title": row.title,
            "gamma": gamma,
            "training_seconds": json.loads((row.folder / "finished.json").read_text())["seconds"],
            "static": scores and {"uas": scores["uas"], "las": scores["las"]},
            **{key: value for key, value in summary.items() if key != "victims"},
            "counts": {
                "words": [line["counted"] for line in lines],
                "clean": [line["clean"]["correct_labels"] for line in lines],
                "attacked": [line["attacked"]["correct_labels"] for line in lines],
            },
        }
        write_text(result(study, row, gamma), json.dumps(figures) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", choices=sorted(STUDIES), default="ewt_blackbox")
    parser.add_argument("--folder", type=Path, help="the treebank")
    parser.add_argument("--masked_lm", help="folder or name of the masked language model")
    parser.add_argument("--encoder", help="folder or name of the pretrained encoder")
    parser.add_argument("--rows", nargs="*", help="only these rows")
    steps = ["train", "attack"]
    parser.add_argument("--steps", nargs="*", choices=steps, default=steps)
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--json", action="store_true", help="print one JSON object, as last line")
    options = parser.parse_args()
    study = STUDIES[options.study]
    inputs = Inputs(options.folder, options.masked_lm, options.encoder)
    for row in () if options.table else study.rows:
        if options.rows and row.name not in options.rows:
            continue
        if "train" in options.steps:
            train(row, inputs)
        if "attack" in options.steps:
            attack(row, study, inputs)
            keep(options.study, row)
    defence = options.study == "ewt_blackbox"
    print(defence_table(options.study) if defence else budget_table(options.study))
    if options.json:
        slim = {
            f"{name} {gamma}": {k: v for k, v in figures.items() if k != "counts"}
            for (name, gamma), figures in kept(options.study).items()
        }
        print(json.dumps(slim))


if __name__ == "__main__":
    main()
