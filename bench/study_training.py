"""Train the systems of a study, on copies, tables and encodings that are made first."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import studies
from robustparse.errors import InputError
from robustparse.files.digests import file_digest
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from studies import ROOT, System, filled
from study_machine import Machine, hashed


class Training:
    """Trains the systems of a study with the files of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.study, self.inputs = machine, machine.study, machine.inputs

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
        wanted = self.provenance(system, files)
        if done.exists():
            before = json.loads(done.read_text("utf-8")).get("training")
            if before != wanted:
                sys.exit(f"{folder} was trained as {before}, now it is {wanted}: move it away")
            return
        command = self.fit_command(system, files)
        whole = not (folder / "last.ckpt").exists()
        seconds = self.machine.run(command)
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
        options |= filled(system.fit, self.machine.values(system))
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
            own = filled(content, self.machine.values(system))
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

    def provenance(self, system: System, copies: Sequence[Path]) -> dict[str, Any]:
        """Return what decides on the weights of a system.

        Raises:
            SystemExit: the checkpoint that it continues from is missing.
        """
        named = {name: value for name, value in system.fit.items() if "folder" not in name}
        what: dict[str, Any] = {
            "steps": system.steps,
            "seed": system.seed,
            "configs": hashed(system.contents()),
            "fit": filled(named, self.machine.digests(system)),
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
                yield file_digest(self.machine.split(system, split))
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
            values = self.machine.values(system)
            operations = filled(copies["operations"], values)
            seed = copies["seed"] + self.study.seed_step * (system.seed or 0)
            command = ["augment", "--task", self.study.task, "--trust", "commands"]
            command += [
                "--data",
                filled(copies["data"], values),
                "--seed",
                str(seed),
            ]
            self.machine.run([*command, "--operations", json.dumps(operations), *out])
            return
        source, attack = self.study.systems[copies["of"]], self.study.attacks[copies["attack"]]
        self.train(source)
        _, *recipe = self.machine.attack_command(source, attack)
        if "ranking" in copies:
            recipe += ["--attack.search.init_args.ranking", copies["ranking"]]
        precision = copies.get("precision", "bf16-mixed")
        data = str(self.machine.split(source, copies.get("split", "train")))
        out += ["--keep", copies["keep"], "--precision", precision, "--data", data]
        self.machine.run(["augment", *recipe, *out])

    def make_table(self, system: System, name: str) -> Path:
        """Return the file of a substitution table, made of a system's corpus if it is missing."""
        path = self.study.table_file(name)
        if not path.exists():
            known = filled(self.study.tables[name], self.inputs)
            data = [str(self.machine.split(system, split)) for split in known["splits"]]
            options = without(known, "sources", "splits")
            sources = ["--sources", *known["sources"]]
            data += ["--task", self.study.task]
            self.machine.run(
                ["substitutes", *sources, "--data", *data, *options, "--out", str(path)]
            )
        return path

    def make_encoding(self, system: System, name: str) -> None:
        """Make an encoding of a system's training set, unless there is one."""
        path = self.study.encoding_file(name)
        if not path.exists():
            table = self.make_table(system, self.study.table_of(name))
            data = ["--substitutes", str(table), "--data", str(self.machine.split(system, "train"))]
            options = without(self.study.encodings[name], "table")
            data += ["--task", self.study.task]
            self.machine.run(["encode", *data, *options, "--out", str(path)])


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
