"""Studies in ``bench/studies/*.yaml``: which systems are trained, and how each is tested.

A study has ``systems`` and ``attacks``; every system is put under every attack, unless it lists
its own ``attacks``, at each of the attack's ``budgets``. A study without attacks scores its
systems on a file of ``test`` and on perturbed files: released ones (``released_as`` gives the
operation of a file with another name), or those that the ``operations`` of ``test`` make of its
``raw`` texts. ``measured`` names what models measure of an attack's examples, of `MEASURED`; all of
it by default.

Keys of a system:
    configs: names of files in ``configs``, or contents of a configuration; by default
        ``experiment/SYSTEM``.
    fit: more options of ``robustparse fit``.
    steps, seed: of training, instead of the configurations'. ``seeds`` makes a system of each.
    checkpoint: the file that is tested.
    copies: adversarial or perturbed copies of training sentences that it is trained on too: ``of``
        names the system that an ``attack`` is made against; ``operations`` need none.
    members: systems that answer together; nothing is trained.
    encoding: of ``encodings``, with which it reads words.
    tables: of ``tables``, files that its configurations name as ``{tables}/NAME.jsonl``.
    Other keys are values for placeholders. ``each`` lists sets of such values: each set makes one
        system, and the name of the system contains a placeholder too.
Keys of an attack:
    recipe: the shipped one that it starts from, by default that of its own name.
    constraints: how many of the recipe's are kept.
    without, with: constraints that are left out, by class, and added.
    set: settings of the recipe by dotted names.
    space: of candidates. The sentences that all attacks in a space change with success are compared
        (Yoo et al. 2020, Table 4).
    certify: computes certificates, whose scores count as those under attack, instead: the
        ``table`` of substitutes, the number of ``edits`` and the ``cap`` of inputs.
Keys of a table of ``tables``: options of ``robustparse substitutes``, and ``splits``, its data.
Keys of an encoding: its ``table`` and options of ``robustparse encode``, whose data are the
training set.

``{encoder}`` and the like stand for files and folders of this machine, which the command line
names.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from robustparse.errors import InputError
from robustparse.tasks import registry as tasks

ROOT = Path(__file__).resolve().parent.parent
STUDIES = ROOT / "bench" / "studies"
INPUTS = {
    "folder": "the treebank or corpus",
    "texts": "folder of corpora of texts and pairs",
    "masked_lm": "folder or name of the masked language model",
    "encoder": "folder or name of the pretrained encoder",
    "vectors": "file of counter-fitted word vectors",
    "word_vectors": "file of word vectors that models read",
    "similarity": "folder or name of the sentence encoder",
    "neighbours": "file of neighbouring words",
    "forms": "folder of corpora of logical forms",
    "raw": "the same with raw utterances",
    "perturbed": "folder of released perturbed sets",
    "parser": "checkpoint of the parser that reordering asks",
}
# What models measure of an attack's examples, and over which sentences.
MEASURED = {"perplexity": "all", "word_similarity": "changed", "sentence_similarity": "changed"}
# What shipped recipes and configurations call these files.
SHIPPED = {
    "bert-base-uncased": "masked_lm",
    "counter-fitted-vectors.txt": "vectors",
    "sentence-transformers/all-MiniLM-L6-v2": "similarity",
}


@dataclass(frozen=True)
class Attack:
    """An attack of a study; see the module."""

    name: str
    title: str = ""
    recipe: str = ""
    budgets: tuple[float | None, ...] = (None,)
    constraints: int | None = None
    without: tuple[str, ...] = ()
    added: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    space: str | None = None
    certify: Mapping[str, Any] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """Return its recipe, with placeholders; nothing for certificates."""
        if self.certify:
            return {}
        path = ROOT / "configs" / "attack" / f"{self.recipe or self.name}.yaml"
        recipe: dict[str, Any] = placed(read_yaml(path))
        kept = recipe.get("constraints", [])[: self.constraints]
        kept = [one for one in kept if one["class_path"] not in self.without]
        if kept or self.added:
            recipe["constraints"] = [*kept, *self.added]
        for name, value in self.settings.items():
            *path_to, last = name.split(".")
            node = recipe
            for part in path_to:
                node = node[part]
            node[last] = value
        return recipe


@dataclass(frozen=True)
class System:
    """A system of a study; see the module."""

    name: str
    title: str
    configs: tuple[str | Mapping[str, Any], ...] = ()
    fit: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    seed: int | None = None
    checkpoint: str = "best.ckpt"
    copies: tuple[Mapping[str, Any], ...] = ()
    members: tuple[str, ...] = ()
    attacks: tuple[str, ...] | None = None
    encoding: str | None = None
    tables: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)

    def contents(self) -> list[dict[str, Any]]:
        """Return the contents of its configurations, with placeholders."""
        return [
            placed(read_yaml(ROOT / "configs" / f"{one}.yaml") if isinstance(one, str) else one)
            for one in self.configs
        ]


@dataclass(frozen=True)
class Study:
    """A study; see the module. ``home`` is the folder of its runs."""

    name: str
    task: str
    home: Path
    test: Mapping[str, Any]
    systems: Mapping[str, System]
    attacks: Mapping[str, Attack]
    measured: tuple[str, ...] = tuple(MEASURED)
    seed_step: int = 1
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    encodings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        """The file of its figures: the committed one, or one beside the runs elsewhere."""
        shipped = self.home.is_relative_to(ROOT / "runs")
        folder = ROOT / "bench" / "results" if shipped else self.home / "results"
        return folder / f"{self.name}.jsonl"

    @cached_property
    def rows(self) -> list[tuple[System, Attack | None, float | None]]:
        """Each system with each attack and budget."""
        return [
            (system, attack, budget)
            for system in self.systems.values()
            for attack in self.attacks_of(system)
            for budget in (attack.budgets if attack else (None,))
        ]

    def attacks_of(self, system: System) -> list[Attack] | list[None]:
        """Return the attacks on a system, None for a study without attacks."""
        wanted = self.attacks if system.attacks is None else system.attacks
        return [self.attacks[name] for name in wanted] if self.attacks else [None]

    def folder(self, system: System) -> Path:
        """Return the folder of a system's run."""
        return self.home / system.name

    def checkpoints(self, system: System) -> list[Path]:
        """Return the checkpoints that are tested together."""
        members = [self.systems[name] for name in system.members] or [system]
        return [self.folder(one) / one.checkpoint for one in members]

    def attacked(self, system: System, attack: Attack, budget: float | None) -> Path:
        """Return the folder of an attack on, or of certificates of, the test sentences."""
        count = self.test.get("sentences")
        folder = self.folder(system) / f"test_{count}" if count else self.folder(system)
        return folder / f"{attack.name}{percent(budget)}"

    def start(self, system: System) -> Path | None:
        """Return the checkpoint that a system continues from, among the runs of its study."""
        for first in system.contents()[:1]:
            if path := first.get("model", {}).get("init_args", {}).get("init_from"):
                return self.home / Path(path).relative_to("runs")
        return None

    def copies_file(self, copies: Mapping[str, Any], seed: int | None) -> Path:
        """Return the file of a system's copies."""
        ending = tasks.named(self.task).files.ending("")
        if "operations" in copies:
            return self.home / f"copies_{copies['name']}_{seed or 0}{ending}"
        split = f"_{copies['split']}" if "split" in copies else ""
        name = f"copies_{copies['attack']}{percent(copies['share'])}{split}{ending}"
        return self.home / copies["of"] / name

    def table_of(self, encoding: str) -> str:
        """Return the name of the table that an encoding is made of."""
        return str(self.encodings[encoding]["table"])

    def table_file(self, name: str) -> Path:
        """Return the file of a substitution table."""
        return self.home / "tables" / f"{name}.jsonl"

    def encoding_file(self, name: str) -> Path:
        """Return the file of an encoding."""
        return self.home / "encodings" / f"{name}.jsonl"

    def needs(self, wanted: list[tuple[System, Attack | None, float | None]]) -> list[str]:
        """Return the names of the inputs that some rows need."""
        nodes: list[Any] = [dict(self.test)]
        for system, attack, _ in wanted:
            nodes += [system.contents(), dict(system.fit), list(system.copies)]
            nodes += [attack.content()] if attack else []
            if attack and attack.certify:
                nodes.append(self.tables[attack.certify["table"]])
            if system.encoding:
                nodes.append(self.tables[self.table_of(system.encoding)])
            nodes += [self.tables[name] for name in system.tables]
        names = {name for node in nodes for name in placeholders(node)}
        if not all("data.init_args.folder" in system.fit for system, *_ in wanted):
            names.add("folder")
        if self.attacks:
            names |= {"masked_lm"} if "perplexity" in self.measured else set()
            names |= {"vectors"} if "word_similarity" in self.measured else set()
        if any(attack and attack.space for _, attack, _ in wanted):
            names |= {"masked_lm", "similarity"}
        return [name for name in INPUTS if name in names]


