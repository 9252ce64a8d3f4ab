"""The rows of a study: what each rests on, and those that are finished, in its file of results."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from results import key, read
from robustparse.files.digests import file_digest, folder_digest
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from studies import Attack, System, filled
from study_machine import Machine, hashed, read_json

REFERENCES = "robustparse.attacks.ReferenceParsers"
Figures = Mapping[str, Any]


class Rows:
    """The rows of a study on a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.study = machine, machine.study

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
            folder = self.machine.perturbed_folder(system)
            if folder is not None and folder.exists():
                yield f"the perturbed texts {folder.name}", folder_digest(folder)
        elif attack.certify:
            table = self.study.table_file(attack.certify["table"])
            if table.exists():
                yield f"the table {self._name(table)}", file_digest(table)
        else:
            recipe = filled(attack.content(), self.machine.digests(system))
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


def _is_reference(part: Any) -> bool:
    return isinstance(part, dict) and part.get("class_path") == REFERENCES
