"""Run a study of ``bench/studies``: train its systems, test them, keep their figures.

    python bench/study.py zheng2020_table1 --folder UD_English-EWT --masked_lm MODEL --encoder MODEL

A system trains with ``robustparse fit`` unless it is finished, is attacked with ``robustparse
attack``, certified with ``robustparse certify`` or scored with ``robustparse evaluate``, and leaves
a line of figures in ``bench/results/STUDY.jsonl``. All of them go on where they stopped. At the end
``robustparse report --export`` writes a page of the attacks next to the runs, and its plots and
tables as files. ``bench/results.py`` makes the pages of ``docs/results``.

Another treebank, or other seeds, need a separate folder: ``--home FOLDER --seed 3``. A system
that was trained in another way than it would be now is refused: with other steps, seed or
configurations, from another checkpoint, on other copies or another corpus. So is a row that rests
on another parser or recipe than an earlier row with the same name.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import studies
from results import COLUMNS, counts, key, shown
from robustparse.attacks.constraints.language_model import LanguageModel
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.evaluation.records import SUMMARY
from shared_successes import quality
from studies import INPUTS, Study
from study_machine import Inputs, Machine, read_json
from study_rows import Figures, Rows, agree, settings_digest
from study_tests import Tests
from study_training import Training


class Runner:
    """Trains and tests the systems of a study with the files of this machine.

    Args:
        study: what to run.
        inputs: files and folders, by the names of `INPUTS`.
    """

    def __init__(self, study: Study, inputs: Inputs) -> None:
        self.study, self.inputs = study, inputs
        self.machine = Machine(study, inputs)
        self.training = Training(self.machine)
        self.tests, self.rows = Tests(self.training), Rows(self.machine)

    def measure(self, steps: Sequence[str], wanted: Sequence[Any], processor: str) -> None:
        """Train and test some rows, and keep their figures."""
        for system, attack, budget in wanted:
            planned = self.rows.row(system, attack, budget)
            others = [one for one in self.rows.kept() if key(one) != key(planned)]
            agree([*others, planned])
            if "train" in steps:
                self.training.train(system)
            if "test" in steps:
                planned = self.rows.row(system, attack, budget)
                agree([*others, planned])
                if attack is None:
                    figures = self.tests.evaluate(system)
                    planned = self.rows.row(system, attack, budget)  # the perturbed texts exist now
                elif attack.certify:
                    figures = self.tests.certify(system, attack)
                    planned = self.rows.row(system, attack, budget)  # the table exists now
                else:
                    figures = self.tests.attack(system, attack, budget)
                    made = read_json(self.study.attacked(system, attack, budget) / "run.json")
                    planned["origin"][f"the settings of {attack.name}"] = settings_digest(made)
                self.rows.keep({**planned, "processor": processor, **figures})

    def compare(self, wanted: Sequence[Any]) -> None:
        """Add figures of quality to the rows of each space in which all attacks are finished."""
        spaces = {(system.name, attack.space): system for system, attack, _ in wanted if attack}
        for (_, space), system in spaces.items():
            attacks = [one for one in self.study.attacks_of(system) if one and one.space == space]
            folders = {one.name: self.study.attacked(system, one, None) for one in attacks}
            if space is None or not all((one / SUMMARY).exists() for one in folders.values()):
                continue
            language_model = LanguageModel(self.inputs["masked_lm"], "masked")
            encoder = SentenceSimilarity(self.inputs["similarity"], measure="angular")
            over = quality(folders, language_model, encoder)
            for row in self.rows.kept():
                if row["system"] == system.name and row["attack"] in over:
                    self.rows.keep({**row, "shared_successes": over[row["attack"]]})

    def report(self) -> None:
        """Write the report of all finished attacks, its plots and tables as files."""
        folders = [
            self.study.attacked(system, attack, budget)
            for system, attack, budget in self.study.rows
            if attack is not None and not attack.certify
        ]
        done = [str(path) for path in folders if (path / "summary.json").exists()]
        if done:
            out = self.study.home / self.study.name
            self.machine.run(["report", *done, "--out", f"{out}.html", "--export", str(out)])


def table(rows: Sequence[Figures]) -> str:
    """Return a short table of finished rows."""
    lines = [["system", "attack", "budget %", "clean", "attacked", "lost", "success %"]]
    for row in rows:
        if "counts" not in row:
            lines.append([row["system"], *[""] * 2, json.dumps(row.get("scores")), *[""] * 3])
            continue
        of = counts(row)
        scores = [100 * sum(part) / sum(of.counted) for part in (of.clean, of.attacked)]
        figures = [*scores, of.lost(), row.get("success_rate")]
        cells = [row["system"], row["attack"], shown(COLUMNS["budget"](row))]
        lines.append([*cells, *map(shown, figures)])
    head, *body = (f"| {' | '.join(cells)} |" for cells in lines)
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body])


def read_options() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=studies.names())
    parser.add_argument("--folder", help=INPUTS["folder"])
    parser.add_argument("--texts", help=INPUTS["texts"])
    parser.add_argument("--masked_lm", help=INPUTS["masked_lm"])
    parser.add_argument("--encoder", help=INPUTS["encoder"])
    parser.add_argument("--vectors", help=INPUTS["vectors"])
    parser.add_argument("--word_vectors", help=INPUTS["word_vectors"])
    parser.add_argument("--similarity", help=INPUTS["similarity"])
    parser.add_argument("--neighbours", help=INPUTS["neighbours"])
    parser.add_argument("--forms", help=INPUTS["forms"])
    parser.add_argument("--raw", help=INPUTS["raw"])
    parser.add_argument("--perturbed", help=INPUTS["perturbed"])
    parser.add_argument("--parser", help=INPUTS["parser"])
    parser.add_argument("--home", type=Path, help="folder of runs and figures, for other inputs")
    parser.add_argument("--seed", type=int, help="of training; added to a system's own seed")
    parser.add_argument("--systems", nargs="*", help="only these")
    parser.add_argument("--attacks", nargs="*", help="only these")
    parser.add_argument("--steps", nargs="*", choices=["train", "test"], default=["train", "test"])
    parser.add_argument("--processor", default="", help="kept with the figures")
    parser.add_argument("--table", action="store_true", help="only print what is finished")
    parser.add_argument("--json", action="store_true", help="print one JSON object, as last line")
    options = parser.parse_args()
    if options.seed is not None and options.home is None:
        parser.error("runs of another seed need a folder of their own: --home FOLDER")
    options.study = studies.read_study(
        options.study, options.home and options.home.resolve(), options.seed
    )
    options.rows = [
        (system, attack, budget)
        for system, attack, budget in options.study.rows
        if (not options.systems or system.name in options.systems)
        and (not options.attacks or (attack is not None and attack.name in options.attacks))
    ]
    if not options.table:
        lacking = [
            one for one in options.study.needs(options.rows) if getattr(options, one) is None
        ]
        if lacking:
            named = ", ".join(f"--{one}" for one in lacking)
            parser.error(f"the study {options.study.name} needs {named} too")
    return options


def main() -> None:
    """Measure what is not finished, then print a table."""
    options = read_options()
    inputs = {name: getattr(options, name) for name in INPUTS if getattr(options, name)}
    runner = Runner(options.study, inputs)
    if not options.table:
        runner.measure(options.steps, options.rows, options.processor)
        runner.compare(options.rows)
        runner.report()
    rows = runner.rows.kept()
    print(table(rows))
    if options.json:
        print(json.dumps([{k: v for k, v in row.items() if k != "counts"} for row in rows]))


if __name__ == "__main__":
    main()