def percent(share: float | None) -> str:
    """Return a budget as the end of a file's name."""
    return "" if share is None else f"_{round(100 * share):02d}"


PLACEHOLDER = re.compile(r"\{(\w+)\}")


def placed(node: Any) -> Any:
    """Return a content with placeholders for the files that shipped recipes name."""
    if isinstance(node, list):
        return [placed(one) for one in node]
    if isinstance(node, dict):
        return {key: placed(value) for key, value in node.items()}
    return f"{{{SHIPPED[node]}}}" if isinstance(node, str) and node in SHIPPED else node


def placeholders(node: Any) -> Iterator[str]:
    """Yield the names of the placeholders in a content."""
    if isinstance(node, (list, tuple)):
        for one in node:
            yield from placeholders(one)
    elif isinstance(node, Mapping):
        for one in node.values():
            yield from placeholders(one)
    elif isinstance(node, str):
        yield from PLACEHOLDER.findall(node)


def filled(node: Any, values: Mapping[str, Any]) -> Any:
    """Return a content with values for its placeholders."""
    if isinstance(node, (list, tuple)):
        return [filled(one, values) for one in node]
    if isinstance(node, Mapping):
        return {key: filled(value, values) for key, value in node.items()}
    if isinstance(node, str):
        return PLACEHOLDER.sub(lambda mark: str(values.get(mark[1], mark[0])), node)
    return node


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the content of a YAML file; the parser in C is ten times as fast as that in Python."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content: dict[str, Any] = yaml.load(path.read_text("utf-8"), Loader=loader)
    return content


