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
import itertools
import json
import math
import re
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
import yaml

import studies
from results import COLUMNS, counts, key, read, shown
from robustparse.attacks.constraints.language_model import LanguageModel
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.data.fractions import draw_fraction
from robustparse.data.splits import find_split
from robustparse.errors import InputError
from robustparse.evaluation.certificate_folder import read_certificates
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.measure import QUALITY
from robustparse.evaluation.records import SUMMARY
from robustparse.evaluation.rows import ANSWERS, PERTURBED, read_rows
from robustparse.files.digests import file_digest, folder_digest
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from robustparse.tagsets import class_of
from robustparse.tasks import registry as tasks
from shared_successes import quality
from studies import INPUTS, MEASURED, ROOT, Attack, Study, System, filled, percent

REFERENCES = "robustparse.attacks.ReferenceParsers"
WHEN = ("clean", "attacked")
# Files of this machine in the summary of certificates; digests stand for them.
NAMED = ("victims", "data", "substitutes", "substitutes_settings")
SCORES = {
    "rows": "rows",
    "standard": "standard_accuracy",
    "perturbed": "perturbation_accuracy",
    "robust": "robust_accuracy",
    "black box": "blackbox_success_rate",
    "attainable": "attainable",
    "unknown words": "unknown_words",
}

Figures = Mapping[str, Any]
Inputs = Mapping[str, str]


def run(command: Sequence[str]) -> float:
    """Run ``robustparse``; return the processor time in seconds."""
    print("robustparse", *command, flush=True)
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "train.py", *command], cwd=ROOT, check=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


