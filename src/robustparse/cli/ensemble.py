"""``robustparse ensemble``: train several models, score each of them and all together.

A member is a run of ``fit``; ``evaluate`` and ``attack`` score the systems. This command only puts
these commands in order, so that their folders are the same as if a user had typed them.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, fields
from inspect import signature
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from robustparse import __version__, trust
from robustparse.api.inputs import digest
from robustparse.api.tables import score_table, terminal
from robustparse.cli.main import POSITIONAL, SEVERAL, run
from robustparse.cli.options import DecodingOptions
from robustparse.data.datamodule import SAMPLE, DataModule
from robustparse.errors import InputError, ProcessDiedError
from robustparse.evaluation.attack_processes import Rank
from robustparse.evaluation.claim import differences
from robustparse.evaluation.mean_of_seeds import mean_of_seeds
from robustparse.evaluation.records import SCORES, read_summary
from robustparse.files import locked, make_folder, read_json, write_json
from robustparse.options.arguments import checked, each_option, plain_key
from robustparse.options.command import run_command
from robustparse.options.recipe import made
from robustparse.options.recipe_digests import recipe_digests
from robustparse.options.recipe_facts import RecipeFacts
from robustparse.tasks.registry import named
from robustparse.tracking.last_checkpoint import FILE as LAST
from robustparse.tracking.stop_request import SIGNALS

NAME, ALL = "ensemble", "ensemble"  # of the command, and of the system of all members
RECORD, RESULT = "member.json", "ensemble.json"
_PRINT = "--print_config"
# Settings of the Trainer that weights do not depend on.
_PLACE = ("accelerator", "devices", "num_nodes", "strategy", "enable_progress_bar", "logger")

Row = Mapping[str, float | None]


@dataclass(frozen=True)
class Member:
    """A model of the ensemble.

    Args:
        name: the name of its folder, and of its row in the table.
        group: the members of a group differ in the seed only.
        options: of ``fit``.
        settings: all settings of the run.
    """

    name: str
    group: str
    options: list[str]
    settings: dict[str, Any]


def command(arguments: Sequence[str]) -> None:
    """Run the command; options that are not its own are those of ``fit``."""
    own, of_fit = _divided(arguments)
    if any(token.startswith(_PRINT) for token in of_fit):
        embeddings = (value for name, value, _ in each_option(own) if name == "--embeddings")
        run("fit", [*of_fit, *_config(next(embeddings, None))])
    options = checked(own, several=SEVERAL[NAME])
    options += ["--", *of_fit]
    run_command(ensemble, options, NAME, POSITIONAL[NAME])


def ensemble(
    out: str,
    decoding: DecodingOptions,
    seeds: int | list[int] | None = None,
    embeddings: str | list[str] | None = None,
    attack: str | list[str] | None = None,
    subsets: str | list[str] | None = None,
    limit: int | None = None,
    devices: int = 1,
    fit: Sequence[str] = (),
) -> None:
    """Train models with several seeds or embeddings; score each of them, and all together.

    All options that are not listed here are those of fit, such as --config and --data.folder; they
    apply to every model. The test data are those of the data module.

    Args:
        out: the folder to write: members/NAME, evaluated/NAME, attacked/RECIPE/NAME and
            ensemble.json. The same command resumes there.
        decoding: how and where the models compute their answers.
        seeds: seeds of the models and of their batches; one model is trained for each.
        embeddings: configurations, such as model/biaffine_word or a file, which are added to those
            of --config one at a time; models are trained with each of them, and with each seed.
        attack: recipes: names of installed ones, such as pwws, or paths of files.
        subsets: further ensembles of some models; commas join the names of their folders.
        limit: attack only the first LIMIT sentences of the test data.
        devices: the number of processes that share the sentences of an attack.
        fit: options of fit.
    """
    if (rank := Rank.launched()) is not None and rank.count > 1:
        remedy = "start one process; --trainer.devices says how many train a model"
        raise InputError(f"{rank.count} processes were launched", remedy=remedy)
    folder, recipes = make_folder(Path(out)), _recipes(_several("--attack", attack))
    of_seeds, of_embeddings = _several("--seeds", seeds), _several("--embeddings", embeddings)
    members = _members(of_seeds, of_embeddings, fit)
    systems = _systems([member.name for member in members], _several("--subsets", subsets))
    # Members have equal data, so those of the first one are tested.
    module: DataModule = made(DataModule, members[0].settings["data"])
    test = module.path("test")
    data = ["--data", SAMPLE if test is None else str(test), "--max_length", f"{module.max_length}"]
    data += ["--seed", str(module.seed)] if test is None else []
    for name, _, tokens in each_option(fit):
        data += tokens if name == trust.OPTION else []
    for field in fields(decoding):
        if (value := getattr(decoding, field.name)) != field.default:
            data += [f"--{field.name}", str(value)]
    attacked = ["--devices", str(devices), *([] if limit is None else ["--limit", str(limit)])]
    rows: dict[str, dict[str, float | None]] = {}
    with locked(folder, NAME, "--out"):
        for number, member in enumerate(members, start=1):
            _say(f"model {number} of {len(members)}: {member.name}")
            _train(folder / "members" / member.name, member)
        for name, parts in systems.items():
            _say(f"scoring {name}")
            victim = ["--checkpoint", *(str(folder / "members" / part) for part in parts), *data]
            into, policy = folder / "evaluated" / name, ["--punctuation", module.punctuation]
            _quietly("evaluate", [*victim, *policy, "--out", str(into)])
            scores = read_json(into / SCORES, dict)
            task = named(scores["task"])
            rows[name] = {each: scores[each] for each in (*task.scores.names, *task.scores.further)}
            for recipe, path in recipes.items():
                into = folder / "attacked" / recipe / name
                _quietly("attack", ["--attack", path, *victim, *attacked, "--out", str(into)])
                summary, score = read_summary(into), task.scores.headline
                rows[name][f"{recipe}_{score}"] = summary["attacked"][score]
                rows[name][f"{recipe}_success"] = summary["success_rate"]
        means = dict(_means(members, rows))
        result = {"version": __version__, "systems": systems, "scores": rows, "means": means}
        write_json(folder / RESULT, result)
    terminal().print(score_table({**rows, **_rows_of(means)}))


# Options


def _divided(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options of this command, the values of each one by one, and those of ``fit``."""
    known = {*signature(ensemble).parameters, *(field.name for field in fields(DecodingOptions))}
    options = {"-h", "--help", *(f"--{name}" for name in known - {"fit", "decoding"})}
    own: list[str] = []
    of_fit: list[str] = []
    current = ""
    for name, value, tokens in each_option(arguments):
        current = name or current
        if name == trust.OPTION:
            own += tokens
        if name in options:
            own += tokens
        elif not name and current in SEVERAL[NAME]:
            own += [current, str(value)]
        else:
            of_fit += tokens
    return own, of_fit


