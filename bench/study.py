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

import numpy as np

from robustparse.data.conllu import find_split
from robustparse.evaluation.robustness import read_lines
from robustparse.evaluation.significance import (
    Interval,
    recovered_share,
    recovered_share_difference,
)
from robustparse.files import write_text

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


@dataclass(frozen=True)
class Row:
    """One system: a configuration, the checkpoint it ends with, and what it is called."""

    name: str
    title: str
    checkpoint: str = "last.ckpt"

    @property
    def config(self) -> Path:
        """The row's configuration."""
        return ROOT / "configs" / "experiment" / f"{self.name}.yaml"

    @property
    def folder(self) -> Path:
        """Where its run lives, as the configuration says."""
        return ROOT / "runs" / self.name


STUDIES = {
    "ewt_blackbox": (
        Row("ewt_biaffine", "clean training", "best.ckpt"),
        Row("ewt_biaffine_control", "+ clean only (control)"),
        Row("ewt_biaffine_fgm", "+ FGM"),
        Row("ewt_biaffine_substitution", "+ online substitution"),
    )
}


def run(command: list[str]) -> float:
    """Run ``robustparse`` with these arguments; the seconds it took."""
    print("robustparse", *command, flush=True)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "train.py", *command], cwd=ROOT, check=True)
    return time.perf_counter() - begin


def train(row: Row, folder: Path) -> None:
    """Train a row whose ``finished.json`` is not there, going on from its last checkpoint."""
    done = row.folder / "finished.json"
    if done.exists():
        return
    command = ["fit", "--config", str(row.config), "--data.init_args.folder", str(folder)]
    seconds = run([*command, "--ckpt_path", "last"])
    write_text(done, json.dumps({"seconds": seconds}))


def attack(row: Row, folder: Path, masked_lm: str) -> None:
    """Attack a row's checkpoint on the whole test set."""
    generator = "--attack.candidates.init_args.generator.init_args"
    run(
        [
            *("attack", "--attack", str(ROOT / "configs/attack/zheng2020_blackbox.yaml")),
            *(f"{generator}.model", masked_lm),
            *("--checkpoint", str(row.folder / row.checkpoint)),
            *("--data", str(find_split(folder, "test"))),
            *("--out", str(row.folder / "zheng2020_blackbox")),
        ]
    )


def keep(study: str, row: Row) -> None:
    """Copy a row's figures, and the counts a bootstrap needs, into ``bench/results``."""
    attacked = row.folder / "zheng2020_blackbox"
    summary = json.loads((attacked / "summary.json").read_text("utf-8"))
    lines = read_lines(attacked / "examples.jsonl")
    figures = {
        "row": row.name,
        "title": row.title,
        "training_seconds": json.loads((row.folder / "finished.json").read_text())["seconds"],
        **{key: value for key, value in summary.items() if key != "victims"},
        "counts": {
            "words": [line["counted"] for line in lines],
            "clean": [line["clean"]["correct_labels"] for line in lines],
            "attacked": [line["attacked"]["correct_labels"] for line in lines],
        },
    }
    write_text(RESULTS / f"{study}_{row.name}.json", json.dumps(figures) + "\n")


def table(study: str) -> str:
    """The finished rows as a Markdown table, defences with the share of lost LAS they win back."""
    kept = {}
    for row in STUDIES[study]:
        path = RESULTS / f"{study}_{row.name}.json"
        if path.exists():
            kept[row.name] = json.loads(path.read_text("utf-8"))
    baseline, control = STUDIES[study][0].name, STUDIES[study][1].name
    lines = [
        "| system | clean UAS | clean LAS | attacked UAS | attacked LAS | success % | won back % "
        "| over control, points |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in kept.items():
        back = over = "-"
        if name != baseline:
            back = shown(recovered_share(*_sides(kept[baseline], row), seed=0))
        if name not in (baseline, control) and control in kept:
            over = shown(_over_control(kept[baseline], row, kept[control]))
        scores = (row["clean"]["uas"], row["clean"]["las"], row["attacked"]["uas"])
        figures = [*scores, row["attacked"]["las"], row["success_rate"]]
        cells = [row["title"], *(f"{value:.2f}" for value in figures), back, over]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _sides(baseline: dict, row: dict) -> tuple[np.ndarray, ...]:
    counts, own = baseline["counts"], row["counts"]
    columns = (counts["attacked"], counts["clean"], own["attacked"], counts["words"])
    return tuple(np.array(column) for column in columns)


def _over_control(baseline: dict, row: dict, control: dict) -> Interval:
    attacked, clean, defended, words = _sides(baseline, row)
    other = np.array(control["counts"]["attacked"])
    return recovered_share_difference(attacked, clean, defended, other, words, seed=0)


def shown(interval: Interval) -> str:
    return f"{interval.estimate:.1f} [{interval.lower:.1f}, {interval.upper:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", choices=sorted(STUDIES), default="ewt_blackbox")
    parser.add_argument("--folder", type=Path, help="the treebank")
    parser.add_argument("--masked_lm", help="folder or name of the masked language model")
    parser.add_argument("--rows", nargs="*", help="only these rows")
    steps = ["train", "attack"]
    parser.add_argument("--steps", nargs="*", choices=steps, default=steps)
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--json", action="store_true", help="print one JSON object, as last line")
    options = parser.parse_args()
    for row in () if options.table else STUDIES[options.study]:
        if options.rows and row.name not in options.rows:
            continue
        if "train" in options.steps:
            train(row, options.folder)
        if "attack" in options.steps:
            attack(row, options.folder, options.masked_lm)
            keep(options.study, row)
    print(table(options.study))
    if options.json:
        names = [row.name for row in STUDIES[options.study]]
        paths = [RESULTS / f"{options.study}_{name}.json" for name in names]
        kept = {p.stem: json.loads(p.read_text("utf-8")) for p in paths if p.exists()}
        slim = {n: {k: v for k, v in f.items() if k != "counts"} for n, f in kept.items()}
        print(json.dumps(slim))


if __name__ == "__main__":
    main()