class Runner:
    """Trains and tests the systems of a study with the files of this machine.

    Args:
        study: what to run.
        inputs: files and folders, by the names of `INPUTS`.
    """

    def __init__(self, study: Study, inputs: Inputs) -> None:
        self.study, self.inputs = study, inputs
        self.task = tasks.named(study.task)

    def values(self, system: System) -> dict[str, str]:
        """Return the values of the placeholders in a system's contents."""
        home = self.study.home
        return {**self.inputs, "home": str(home), "tables": str(home / "tables"), **system.values}

    def folder(self, system: System) -> Path:
        """Return the folder of a system's corpus."""
        named = system.fit.get("data.init_args.folder", self.inputs.get("folder", ""))
        return Path(filled(named, self.values(system)))

    def split(self, system: System, split: str) -> Path:
        """Return the file of a split of a system's corpus."""
        return find_split(self.folder(system), split, self.task.files.endings)

    # Training

    def train(self, system: System) -> None:
        """Train a system that is not finished, from its last checkpoint on.

        Raises:
            SystemExit: it is finished, and was trained in another way.
        """
        for name in system.members:
            self.train(self.study.systems[name])
        if system.members:
            return
        folder = self.study.folder(system)
        done = folder / "finished.json"
        files = [self.study.copies_file(one, system.seed) for one in system.copies]
        for copies, file in zip(system.copies, files, strict=True):
            if not (done.exists() and file.exists()):
                self.make_copies(system, copies, file)
        if system.encoding:
            self.make_encoding(system, system.encoding)
        for name in system.tables:
            self.make_table(system, name)
        wanted = self.training(system, files)
        if done.exists():
            before = json.loads(done.read_text("utf-8")).get("training")
            if before != wanted:
                sys.exit(f"{folder} was trained as {before}, now it is {wanted}: move it away")
            return
        command = self.fit_command(system, files)
        whole = not (folder / "last.ckpt").exists()
        seconds = run(command)
        # The time before an interruption is not known.
        write_text(done, json.dumps({"seconds": seconds if whole else None, "training": wanted}))

    def fit_command(self, system: System, copies: Sequence[Path]) -> list[str]:
        """Return the command that trains a system, its configurations written where they change."""
        folder = self.study.folder(system)
        command = ["fit"]
        for path in self.configs(system):
            command += ["--config", str(path)]
        options: dict[str, Any] = {
            "data.init_args.folder": self.inputs.get("folder"),
            "trainer.default_root_dir": folder,
        }
        if start := self.study.start(system):
            options["model.init_args.init_from"] = start
        if system.encoding:
            options["model.init_args.encoding"] = self.study.encoding_file(system.encoding)
        options |= filled(system.fit, self.values(system))
        if system.steps is not None:
            options |= {"trainer.max_epochs": -1, "trainer.max_steps": system.steps}
        if system.seed is not None:
            options |= {f"{part}.init_args.seed": system.seed for part in ("model", "data")}
        if copies:
            options["data.init_args.augmentation.files"] = json.dumps([*map(str, copies)])
            (first, *_) = system.copies
            if "of" in first:
                options["data.init_args.augmentation.fraction"] = first.get("used", 1.0)
            if "vocabulary" in first:
                options["data.init_args.augmentation.vocabulary"] = first["vocabulary"]
        for name, value in options.items():
            text = str(value) if isinstance(value, str | Path) else json.dumps(value)
            command += [f"--{name}", text]
        return [*command, "--ckpt_path", "last"]

    def configs(self, system: System) -> list[Path]:
        """Return a system's configurations; what names files or seeds is written to its folder."""
        paths = []
        for number, content in enumerate(system.contents()):
            own = filled(content, self.values(system))
            for arguments in seeded(own) if system.seed is not None else ():
                arguments["seed"] = arguments.get("seed", 0) + self.study.seed_step * system.seed
            shipped = system.configs[number]
            if isinstance(shipped, str):
                paths.append(ROOT / "configs" / f"{shipped}.yaml")
                if own == studies.read_yaml(paths[-1]):
                    continue
                del paths[-1]
            name = shipped.rpartition("/")[2] if isinstance(shipped, str) else f"own_{number}"
            paths.append(make_folder(self.study.folder(system) / "configs") / f"{name}.yaml")
            write_text(paths[-1], yaml.safe_dump(own, sort_keys=False))
        return paths

    def training(self, system: System, copies: Sequence[Path]) -> dict[str, Any]:
        """Return what decides on the weights of a system.

        Raises:
            SystemExit: the checkpoint that it continues from is missing.
        """
        known = {**self.values(system), **{name: digest(one) for name, one in self.inputs.items()}}
        what: dict[str, Any] = {
            "steps": system.steps,
            "seed": system.seed,
            "configs": hashed(system.contents()),
            "fit": filled({k: v for k, v in system.fit.items() if "folder" not in k}, known),
            "data": [*self._digests(system)],
            "copies": [
                [one.get("used", 1.0), one.get("vocabulary"), file_digest(file)]
                for one, file in zip(system.copies, copies, strict=True)
            ],
        }
        if start := self.study.start(system):
            if not start.exists():
                sys.exit(
                    f"{system.name} continues from {start}, which is not there: train it first"
                )
            what["start"] = file_digest(start)
        if system.encoding:
            what["encoding"] = file_digest(self.study.encoding_file(system.encoding))
        if system.tables:
            what["tables"] = [file_digest(self.study.table_file(one)) for one in system.tables]
        return what

    def _digests(self, system: System) -> Iterator[str]:
        """Yield the digests of a corpus; some corpora have no development set."""
        for split in ("train", "dev"):
            try:
                yield file_digest(self.split(system, split))
            except InputError:
                if split == "train":
                    raise

    def make_copies(self, system: System, copies: Mapping[str, Any], file: Path) -> None:
        """Make the copies that a system is trained on; whole ones are left alone."""
        make_folder(file.parent)
        out = ["--fraction", str(copies["share"]), "--out", str(file)]
        if "operations" in copies:
            if file.exists():
                return
            operations = filled(copies["operations"], self.values(system))
            seed = copies["seed"] + self.study.seed_step * (system.seed or 0)
            command = ["augment", "--task", self.study.task, "--trust", "commands"]
            command += ["--data", filled(copies["data"], self.values(system)), "--seed", str(seed)]
            run([*command, "--operations", json.dumps(operations), *out])
            return
        source, attack = self.study.systems[copies["of"]], self.study.attacks[copies["attack"]]
        self.train(source)
        _, *recipe = self.attack_command(source, attack)
        if "ranking" in copies:
            recipe += ["--attack.search.init_args.ranking", copies["ranking"]]
        precision = copies.get("precision", "bf16-mixed")
        data = str(self.split(source, copies.get("split", "train")))
        out += ["--keep", copies["keep"], "--precision", precision, "--data", data]
        run(["augment", *recipe, *out])

    def make_table(self, system: System, name: str) -> Path:
        """Return the file of a substitution table, made of a system's corpus if it is missing."""
        path = self.study.table_file(name)
        if not path.exists():
            known = filled(self.study.tables[name], self.inputs)
            data = [str(self.split(system, split)) for split in known["splits"]]
            options = without(known, "sources", "splits")
            sources = ["--sources", *known["sources"]]
            data += ["--task", self.study.task]
            run(["substitutes", *sources, "--data", *data, *options, "--out", str(path)])
        return path

    def make_encoding(self, system: System, name: str) -> None:
        """Make an encoding of a system's training set, unless there is one."""
        path = self.study.encoding_file(name)
        if not path.exists():
            table = self.make_table(system, self.study.table_of(name))
            data = ["--substitutes", str(table), "--data", str(self.split(system, "train"))]
            options = without(self.study.encodings[name], "table")
            data += ["--task", self.study.task]
            run(["encode", *data, *options, "--out", str(path)])

    # Tests

    def recipe(self, system: System, attack: Attack) -> dict[str, Any]:
        """Return the recipe of an attack on a system with this machine's files."""
        recipe: dict[str, Any] = filled(attack.content(), self.values(system))
        return recipe

    def attack_command(
        self, system: System, attack: Attack, budget: float | None = None
    ) -> list[str]:
        """Return the command of an attack, its recipe written to the system's folder."""
        recipe = self.recipe(system, attack)
        if budget is not None:
            recipe["search"]["init_args"]["gamma"] = budget
        folder = make_folder(self.study.folder(system) / f"recipes{percent(budget)}")
        path = folder / f"{attack.name}.yaml"
        write_text(path, yaml.safe_dump(recipe, sort_keys=False))
        checkpoints = map(str, self.study.checkpoints(system))
        trusted = ["--trust", "commands"]  # such as link-parser
        return ["attack", "--attack", str(path), *trusted, "--checkpoint", *checkpoints]

    def sentences(self, system: System) -> list[str]:
        """Return the test sentences of a study, as options of ``attack``: the same for all rows."""
        whole, count = self.split(system, "test"), self.study.test.get("sentences")
        if count is None:
            share = filled(self.study.test["share"], self.values(system))
            longest = self.study.test.get("max_length")
            limit = ["--max_length", str(longest)] if longest else []
            return ["--data", str(whole), "--fraction", str(share), *limit]
        path = self.study.home / f"test_{count}{self.task.files.ending(whole)}"
        make_folder(path.parent)
        examples = self.task.files.read(whole)
        most = self.study.test.get("longest", math.inf)
        long = [example for example in examples if 5 <= len(example.sentence.words) <= most]
        share = min(1.0, count / max(1, len(long)))
        drawn = draw_fraction([1] * len(long), share, "sentences", seed=0)
        write_text(path, "".join(self.task.files.write(long[index]) for index in drawn))
        return ["--data", str(path)]

    def attack(self, system: System, attack: Attack, budget: float | None) -> dict[str, Any]:
        """Attack a system; return its figures."""
        folder = self.study.attacked(system, attack, budget)
        command = self.attack_command(system, attack, budget)
        run([*command, *self.sentences(system), "--out", str(folder)])
        static = None
        for copies in system.copies:
            if "of" in copies:
                static = self._static(system, copies, attack, budget)
        self._measure(folder)
        return self._figures(system, folder) | {"static": static}

    def certify(self, system: System, attack: Attack) -> dict[str, Any]:
        """Certify a system's answers; return its figures, the certified scores as ``attacked``."""
        folder, edits = self.study.attacked(system, attack, None), str(attack.certify["edits"])
        table = self.make_table(system, attack.certify["table"])
        command = ["certify", "--checkpoint", *map(str, self.study.checkpoints(system))]
        command += [*self.sentences(system), "--substitutes", str(table)]
        run([*command, *without(attack.certify, "table"), "--out", str(folder)])
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        bounds, records = summary["certified"][edits], read_certificates(folder)
        score, right = self.task.scores.names[-1], self.task.scores.sums[-1]
        return {
            **self.trained(system),
            **{k: v for k, v in summary.items() if k not in NAMED},
            **bounds,
            "attacked": bounds["lower"],
            "counts": {
                "words": [record["counted"] for record in records],
                "clean": [record["clean"][right] for record in records],
                "attacked": [len(record["certified"][edits][score]) for record in records],
            },
        }

    def _static(
        self, system: System, copies: Mapping[str, Any], attack: Attack, budget: float | None
    ) -> dict[str, Any]:
        """Score a system on the adversarial sentences of the source of its copies."""
        source = self.study.systems[copies["of"]]
        name = f"adversarial{self.task.files.ending('')}"
        data = self.study.attacked(source, attack, budget) / name
        if not data.exists():
            self.attack(source, attack, budget)
        out = self.study.folder(system) / f"static_{attack.name}{percent(budget)}"
        (checkpoint,) = self.study.checkpoints(system)
        run(["evaluate", "--checkpoint", str(checkpoint), "--data", str(data), "--out", str(out)])
        scores = json.loads((out / "scores.json").read_text("utf-8"))
        return {name: scores[name] for name in self.task.scores.names}

    def _measure(self, folder: Path) -> None:
        """Measure perplexity and similarity of an attack's examples, unless that is done."""
        options = {
            "perplexity": [
                "--kind",
                "masked",
                "--language_model",
                self.inputs.get("masked_lm", ""),
            ],
            "word_similarity": ["--vectors", self.inputs.get("vectors", "")],
            "sentence_similarity": ["--sentence_encoder", self.inputs.get("similarity", "")],
        }
        # The sentence encoder may be left out.
        due = {name: options[name] for name in self.study.measured if options[name][-1]}
        if None in map(qualities(folder).get, due):
            run(["measure", str(folder), *itertools.chain(*due.values())])

    def _figures(self, system: System, folder: Path) -> dict[str, Any]:
        """Return the figures of a finished attack, with the counts that a bootstrap needs."""
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        lines = list(read_records(folder / "examples.jsonl"))
        shares = [len(line["edited"]) / len(line["tokens"]) for line in lines]
        changed = [share for share, line in zip(shares, lines, strict=True) if line["success"]]
        *others, last = self.task.scores.sums
        figures = {
            **self.trained(system),
            "changed_of_successes": 100 * sum(changed) / len(changed) if changed else None,
            **{k: v for k, v in summary.items() if k not in ("victims", "attack", *MEASURED)},
            **qualities(folder),
            "counts": {
                "words": [line["counted"] for line in lines],
                **{when: [line[when][last] for line in lines] for when in WHEN},
                "changed": shares,
                **{name: {w: [line[w][name] for line in lines] for w in WHEN} for name in others},
            },
        }
        return figures | ({"copulas": copulas(lines)} if self.study.task == "dependency" else {})

    def trained(self, system: System) -> dict[str, Any]:
        """Return how long a system was trained; nothing for members that answer together."""
        if system.members:
            return {"training_seconds": None, "steps": None}
        done = json.loads((self.study.folder(system) / "finished.json").read_text("utf-8"))
        (path,) = self.study.checkpoints(system)
        checkpoint = torch.load(path, weights_only=True)
        return {"training_seconds": done["seconds"], "steps": checkpoint["global_step"]}

    def evaluate(self, system: System) -> dict[str, Any]:
        """Score a system on the study's test file and perturbed sets; return its figures."""
        test = filled(self.study.test, self.values(system))
        out = self.study.folder(system) / "test"
        (checkpoint,) = self.study.checkpoints(system)
        command = ["evaluate", "--checkpoint", str(checkpoint), "--data", test["data"]]
        if perturbed := self.perturbed(system, test):
            command += ["--perturbed", str(perturbed)]
        run([*command, "--out", str(out)])
        scored = json.loads((out / "scores.json").read_text("utf-8"))
        known = {name: scored.get(name) for name in self.task.scores.names}
        scores: dict[str, Any] = {name: one for name, one in known.items() if one is not None}
        operations = test.get("released_as", {})
        for name, one in scored.get("perturbed_files", {}).items():
            own = {ours: one.get(theirs) for ours, theirs in SCORES.items()}
            scores[operations.get(name, name)] = own
        answers = {operations.get(name, name): one for name, one in outcomes(out).items()}
        return {**self.trained(system), "scores": scores, "outcomes": answers}

    def perturbed(self, system: System, test: Mapping[str, Any]) -> Path | None:
        """Return the folder of a corpus's perturbed texts; make them where none are released."""
        folder = self._perturbed_folder(system, test)
        if folder is None or folder == Path(test.get("perturbed", "")):
            return folder
        make_folder(folder)
        for seed, (name, operation) in enumerate(test["operations"].items()):
            file = folder / f"{name}.tsv"
            if not file.exists():
                data = ["--data", test["raw"], "--keep", "pairs", "--seed", str(seed)]
                command = ["augment", "--task", self.study.task, "--trust", "commands", *data]
                run([*command, "--operations", json.dumps([operation]), "--out", str(file)])
        return folder

    def _perturbed_folder(self, system: System, test: Mapping[str, Any]) -> Path | None:
        """Return the folder of released texts, or else of those that are made, if any are."""
        if "perturbed" in test and Path(test["perturbed"]).is_dir():
            return Path(test["perturbed"])
        if "operations" not in test:
            return None
        return self.study.home / "perturbed" / system.values["corpus"]

    # Rows

    def row(self, system: System, attack: Attack | None, budget: float | None) -> dict[str, Any]:
        """Return what identifies a row, how it is run, and what it rests on so far."""
        tested = {} if attack is None else {"attack": attack.name, "budget": budget}
        command = f"python bench/study.py {self.study.name} --systems {system.name}"
        return {
            "system": system.name,
            **tested,
            "configs": [one if isinstance(one, str) else "own" for one in system.configs],
            "training_seed": system.seed,
            "command": command + (f" --attacks {attack.name}" if attack else ""),
            "origin": dict(self._origin(system, attack)),
        }

    def _origin(self, system: System, attack: Attack | None) -> Iterator[tuple[str, str]]:
        """Yield names and digests of the recipe, the parsers and the copies of a row."""
        if attack is None:
            test = filled(self.study.test, self.values(system))
            folder = self._perturbed_folder(system, test)
            if folder is not None and folder.exists():
                yield f"the perturbed texts {folder.name}", folder_digest(folder)
        elif attack.certify:
            table = self.study.table_file(attack.certify["table"])
            if table.exists():
                yield f"the table {self._name(table)}", file_digest(table)
        else:
            known = {name: digest(one) for name, one in self.inputs.items()}
            recipe = filled(attack.content(), self.values(system) | known)
            references = [one for one in recipe.get("constraints", ()) if _is_reference(one)]
            for one in references:
                recipe["constraints"].remove(one)
            yield f"the recipe {attack.name}", hashed(recipe)
            for one in references:
                yield from self._parsers(map(Path, one["init_args"]["checkpoints"]))
        yield from self._parsers(self.study.checkpoints(system))
        done = read_json(self.study.folder(system) / "finished.json").get("training") or {}
        start = self.study.start(system)
        if start and ("start" in done or start.exists()):
            yield f"the parser {self._name(start)}", done.get("start") or file_digest(start)
        for copies, made in zip(system.copies, done.get("copies") or (), strict=False):
            file = self.study.copies_file(copies, system.seed)
            yield f"the copies {self._name(file)}", made[-1]
            victims = read_json(file.with_suffix(".attack") / "run.json").get("sha256", {})
            source = self.study.systems.get(copies.get("of", ""))
            for path, one in zip(
                self.study.checkpoints(source) if source else (),
                victims.get("checkpoint", ()),
                strict=False,
            ):
                yield f"the parser {self._name(path)}", one

    def _parsers(self, paths: Iterator[Path] | Sequence[Path]) -> Iterator[tuple[str, str]]:
        for path in paths:
            if path.exists():
                yield f"the parser {self._name(path)}", file_digest(path)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.study.home).as_posix()

    def keep(self, row: Mapping[str, Any]) -> None:
        """Put a row into the study's file, in place of an earlier line for the same row."""
        order = [
            (system.name, attack.name if attack else None, budget)
            for system, attack, budget in self.study.rows
        ]
        base = re.sub(r"_seed_\d+$", "", row["system"])
        others = [
            one
            for one in self.kept()
            if key(one) != key(row) and not ("seeds" in one and one["system"] == base)
        ]
        rows = [*others, row]
        rows.sort(key=lambda one: order.index(key(one)[:3]) if key(one)[:3] in order else -1)
        make_folder(self.study.results.parent)
        write_text(self.study.results, "".join(json.dumps(one) + "\n" for one in rows))

    def kept(self) -> list[dict[str, Any]]:
        """Return the rows that are finished."""
        return read(self.study.name, self.study.results.parent)

    def measure(self, steps: Sequence[str], wanted: Sequence[Any], processor: str) -> None:
        """Train and test some rows, and keep their figures."""
        for system, attack, budget in wanted:
            planned = self.row(system, attack, budget)
            others = [one for one in self.kept() if key(one) != key(planned)]
            agree([*others, planned])
            if "train" in steps:
                self.train(system)
            if "test" in steps:
                planned = self.row(system, attack, budget)
                agree([*others, planned])
                if attack is None:
                    figures = self.evaluate(system)
                    planned = self.row(system, attack, budget)  # the perturbed texts exist now
                elif attack.certify:
                    figures = self.certify(system, attack)
                    planned = self.row(system, attack, budget)  # the table exists now
                else:
                    figures = self.attack(system, attack, budget)
                    made = read_json(self.study.attacked(system, attack, budget) / "run.json")
                    planned["origin"][f"the settings of {attack.name}"] = settings_digest(made)
                self.keep({**planned, "processor": processor, **figures})

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
            for row in self.kept():
                if row["system"] == system.name and row["attack"] in over:
                    self.keep({**row, "shared_successes": over[row["attack"]]})

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
            run(["report", *done, "--out", f"{out}.html", "--export", str(out)])