def _several(option: str, values: Any) -> list[Any]:
    """Return the values of an option, each of which must be given once."""
    several = [] if values is None else values if isinstance(values, list) else [values]
    for number, value in enumerate(several):
        if value in several[:number]:
            raise InputError(f"got {value} twice", key=option, remedy="name each once")
    return several


def _config(embedding: str | None) -> list[str]:
    return [] if embedding is None else ["--config", embedding]


def _recipes(paths: Sequence[str]) -> dict[str, str]:
    """Return the paths of recipes by their names, which name the folders of attacks."""
    recipes = {Path(path).stem: path for path in paths}
    if len(recipes) < len(paths):
        remedy = "give their files different names"
        raise InputError("two recipes have the same name", key="--attack", remedy=remedy)
    for path in paths:
        if "gradients" in RecipeFacts.read(Path(path)).needs:
            remedy = "choose a black-box recipe"
            found = "needs gradients, which an ensemble does not have"
            raise InputError(found, path=path, key="--attack", remedy=remedy)
    return recipes


def _systems(names: Sequence[str], subsets: Sequence[str]) -> dict[str, list[str]]:
    """Return the members of each system that is scored: of each model, each subset, and all."""
    systems = {name: [name] for name in names} | {text: text.split(",") for text in subsets}
    for name in (name for text in subsets for name in text.split(",")):
        if name not in names:
            raise InputError(
                f"got {name!r}", key="--subsets", expected=f"some of {', '.join(names)}"
            )
    return systems | {ALL: list(names)}


# Members


def _members(seeds: Sequence[int], embeddings: Sequence[str], fit: Sequence[str]) -> list[Member]:
    """Return the models to train: one for each configuration and seed."""
    set_here = {"trainer.default_root_dir": "--out", "ckpt_path": "--out"}
    set_here |= {"model.seed": "--seeds", "data.seed": "--seeds"} if seeds else {}
    for option, _, _ in each_option(fit):
        if by := set_here.get(plain_key(option)):
            raise InputError(f"is set by {by}", key=option, remedy="leave it out")
    members = []
    for embedding in embeddings or (None,):
        options = [*fit, *_config(embedding)]
        settings, group = _settings(options), "" if embedding is None else Path(embedding).stem
        # Another seed would draw another sample, on which members could not answer together.
        seeded = (
            ("model",) if settings["data"]["init_args"]["folder"] == SAMPLE else ("model", "data")
        )
        for seed in seeds or (None,):
            own, with_seed = deepcopy(settings), list(options)
            for part in () if seed is None else seeded:
                own[part]["init_args"]["seed"] = seed
                with_seed += [f"--{part}.seed", str(seed)]
            name = "_".join(filter(None, [group, "" if seed is None else f"seed_{seed}"]))
            members.append(Member(name, group, with_seed, own))
    names = [member.name for member in members]
    if len(names) < 2 or len({*names}) < len(names):
        found = f"got the models {', '.join(filter(None, names)) or 'of one configuration'}"
        expected = "at least two, with different names"
        raise InputError(found, key="--seeds, --embeddings", expected=expected)
    classes = {member.settings["model"]["class_path"] for member in members}
    if len(classes) > 1:
        found, expected = f"models of {' and '.join(sorted(classes))}", "models of one class"
        raise InputError(found, key="--embeddings", expected=expected)
    return members


