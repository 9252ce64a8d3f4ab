"""``robustparse.attack``: the engine of the command, for models and sentences of a notebook."""

import copy
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TypeVar, cast
from weakref import finalize

from robustparse.api.attack_run import AttackRun
from robustparse.api.data_sources import data_source
from robustparse.api.inputs import system_name
from robustparse.api.results import AttackResults
from robustparse.api.victim_sources import Checkpoints, GivenVictim, VictimSource
from robustparse.attacks.attack import Attack
from robustparse.errors import InputError, whole_number
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.files.paths import Sources, with_home
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.options.recipe import Recipe
from robustparse.types import Example

T = TypeVar("T")

Victims = Model | AnsweringVictim | str | Path | Sequence[Model] | Sequence[str | Path]
"""A model, a black box or another victim, a checkpoint; or several models or checkpoints."""

Examples = Sequence[Example] | Sources
"""Sentences with gold answers, a file of them, several files, or ``"sample"``."""


def recipe(name: str | Path) -> Attack:
    """Make the attack of a recipe; its components and settings can then be changed.

    >>> attack = recipe("pwws")  # doctest: +SKIP
    >>> attack.budget = 500  # doctest: +SKIP

    Args:
        name: the name of an installed recipe, such as ``pwws``, or the path of a file.

    Raises:
        InputError: there is no such recipe, or the file is not a recipe.
    """
    return Recipe.read(name).attack()


def attack(
    victim: Victims,
    examples: Examples,
    attack: Attack | str | Path,
    *,
    seed: int | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    device: str = "auto",
) -> AttackResults:
    """Attack a victim on sentences.

    >>> results = attack(model, examples, "zheng2020_blackbox", limit=100)  # doctest: +SKIP
    >>> results.to_pandas().query("success")  # doctest: +SKIP

    Args:
        victim: a model, a list of models (one ensemble), the path of a checkpoint or several, or
            an adapter for a third-party model (`robustparse.victims`).
        examples: sentences with gold answers; a file of them, or several, which are read as one; or
            ``"sample"``.
        attack: the name of an installed recipe, the path of one, or an `Attack`.
        seed: of all random choices; by default the attack's own.
        limit: attack only the first ``limit`` sentences.
        out: a folder for the results. The same call resumes an interrupted attack there, and so
            does the command ``attack`` with the same paths. By default, the results are deleted
            with the returned object.
        device: where checkpoints compute: auto, cpu or cuda. Models stay where they are.

    Raises:
        InputError: an argument cannot be used.
    """
    if isinstance(attack, Attack):
        chosen, described = copy.copy(attack), Recipe.described(attack, out is not None)
    else:
        described = Recipe.read(attack)
        chosen = described.attack()
    seed = chosen.seed if seed is None else whole_number("seed", seed)
    source = victim_source(victim)

    def run_in(folder: Path) -> AttackResults:
        data = data_source(examples, seed=seed, limit=limit)
        AttackRun(folder, described, source, data, seed, device).attacked(chosen)
        return AttackResults(folder, system_name(source.names))

    return results_in(out, run_in)


def victim_source(victim: Victims | VictimSource) -> VictimSource:
    """Return the source of a victim, or the source itself.

    Raises:
        InputError: it is not a victim, or the list mixes checkpoints and models.
    """
    if isinstance(victim, VictimSource):
        return victim
    several = list(victim) if isinstance(victim, Sequence) and not isinstance(victim, str) else None
    members = [victim] if several is None else several
    if members and all(isinstance(member, str | Path) for member in members):
        return Checkpoints([str(member) for member in members])
    if members and all(isinstance(member, Model) for member in members):
        return GivenVictim(ModelVictim(cast(list[Model], members)))
    if several is None and hasattr(victim, "predict") and hasattr(victim, "task"):
        return GivenVictim(cast(AnsweringVictim, victim))
    raise InputError(
        f"got {repr(victim)[:60]}",
        key="victim",
        expected="a model, a list of models, paths of checkpoints, or a robustparse.victims object",
        remedy="wrap a function as FunctionVictim(function)",
    )


def results_in(out: str | Path | None, make: Callable[[Path], T]) -> T:
    """Return the results that a function makes in a folder.

    Args:
        out: the folder; None takes a temporary one, which is deleted with the results, or if
            making them fails.
        make: takes the folder.
    """
    if out is not None:
        return make(with_home(out))
    with ExitStack() as unless_kept:
        folder = Path(mkdtemp(prefix="robustparse-"))
        unless_kept.callback(rmtree, folder)
        results = make(folder)
        finalize(results, unless_kept.pop_all().close)
    return results