def outcomes(folder: Path) -> dict[str, dict[str, str]]:
    """Return what `evaluate` found right, a digit for each text.

    Args:
        folder: that it wrote.

    Returns:
        By operation the digits of the ``original`` and the ``perturbed`` texts; under ``test``
        those of the unchanged test texts as ``original``.
    """
    found = {"test": {"original": _digits(row for _, row in read_rows(folder / ANSWERS))}}
    path = folder / PERTURBED
    rows = [row for _, row in read_rows(path)] if path.exists() else []
    for name, of_operation in itertools.groupby(rows, key=itemgetter("operation")):
        texts = [*of_operation]
        originals = _digits(row["original"] for row in texts)
        found[name] = {"original": originals, "perturbed": _digits(texts)}
    return found


def _digits(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(str(int(row["right"])) for row in rows)


def seeded(config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each adversary in a configuration; all of them take a seed."""
    trainer = config.get("trainer", {})
    for callback in (*trainer.get("callbacks", ()), *trainer.get("callbacks+", ())):
        if callback["class_path"].startswith("robustparse.defenses."):
            yield callback.setdefault("init_args", {})


def without(content: Mapping[str, Any], *names: str) -> list[str]:
    """Return a content as options of a command, without those that are named."""
    options = []
    for name, value in content.items():
        if name not in names:
            options += [f"--{name}", str(value).lower() if value is True else str(value)]
    return options


def _is_reference(part: Any) -> bool:
    return isinstance(part, dict) and part.get("class_path") == REFERENCES


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a file, empty if there is none."""
    content: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return content


def hashed(content: Any) -> str:
    """Return the digest of plain data."""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def digest(name: str) -> str:
    """Return the digest of a file or folder; a name from a hub stands for itself."""
    path = Path(name).expanduser()
    if path.is_file():
        return file_digest(path)
    return folder_digest(path) if path.is_dir() else name


def settings_digest(made: Mapping[str, Any]) -> str:
    """Return the digest of an attack's settings with defaults, without budget and references."""
    files = made["sha256"]["recipe"]

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(part) for part in node if not _is_reference(part)]
        if isinstance(node, dict):
            return {name: plain(value) for name, value in node.items() if name != "gamma"}
        return files.get(node, node) if isinstance(node, str) else node

    return hashed(plain(made["settings"]))


def qualities(folder: Path) -> dict[str, Any]:
    """Return what ``measure`` found: means and medians, None for what was not measured."""
    content = read_json(folder / QUALITY)
    return {name: content[name][of] if name in content else None for name, of in MEASURED.items()}


def copulas(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how many changed words are copulas or auxiliaries, of all and by class of tag."""
    classes = {"all": {"changed": 0, "copulas": 0}}
    for line in lines:
        for position, tag in zip(line["edited"], line["edited_tags"], strict=True):
            relation = line["gold"]["labels"][position].partition(":")[0]
            for name in ("all", class_of(tag) or "other"):
                count = classes.setdefault(name, {"changed": 0, "copulas": 0})
                count["changed"] += 1
                count["copulas"] += relation in ("cop", "aux")
    return classes


def agree(rows: Sequence[Figures]) -> None:
    """Check that rows rest on the same parsers and recipes where these have the same name.

    Raises:
        SystemExit: two do not; the message names both.
    """
    first: dict[str, tuple[str, Figures]] = {}
    for row in rows:
        for what, one in row.get("origin", {}).items():
            earlier, other = first.setdefault(what, (one, row))
            if one != earlier:
                names = [f"{r['system']} ({r.get('attack')})" for r in (other, row)]
                sys.exit(
                    f"{names[0]} and {names[1]} rest on different files: {what} was {earlier[:12]} "
                    f"for the former and is {one[:12]} for the latter. Remove the older line from "
                    "the results and measure it again, or use another folder (--home FOLDER)"
                )


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
    rows = runner.kept()
    print(table(rows))
    if options.json:
        print(json.dumps([{k: v for k, v in row.items() if k != "counts"} for row in rows]))


if __name__ == "__main__":
    main()