def _settings(options: Sequence[str]) -> dict[str, Any]:
    """Return all settings of a run, as ``fit --print_config`` prints them."""
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        run("fit", [*options, _PRINT])
    settings: dict[str, Any] = yaml.safe_load(printed.getvalue())
    for part in ("model", "data"):
        if not settings.get(part):
            raise InputError(f"no {part} is set", key="--config", remedy="name an experiment")
    for name in ("default_root_dir", *_PLACE):
        del settings["trainer"][name]
    return settings


def _digests(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of the files that a member is trained from."""
    module: DataModule = made(DataModule, settings["data"])
    paths = [*map(Path, module.augmentation.files or ())]
    for split in ("train", "dev"):
        with suppress(InputError):  # some corpora have no development set
            paths += filter(None, [module.path(split)])
    named = {"model": settings["model"], "callbacks": settings["trainer"]["callbacks"]}
    return {str(path): digest(str(path)) for path in paths} | recipe_digests({"init_args": named})


def _train(folder: Path, member: Member) -> None:
    """Train a member, or what is left of it; a finished one is left alone.

    Raises:
        InputError: the folder holds a run with other settings or data.
    """
    wanted = {"settings": member.settings, "sha256": _digests(member.settings)}
    record, remedy = folder / RECORD, "choose another --out or delete the folder"
    if (folder / LAST).exists():
        if not record.exists():
            found = f"holds a run but no {RECORD}, which describes it"
            raise InputError(found, path=folder, remedy=remedy)
        stored = read_json(record, dict, remedy)
        finished = stored.pop("finished", False)
        if difference := next(differences(stored, wanted), None):
            raise InputError(f"holds another model ({difference})", path=folder, remedy=remedy)
        if finished:
            return
    write_json(record, {**wanted, "finished": False})
    where = ["--trainer.default_root_dir", str(folder), "--ckpt_path", "last"]
    _fit([*member.options, *where])
    write_json(record, {**wanted, "finished": True})


def _fit(options: Sequence[str]) -> None:
    """Run ``fit`` in a process of its own, since its Trainer may start others; pass signals on."""
    with subprocess.Popen([sys.executable, "-m", "robustparse", "fit", *options]) as process:

        def pass_on(number: int, _: FrameType | None) -> None:
            process.send_signal(number)

        earlier = {number: signal.signal(number, pass_on) for number in SIGNALS}
        try:
            status = process.wait()
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)
    if status < 0:
        signals = f"training was ended by {signal.Signals(-status).name}"
        raise ProcessDiedError(f"{signals}; the same command resumes")
    if status > 0:
        sys.exit(status)  # its message has been printed


# Scores


def _quietly(name: str, options: Sequence[str]) -> None:
    """Run a command without its table, since one table shows all systems."""
    with redirect_stdout(StringIO()):
        run(name, [*options])


def _means(
    members: Sequence[Member], rows: Mapping[str, Row]
) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """Yield the means of the models that differ in the seed only, with their intervals."""
    for group in dict.fromkeys(member.group for member in members):
        of_group = [rows[member.name] for member in members if member.group == group]
        if len(of_group) > 1:
            values = {name: [row[name] for row in of_group] for name in of_group[0]}
            known = {name: each for name, each in values.items() if None not in each}
            means = {name: asdict(mean_of_seeds(each)) for name, each in known.items()}
            yield " ".join(filter(None, [group, f"mean of {len(of_group)} seeds"])), means


def _rows_of(means: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, Row]:
    """Return three rows of the table for each mean."""
    titles = {"estimate": "", "lower": ", 95 % from", "upper": ", 95 % to"}
    return {
        name + title: {score: interval[key] for score, interval in scores.items()}
        for name, scores in means.items()
        for key, title in titles.items()
    }


def _say(text: str) -> None:
    print(f"robustparse: {text}", file=sys.stderr)
