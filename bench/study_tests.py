"""Attack, certify or score the systems of a study, and read the figures."""

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch

from robustparse.data.fractions import draw_fraction
from robustparse.evaluation.certificate_folder import read_certificates
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.measure import QUALITY
from robustparse.evaluation.rows import ANSWERS, PERTURBED, read_rows
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from robustparse.tagsets import class_of
from studies import MEASURED, Attack, System, filled, percent
from study_machine import read_json
from study_training import Training, without

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


class Tests:
    """Tests the systems of a study with the files of a machine; `Training` makes tables."""

    def __init__(self, training: Training) -> None:
        self.training, self.machine = training, training.machine
        self.study, self.inputs, self.task = (
            self.machine.study,
            self.machine.inputs,
            self.machine.task,
        )

    def sentences(self, system: System) -> list[str]:
        """Return the test sentences of a study, as options of ``attack``: the same for all rows."""
        whole, count = self.machine.split(system, "test"), self.study.test.get("sentences")
        if count is None:
            share = filled(self.study.test["share"], self.machine.values(system))
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
        command = self.machine.attack_command(system, attack, budget)
        self.machine.run([*command, *self.sentences(system), "--out", str(folder)])
        static = None
        for copies in system.copies:
            if "of" in copies:
                static = self._static(system, copies, attack, budget)
        self._measure(folder)
        return self._figures(system, folder) | {"static": static}

    def certify(self, system: System, attack: Attack) -> dict[str, Any]:
        """Certify a system's answers; return its figures, the certified scores as ``attacked``."""
        folder, edits = self.study.attacked(system, attack, None), str(attack.certify["edits"])
        table = self.training.make_table(system, attack.certify["table"])
        command = ["certify", "--checkpoint", *map(str, self.study.checkpoints(system))]
        command += [*self.sentences(system), "--substitutes", str(table)]
        self.machine.run([*command, *without(attack.certify, "table"), "--out", str(folder)])
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
        self.machine.run(
            ["evaluate", "--checkpoint", str(checkpoint), "--data", str(data), "--out", str(out)]
        )
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
            self.machine.run(["measure", str(folder), *itertools.chain(*due.values())])

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
        test = filled(self.study.test, self.machine.values(system))
        out = self.study.folder(system) / "test"
        (checkpoint,) = self.study.checkpoints(system)
        command = ["evaluate", "--checkpoint", str(checkpoint), "--data", test["data"]]
        if perturbed := self.perturbed(system, test):
            command += ["--perturbed", str(perturbed)]
        self.machine.run([*command, "--out", str(out)])
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
        folder = self.machine.perturbed_folder(system)
        if folder is None or folder == Path(test.get("perturbed", "")):
            return folder
        make_folder(folder)
        for seed, (name, operation) in enumerate(test["operations"].items()):
            file = folder / f"{name}.tsv"
            if not file.exists():
                data = ["--data", test["raw"], "--keep", "pairs", "--seed", str(seed)]
                command = ["augment", "--task", self.study.task, "--trust", "commands", *data]
                self.machine.run(
                    [*command, "--operations", json.dumps([operation]), "--out", str(file)]
                )
        return folder


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
