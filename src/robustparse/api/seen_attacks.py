"""Tell from the configuration of its training whether a system was trained against an attack.

The file ``config.yaml`` next to a checkpoint names what the training used:

- callbacks with an ``attack`` (online substitution) or a ``table`` of substitutes;
- files of adversarial copies, next to which `augment` writes the attack that made them;
- an ``encoding``, which names the substitution table that it was made for.

An attack is identified by its candidate generators and its search; `TableCandidates` by the content
of their table, and by the candidate generators that are the sources of the table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustparse.api.copies_file import attack_folder, summary_beside
from robustparse.api.inputs import digest
from robustparse.attacks.substitution_sources import GENERATORS
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.data.robust_encoding import Encoding
from robustparse.errors import InputError
from robustparse.evaluation.finished_folders import read_run
from robustparse.evaluation.records import RUN, RunRecord
from robustparse.evaluation.worst_of_attacks import Seen
from robustparse.files.checkpoints import checkpoint_file
from robustparse.files.json_text import read_json
from robustparse.files.paths import each_path
from robustparse.options.yaml_files import read_yaml
from robustparse.pretrained.hub import HUB

CONFIG = "config.yaml"
_TABLE = "robustparse.attacks.TableCandidates"
# These attack or certify, but the model does not train on the result.
_MONITORS = (
    "robustparse.defenses.RobustnessEvaluation",
    "robustparse.defenses.CertifiedEvaluation",
)
# Callbacks of these packages train on no other attacks than those that their settings name.
_PACKAGES = ("robustparse", "pytorch_lightning")


class UnknownTrainingError(Exception):
    """The files of a run do not name all attacks that its training used."""


@dataclass(frozen=True)
class AttackKind:
    """What identifies an attack.

    Args:
        candidates: its candidate generators; tables with their digests, and with the generators
            that are their sources.
        search: the class of its search; None for a defense that uses candidates without a search.
    """

    candidates: frozenset[str]
    search: str | None


def seen_attacks(runs: Sequence[RunRecord]) -> list[Seen]:
    """Tell for each attack on a system whether the system was trained against it.

    An ensemble has seen an attack if one of its members has.

    Args:
        runs: the contents of ``run.json`` of attacks on one system.

    Returns:
        ``seen``: against all of its candidate generators with its search; ``candidates seen``:
        against some of its candidate generators, or with an encoding of its substitution table;
        ``unseen``: against none of them; ``unknown``: a checkpoint has moved or changed, has no
        configuration, or the configuration does not tell.
    """
    weights = runs[0].get("sha256", {}).get("checkpoint") or []
    attacks: list[AttackKind] = []
    complete = bool(weights)
    for member, weight in enumerate(weights):
        paths = sorted({path for run in runs for path in run.get("victims", [])[member:][:1]})
        try:
            path = next(path for path in paths if digest(path) == weight)
            for attack in _trained_against(Path(path)):
                attacks.append(attack)  # noqa: PERF402 - those before an error count
        except (StopIteration, UnknownTrainingError, InputError, OSError):
            complete = False
    return [_seen(run, attacks, complete) for run in runs]


def _seen(run: RunRecord, attacks: Sequence[AttackKind], complete: bool) -> Seen:
    """Tell whether training used an attack.

    Args:
        run: the content of the attack's ``run.json``.
        attacks: the attacks that the configurations of the training name.
        complete: whether training used no other attack.
    """
    try:
        attack = _kind(run.get("settings"), run.get("sha256", {}).get("recipe", {}))
    except (UnknownTrainingError, InputError, OSError):
        return "unknown"
    if attack.search in {kind.search for kind in attacks if attack.candidates <= kind.candidates}:
        return "seen"
    if not complete:
        return "unknown"
    shared = any(attack.candidates & kind.candidates for kind in attacks)
    return "candidates seen" if shared else "unseen"


def _trained_against(checkpoint: Path) -> Iterator[AttackKind]:
    """Yield the attacks used to train a checkpoint and the checkpoints that it started from.

    Raises:
        UnknownTrainingError: the configurations do not tell.
        InputError: a file is missing or damaged.
    """
    read: set[Path] = set()
    while True:
        path = checkpoint.parent / CONFIG
        read.add(path.resolve())
        config = read_yaml(path)
        if not isinstance(config, Mapping) or not {"trainer", "model", "data"} <= config.keys():
            raise UnknownTrainingError
        yield from _attacks_of_callbacks(_at(config, "trainer", "callbacks"))
        augmentation = _at(config, "data", "init_args", "augmentation")
        files = _at(augmentation, "files") or _at(augmentation, "init_args", "files")
        yield from map(_attack_of_copies, each_path(files if isinstance(files, list) else []))
        encoding = _at(config, "model", "init_args", "encoding")
        if isinstance(encoding, str):
            table = Encoding.read(encoding).settings.get("substitutes")
            if not isinstance(table, str):
                raise UnknownTrainingError
            yield AttackKind(frozenset([f"{_TABLE} {table}"]), None)
        earlier = _at(config, "model", "init_args", "init_from")
        if not isinstance(earlier, str):
            return
        if earlier.startswith(HUB):  # a shared model does not tell
            raise UnknownTrainingError
        checkpoint = Path(checkpoint_file(earlier))
        if (checkpoint.parent / CONFIG).resolve() in read:
            raise UnknownTrainingError


def _attacks_of_callbacks(callbacks: Any) -> Iterator[AttackKind]:
    """Yield the attacks that callbacks train on."""
    for callback in callbacks if isinstance(callbacks, list) else []:
        name = str(_at(callback, "class_path"))
        attack, table = _at(callback, "init_args", "attack"), _at(callback, "init_args", "table")
        if name in _MONITORS:
            continue
        if attack is not None:
            yield _kind(attack)
        elif isinstance(table, str):
            yield AttackKind(frozenset(_table(table)), None)
        elif name.partition(".")[0] not in _PACKAGES:
            raise UnknownTrainingError


def _attack_of_copies(file: Path) -> AttackKind:
    """Return the attack that made a file of copies; for operations, one without candidates.

    Raises:
        UnknownTrainingError: nothing next to the file says what made it.
    """
    folders = [attack_folder(file), *([file.parent] if file.stem == "adversarial" else [])]
    for folder in folders:
        if (folder / RUN).exists():
            run = read_run(folder)
            return _kind(run.get("settings"), run.get("sha256", {}).get("recipe", {}))
    beside = summary_beside(file)
    if not beside.exists() or "operations" not in read_json(beside, dict):
        raise UnknownTrainingError
    return AttackKind(frozenset(), None)


def _kind(settings: Any, digests: Mapping[str, str] | None = None) -> AttackKind:
    """Identify an attack by its settings.

    Args:
        settings: ``class_path`` and ``init_args``.
        digests: the digests of the files that the settings name, at the time of the attack; by
            default, the files are not checked for changes.

    Raises:
        UnknownTrainingError: the settings have no candidates or no search.
    """
    search = _at(settings, "init_args", "search", "class_path")
    candidates = [*_generators(_at(settings, "init_args", "candidates"), digests)]
    if not isinstance(search, str) or not candidates:
        raise UnknownTrainingError
    return AttackKind(frozenset(candidates), search)


def _generators(component: Any, digests: Mapping[str, str] | None) -> Iterator[str]:
    """Yield the names of candidate generators; for a union or a cache, of those inside it."""
    name = _at(component, "class_path")
    if not isinstance(name, str):
        raise UnknownTrainingError
    inner, members = (_at(component, "init_args", key) for key in ("generator", "generators"))
    if inner is not None or isinstance(members, list):
        for member in [inner] if inner is not None else members:
            yield from _generators(member, digests)
    elif name == _TABLE:
        yield from _table(str(_at(component, "init_args", "table")), digests)
    else:
        yield name


def _table(path: str, digests: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield a name that identifies the content of a table, and the generators of its sources.

    Raises:
        UnknownTrainingError: the file is no longer the one that an attack used.
        InputError: it cannot be read.
    """
    if digests is not None and digest(path) != digests.get(path):
        raise UnknownTrainingError
    table = SubstitutionTable.read(path)
    yield f"{_TABLE} {table.digest}"
    sources = table.settings.get("sources")
    for source in sources if isinstance(sources, Mapping) else ():
        if (generator := GENERATORS.get(source.partition(":")[0])) is not None:
            yield f"robustparse.attacks.{generator}"


def _at(value: Any, *keys: str) -> Any:
    """Return the value at nested keys, None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
