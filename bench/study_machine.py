"""A study's files on this machine: its corpora, and its recipes with this machine's paths."""

import json
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from robustparse.data.splits import find_split
from robustparse.files.digests import file_digest, folder_digest
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from robustparse.tasks import registry as tasks
from studies import ROOT, Attack, Study, System, filled, percent

Inputs = Mapping[str, str]


class Machine:
    """A study with the files of this machine.

    Args:
        study: what is run.
        inputs: files and folders, by the names of `INPUTS`.
    """

    def __init__(self, study: Study, inputs: Inputs) -> None:
        self.study, self.inputs = study, inputs
        self.task = tasks.named(study.task)

    def run(self, command: Sequence[str]) -> float:
        """Run ``robustparse``; return the processor time in seconds."""
        print("robustparse", *command, flush=True)
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "train.py", *command], cwd=ROOT, check=True)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime

    def values(self, system: System) -> dict[str, str]:
        """Return the values of the placeholders in a system's contents."""
        home = self.study.home
        return {**self.inputs, "home": str(home), "tables": str(home / "tables"), **system.values}

    def digests(self, system: System) -> dict[str, str]:
        """Return the values of a system's placeholders, with digests in place of files."""
        return {**self.values(system), **{name: digest(one) for name, one in self.inputs.items()}}

    def folder(self, system: System) -> Path:
        """Return the folder of a system's corpus."""
        named = system.fit.get("data.init_args.folder", self.inputs.get("folder", ""))
        return Path(filled(named, self.values(system)))

    def split(self, system: System, split: str) -> Path:
        """Return the file of a split of a system's corpus."""
        return find_split(self.folder(system), split, self.task.files.endings)

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

    def perturbed_folder(self, system: System) -> Path | None:
        """Return the folder of released texts, or else of those that are made, if any are."""
        test = filled(self.study.test, self.values(system))
        if "perturbed" in test and Path(test["perturbed"]).is_dir():
            return Path(test["perturbed"])
        if "operations" not in test:
            return None
        return self.study.home / "perturbed" / system.values["corpus"]


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
