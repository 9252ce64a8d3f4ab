"""``robustparse ensemble``: train several models, score each of them and all together.

A member is a run of ``fit``; ``evaluate`` and ``attack`` score the systems. This command only puts
these commands in order, so that their folders are the same as if a user had typed them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, fields
from inspect import signature
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

from robustparse import __version__, trust
from robustparse.api.printed_tables import print_table, score_table
from robustparse.cli.ensemble_members import Member, check_models, make_members
from robustparse.cli.main import POSITIONAL, SEVERAL, run
from robustparse.cli.options import DecodingOptions, are_set, as_list, check_distinct
from robustparse.data.datamodule import SAMPLE, DataModule
from robustparse.devices import chosen_device
from robustparse.errors import InputError, check_least, check_seed, say
from robustparse.evaluation.attack_processes import Rank
from robustparse.evaluation.finished_folders import read_summary
from robustparse.evaluation.records import SCORES
from robustparse.evaluation.significance import mean_of_seeds
from robustparse.files.json_text import read_json
from robustparse.files.output_folders import locked, make_folder
from robustparse.files.writing import write_json
from robustparse.options.arguments import checked
from robustparse.options.command import parsed_command
from robustparse.options.recipe import Recipe, make_object
from robustparse.options.recipe_facts import RecipeFacts
from robustparse.options.remote_files import local_files
from robustparse.options.tokens import each_option
from robustparse.tasks.registry import named

NAME = "ensemble"
RESULT = "ensemble.json"

Row = Mapping[str, float | None]


def command(arguments: Sequence[str]) -> None:
    """Run the command; options that are not its own are those of ``fit``."""
    with local_files(NAME, arguments) as local:
        of_ensemble, of_fit = _divided(local)
        if any(token.startswith("--print_config") for token in of_fit):
            embeddings = [
                value for name, value, _ in each_option(of_ensemble) if name == "--embeddings"
            ]
            added = [f"--config={name}" for name in embeddings[:1]]
            run("fit", [*of_fit, *added])
        options = checked(of_ensemble, several=SEVERAL[NAME])
        options += ["--", *of_fit]
        parsed_command(ensemble, options, NAME, POSITIONAL[NAME]).run()


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
        fit: all options that are not listed here are those of fit and apply to every model, such as
            --data.folder FOLDER.
    """
    if (rank := Rank.launched()) is not None and rank.count > 1:
        remedy = "start one process; --trainer.devices says how many train a model"
        raise InputError(f"{rank.count} processes were launched", remedy=remedy)
    folder, recipes = Path(out), _recipes(_distinct("--attack", attack))
    of_seeds, of_embeddings = _distinct("--seeds", seeds), _distinct("--embeddings", embeddings)
    for seed in of_seeds:
        check_seed("--seeds", seed)
    check_least("--", limit=limit, devices=devices)
    chosen_device("--device", decoding.device)
    members = make_members(folder / "members", fit, of_seeds, of_embeddings)
    systems = _systems([each.folder.name for each in members], _distinct("--subsets", subsets))
    data = _test_data(members)
    data.examples("test")  # so that a mistake in them is found before training
    if embeddings and not all(each.is_finished() for each in members):
        check_models(members)
    trusted = (tokens for name, _, tokens in each_option(fit) if name == trust.OPTION)
    common = [*_data(data), *chain.from_iterable(trusted)]
    attacks = ["--devices", str(devices), *([] if limit is None else ["--limit", str(limit)])]
    rows: dict[str, dict[str, float | None]] = {}
    with locked(make_folder(folder), NAME, "--out"):
        _check_stored(folder / RESULT, systems)
        for member in [each for each in members if not each.is_finished()]:
            say(f"training {member.folder.name}")
            member.train()
        for name, parts in systems.items():
            say(f"scoring {name}")
            models = [str(folder / "members" / part) for part in parts]
            victim = ["--checkpoint", *models, *_decoding(decoding, len(models)), *common]
            into = folder / "evaluated" / name
            rows[name] = _evaluated(into, [*victim, "--punctuation", data.punctuation])
            for recipe, path in recipes.items():
                into = folder / "attacked" / recipe / name
                rows[name] |= _attacked(into, recipe, ["--attack", path, *victim, *attacks])
        means = _means(members, rows)
        result = {"version": __version__, "systems": systems, "scores": rows, "means": means}
        write_json(folder / RESULT, result)
    print_table(score_table({**rows, **dict(_rows(means))}))


# Options