def names() -> list[str]:
    """Return the names of the studies."""
    return sorted(path.stem for path in STUDIES.glob("*.yaml"))


def read_study(name: str, home: Path | None = None, seed: int | None = None) -> Study:
    """Read a study.

    Args:
        name: of a file in ``bench/studies``.
        home: folder of its runs, instead of ``runs``.
        seed: of training; a system with a seed gets as many more.

    Raises:
        InputError: a key, or the name of an attack or system in it, is unknown.
    """
    path = STUDIES / f"{name}.yaml"
    content = read_yaml(path)
    runs = ROOT / "runs"
    home = home or (runs / content["home"] if "home" in content else runs)
    attacks = {key: _attack(key, one or {}) for key, one in content.get("attacks", {}).items()}
    systems: dict[str, System] = {}
    for key, one in content["systems"].items():
        common = {"checkpoint": content.get("checkpoint", "best.ckpt")}
        for values in one.get("each", [{}]):
            own = common | one | values
            for system in _systems(filled(key, values), own, content.get("fit", {}), seed):
                if system.name in systems:
                    raise InputError("two systems of this name", path=path, key=system.name)
                systems[system.name] = system
    for system in systems.values():
        wanted = [*(system.attacks or ()), *system.members]
        wanted += [copies["of"] for copies in system.copies if "of" in copies]
        wanted += [system.encoding] if system.encoding else []
        if unknown := sorted({*wanted} - {*attacks, *systems, *content.get("encodings", ())}):
            raise InputError(f"unknown {', '.join(unknown)}", path=path, key=system.name)
    return Study(
        name=name,
        task=content["task"],
        home=home,
        test=content["test"],
        systems=systems,
        attacks=attacks,
        measured=tuple(content.get("measured", MEASURED)),
        seed_step=content.get("seed_step", 1),
        tables=content.get("tables", {}),
        encodings=content.get("encodings", {}),
    )


def _attack(name: str, content: Mapping[str, Any]) -> Attack:
    return Attack(
        name=name,
        title=content.get("title", name),
        recipe=content.get("recipe", name),
        budgets=tuple(content.get("budgets", [None])),
        constraints=content.get("constraints"),
        without=tuple(content.get("without", ())),
        added=tuple(content.get("with", ())),
        settings=content.get("set", {}),
        space=content.get("space"),
        certify=content.get("certify", {}),
    )


def _systems(
    name: str, content: Mapping[str, Any], fit: Mapping[str, Any], seed: int | None
) -> Iterator[System]:
    """Yield a system, or one for each of its seeds: the first of a name, then ``NAME_seed_N``."""
    known = {"title", "configs", "fit", "steps", "seed", "seeds", "checkpoint", "copies"}
    known |= {"members", "attacks", "encoding", "tables", "each"}
    values = {key: value for key, value in content.items() if key not in known}
    content = filled(content, values)
    copies = content.get("copies", [])
    own = System(
        name=name,
        title=content["title"],
        configs=tuple(
            content.get("configs", [] if "members" in content else [f"experiment/{name}"])
        ),
        fit={} if "members" in content else {**fit, **content.get("fit", {})},
        steps=content.get("steps"),
        checkpoint=content["checkpoint"],
        copies=tuple([copies] if isinstance(copies, dict) else copies),
        members=tuple(content.get("members", ())),
        attacks=tuple(content["attacks"]) if "attacks" in content else None,
        encoding=content.get("encoding"),
        tables=tuple(content.get("tables", ())),
        values=values,
    )
    for one in content.get("seeds", [content.get("seed")]):
        trained = one if seed is None else seed + (one or 0)
        later = "seeds" in content and one
        yield replace(
            own,
            name=f"{name}_seed_{one}" if later else name,
            title=f"{own.title}, seed {trained}" if later else own.title,
            seed=trained,
        )
