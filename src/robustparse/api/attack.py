"""``robustparse.attack``: the engine of the command, for models and sentences of a notebook."""

import copy
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import cast
from weakref import finalize

from robustparse.api.attack_run import AttackRun
from robustparse.api.inputs import system_name
from robustparse.api.results import AttackResults
from robustparse.api.sources import (
    Checkpoints,
    DataFile,
    DataSource,
    GivenExamples,
    GivenVictim,
    VictimSource,
)
from robustparse.attacks.attack import Attack
from robustparse.errors import InputError
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.recipes.recipe import Recipe
from robustparse.types import Example

Victims = Model | AnsweringVictim | str | Path | Sequence[Model] | Sequence[str | Path]
"""A model, a black box or another victim, a checkpoint; or several models or checkpoints."""

Examples = Sequence[Example] | str | Path
"""Sentences with gold answers, a file of them, or ``"sample"``."""


def recipe(name: str | Path) -> Attack:
    """Make the attack of a recipe, whose parts and settings can then be changed.

    >>> attack = recipe("pwws")  # doctest: +SKIP
    >>> attack.budget = 500  # doctest: +SKIP

    Args:
        name: of an installed recipe, as ``pwws``, or the path of a file.

    Raises:
        InputError: there is none of this name, or it is no recipe.
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
            somebody else's (`robustparse.victims`).
        examples: sentences with gold answers, a file of them, or ``"sample"``.
        attack: the name of an installed recipe, the path of one, or an `Attack`.
        seed: of all random choices; by default the attack's own.
        limit: attack only the first sentences, as many as this.
        out: a folder to keep the results in, where the same call resumes after a stop, as does the
            command ``attack`` with the same paths. By default they are kept as long as the object.
        device: where checkpoints compute: auto, cpu or cuda. Models stay where they are.

    Raises:
        InputError: something cannot be used as given; see the message.
    """
    if isinstance(attack, Attack):
        chosen, described = copy.copy(attack), Recipe.of(attack, kept=out is not None)
    else:
        described = Recipe.read(attack)
        chosen = described.attack()
    seed = chosen.seed if seed is None else seed
    source = victim_source(victim)
    with ExitStack() as unless_kept:
        folder = Path(mkdtemp(prefix="robustparse-") if out is None else out)
        if out is None:
            unless_kept.callback(rmtree, folder)
        data = data_source(examples, seed, limit)
        AttackRun(folder, described, source, data, seed, device).attacked(chosen)
        results = AttackResults(folder, system_name(source.names))
        if out is None:
            finalize(results, unless_kept.pop_all().close)
    return results


def victim_source(victim: Victims) -> VictimSource:
    """Return where a victim comes from.

    Raises:
        InputError: it is none, or a list of checkpoints and models.
    """
    several = list(victim) if isinstance(victim, Sequence) and not isinstance(victim, str) else None
    parts = [victim] if several is None else several
    if parts and all(isinstance(part, str | Path) for part in parts):
        return Checkpoints([str(part) for part in parts])
    if parts and all(isinstance(part, Model) for part in parts):
        return GivenVictim(ModelVictim(cast(list[Model], parts)))
    if several is None and hasattr(victim, "predict") and hasattr(victim, "task"):
        return GivenVictim(cast(AnsweringVictim, victim))
    raise InputError(
        f"got {repr(victim)[:60]}",
        key="victim",
        expected="a model, a list of models, paths of checkpoints, or a robustparse.victims object",
        remedy="wrap a function as FunctionVictim(function)",
    )


def data_source(examples: Examples, seed: int, limit: int | None = None) -> DataSource:
    """Return where sentences come from.

    Raises:
        InputError: they are no examples.
    """
    if isinstance(examples, str | Path):
        return DataFile(str(examples), seed, limit)
    if not isinstance(examples, Sequence) or not all(isinstance(e, Example) for e in examples):
        raise InputError(
            f"got {repr(examples)[:60]}",
            key="examples",
            expected="examples with gold answers, as of robustparse.read, or a file",
        )
    return GivenExamples(cast(Sequence[Example], examples), limit)