def _divided(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options of this command, with each value by itself, and those of ``fit``."""
    known = {*signature(ensemble).parameters, *(field.name for field in fields(DecodingOptions))}
    options = {"-h", "--help", *(f"--{name}" for name in known - {"fit", "decoding"})}
    of_ensemble: list[str] = []
    of_fit: list[str] = []
    current = ""
    for name, value, tokens in each_option(arguments):
        current = name or current
        if name == trust.OPTION:
            of_ensemble += tokens
        if name in options:
            of_ensemble += tokens
        elif not name and current in SEVERAL[NAME]:
            of_ensemble += [current, str(value)]
        else:
            of_fit += tokens
    return of_ensemble, of_fit


def _distinct(option: str, values: Any) -> list[Any]:
    """Return the values of an option, each of which must be given once."""
    several = as_list(values)
    check_distinct(option, several)
    return several


def _recipes(paths: Sequence[str]) -> dict[str, str]:
    """Return the paths of recipes by their names, which name the folders of attacks."""
    recipes = {Path(path).stem: path for path in paths}
    if len(recipes) < len(paths):
        remedy = "give their files different names"
        raise InputError("two recipes have the same name", key="--attack", remedy=remedy)
    for path in paths:
        Recipe.read(path)  # so that a mistake in it is found before training
        if "gradients" in RecipeFacts.read(Path(path)).needs:
            problem = "needs gradients, which an ensemble lacks"
            remedy = "choose a black-box recipe"
            raise InputError(problem, path=path, key="--attack", remedy=remedy)
    return recipes


def _systems(names: Sequence[str], subsets: Sequence[str]) -> dict[str, list[str]]:
    """Return the members of each system that is scored: of each model, each subset, and all."""
    chosen = {subset: subset.split(",") for subset in subsets}
    for subset, parts in chosen.items():
        if not {*parts} <= {*names} or len({*parts}) < max(2, len(parts)) or len(subset) > 200:
            expected = f"several of {', '.join(names)}, each once, of at most 200 characters"
            raise InputError(f"got {subset!r}", key="--subsets", expected=expected)
    # The number distinguishes it from the ensemble before further models were added.
    largest = {f"{NAME}_of_{len(names)}": list(names)}
    return {name: [name] for name in names} | chosen | largest


def _check_stored(path: Path, systems: Mapping[str, Sequence[str]]) -> None:
    """Check that no system of earlier results has other members."""
    stored = read_json(path, dict)["systems"] if path.exists() else {}
    for name, members in systems.items():
        if (others := stored.get(name, members)) != members:
            problem = f"{name} is the ensemble of {', '.join(others)}"
            raise InputError(problem, path=path, remedy="choose another --out")


def _test_data(members: Sequence[Member]) -> DataModule:
    """Return the data module of the first member; all must have the same test data."""
    modules: list[DataModule] = [make_object(DataModule, each.settings["data"]) for each in members]
    if any(_data(each) != _data(modules[0]) for each in modules):
        problem, remedy = "the models have different test data", "name one --data.folder for all"
        raise InputError(problem, key="--embeddings", remedy=remedy)
    return modules[0]


def _data(module: DataModule) -> list[str]:
    """Return the options of ``evaluate`` and ``attack`` for the test data of a data module."""
    test, options = module.path("test"), ["--max_length", str(module.max_length)]
    if test is None:
        return [*options, "--data", SAMPLE, "--seed", str(module.seed)]
    return [*options, "--data", str(test)]


# Scores


def _evaluated(folder: Path, options: Sequence[str]) -> dict[str, float | None]:
    """Run ``evaluate`` into a folder, and return the scores."""
    _run("evaluate", [*options, "--out", str(folder)])
    scores = read_json(folder / SCORES, dict)
    task = named(scores["task"])
    return {name: scores[name] for name in (*task.scores.names, *task.scores.further)}


def _attacked(folder: Path, recipe: str, options: Sequence[str]) -> dict[str, float | None]:
    """Run ``attack`` into a folder, and return the score under attack and the success rate."""
    _run("attack", [*options, "--out", str(folder)])
    summary = read_summary(folder)
    score = named(summary["task"]).scores.headline
    return {
        f"{recipe}_{score}": summary["attacked"][score],
        f"{recipe}_success": summary["success_rate"],
    }


def _run(name: str, options: Sequence[str]) -> None:
    """Run a command without its table, since one table shows all systems."""
    with redirect_stdout(StringIO()):
        run(name, [*options])


def _decoding(options: DecodingOptions, models: int) -> Iterator[str]:
    """Yield decoding options as arguments; ``--mean`` applies to several models only."""
    for name in are_set(options):
        if models > 1 or name != "mean":
            yield from (f"--{name}", str(getattr(options, name)))


def _means(members: Sequence[Member], rows: Mapping[str, Row]) -> dict[str, dict[str, Any]]:
    """Return the means over the members that differ in the seed only, with their intervals."""
    means = {}
    for group in dict.fromkeys(member.group for member in members):
        several = [rows[member.folder.name] for member in members if member.group == group]
        if len(several) > 1:
            title = " ".join(filter(None, [group, f"mean of {len(several)} seeds"]))
            columns = {score: [row[score] for row in several] for score in several[0]}
            means[title] = {
                score: asdict(mean_of_seeds([value for value in values if value is not None]))
                for score, values in columns.items()
                if None not in values
            }
    return means


def _rows(means: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Row]]:
    """Yield three rows of the table for each mean."""
    labels = {"estimate": "", "lower": ", 95 % from", "upper": ", 95 % to"}
    for name, scores in means.items():
        for bound, label in labels.items():
            yield name + label, {score: each[bound] for score, each in scores.items()}
