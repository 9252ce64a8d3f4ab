"""Run a part of a leaderboard entry again and compare it with the entry."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from robustparse.api.attack_run import AttackRun
from robustparse.api.data_sources import DataFile, GivenExamples
from robustparse.api.inputs import Paths
from robustparse.api.victim_sources import GivenVictim, VictimSource
from robustparse.errors import InputError, check_least
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.evaluation.comparison import SentenceCounts, read_counts
from robustparse.evaluation.records import RunRecord
from robustparse.evaluation.significance import counts_of, score_in_percent
from robustparse.evaluation.worst_of_attacks import sums_in_all
from robustparse.metrics import PunctuationPolicy
from robustparse.options.recipe import Recipe
from robustparse.options.recipe_digests import recipe_digests
from robustparse.reports.entry import AttackEntry, Counts, Entry, attack_name
from robustparse.reports.worst_of_attacks import TITLE
from robustparse.types import Example

_ANY_LENGTH = 1 << 30  # words in a sentence; the entry's runs have accepted them


@dataclass(frozen=True)
class Verified:
    """A run of an entry, on some of its sentences.

    Args:
        name: the name of the attack, ``clean``, or ``worst of attacks``.
        claimed: the headline score on these sentences by the entry, in percent.
        found: the same score now.
        differing: the number of sentences whose counts differ.
    """

    name: str
    claimed: float
    found: float
    differing: int


def verify(
    entry: Entry,
    victim: VictimSource,
    data: Paths | None = None,
    sentences: int = 50,
    seed: int = 0,
    device: str = "auto",
) -> list[Verified]:
    """Run the attacks of an entry on some of its sentences, drawn at random.

    Every random choice of an attack follows from its seed and the sentence, so that on the same
    kind of processor the counts are those of the entry.

    Args:
        entry: the entry.
        victim: the system of the entry.
        data: the file of the sentences, or several; by default those that the entry names.
        sentences: how many sentences.
        seed: draws them.
        device: where models compute.

    Returns:
        The answers to the originals, each attack, and the worst of several attacks. Success rates,
        certified scores, and scores other than the headline score are not checked.

    Raises:
        InputError: the system, the data or a file of a recipe is not that of the entry; or a
            recipe names a class or a program that is not trusted.
    """
    check_least("verify", sentences=sentences)
    _check_system(entry, victim)
    opened = victim.open(device)
    size = len(entry["counted"])
    drawn = np.random.default_rng(seed).choice(size, min(sentences, size), replace=False)
    chosen = sorted(drawn.tolist())
    scores, verified, several = opened.task.scores, list[Verified](), list[SentenceCounts]()
    for attack in entry["attacks"]:
        several.append(_attack_again(entry, attack, opened, data, chosen, device))
        counts = several[-1].of(scores.headline)
        if not verified:
            verified.append(_compared("clean", entry, entry["right"], counts.clean, chosen))
        name = attack_name(attack["run"])
        verified.append(_compared(name, entry, attack["right"], counts.attacked, chosen))
    if entry["right_in_all"] is not None:
        folders = [Path(attack_name(attack["run"])) for attack in entry["attacks"]]
        _, worst = sums_in_all(several, folders)
        right = counts_of(scores, scores.headline, worst)
        verified.append(_compared(TITLE.lower(), entry, entry["right_in_all"], right, chosen))
    return verified


def _check_system(entry: Entry, victim: VictimSource) -> None:
    """Check that a system is that of an entry."""
    run = entry["attacks"][0]["run"]
    known = [run.get("sha256", {}).get("checkpoint")]
    known += [[entry["model"]["sha256"]]] if entry["model"] is not None else []
    digests = victim.digests()
    same = digests.get("checkpoint") in known
    same = same and digests.get("victim") == run.get("sha256", {}).get("victim")
    if not same or victim.settings.get("victim") != run.get("victim"):
        raise InputError(
            "another system than that of the entry",
            key="--checkpoint, --victim",
            expected=f"the system {entry['name']}",
            remedy="use the files and the decoding options with which the entry was made",
        )


def _attack_again(
    entry: Entry,
    attack: AttackEntry,
    victim: AnsweringVictim,
    data: Paths | None,
    chosen: Sequence[int],
    device: str,
) -> SentenceCounts:
    """Attack the chosen sentences again; return their counts."""
    run = attack["run"]
    with TemporaryDirectory() as name:
        folder = Path(name)
        recipe = _recipe(run, folder / "recipe.yaml")
        made = recipe.attack()
        examples = _examples(entry, run, data, victim, made.punctuation)
        sentences = GivenExamples([examples[index] for index in chosen])
        seed, out = run.get("seed") or 0, folder / "attacked"
        AttackRun(out, recipe, GivenVictim(victim), sentences, seed, device).attacked(made)
        return read_counts(out)


def _recipe(run: RunRecord, path: Path) -> Recipe:
    """Return the recipe of a run.

    The settings are written to a file and read, because reading checks class names before importing
    anything.

    Raises:
        InputError: see `Recipe.read`; or a file that the recipe names is missing or has changed.
    """
    path.write_text(json.dumps(run.get("settings")), "utf-8")
    recipe = Recipe.read(path)
    used = run.get("sha256", {}).get("recipe") or {}
    changed = sorted(recipe_digests(recipe.settings).items() ^ used.items())
    if changed:
        found, remedy = "not the file that the attack of the entry used", "restore this file"
        raise InputError(found, path=changed[0][0], remedy=remedy)
    return recipe


def _examples(
    entry: Entry,
    run: RunRecord,
    data: Paths | None,
    victim: AnsweringVictim,
    punctuation: PunctuationPolicy,
) -> list[Example]:
    """Read the sentences of a run."""
    file = DataFile(
        data or run.get("data", ""),
        run.get("seed") or 0,
        run.get("limit"),
        run.get("fraction") or 1.0,
        max_length=_ANY_LENGTH,
        columns=run.get("columns"),
        tagger=run.get("tagger"),
    )
    if file.digest() != entry["data"]["sha256"]:
        missing = next((name for name in file.names if not Path(name).exists()), None)
        found = "not the sentences of the entry" if missing is None else "no such file"
        expected = f"{entry['data']['name']}, SHA-256 {entry['data']['sha256']}"
        remedy = "name that file with --data"
        path = file.name if missing is None else missing
        raise InputError(found, path=path, key="--data", expected=expected, remedy=remedy)
    examples = file.examples(victim, punctuation)
    if len(examples) != len(entry["counted"]):
        found, expected = f"{len(examples)} sentences", f"the entry's {len(entry['counted'])}"
        remedy = "use the version of robustparse that the entry names"
        raise InputError(found, path=file.name, expected=expected, remedy=remedy)
    return examples


def _compared(
    name: str, entry: Entry, claimed: Counts, found: Sequence[Any], chosen: Sequence[int]
) -> Verified:
    """Compare the counts of the chosen sentences."""
    counted = [entry["counted"][index] for index in chosen]
    before = [claimed[index] for index in chosen]
    return Verified(
        name,
        score_in_percent(before, counted),
        score_in_percent(found, counted),
        sum(old != new for old, new in zip(before, found, strict=True)),
    )
