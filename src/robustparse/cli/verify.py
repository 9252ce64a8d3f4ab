"""``robustparse verify``: run a part of a leaderboard entry again and compare it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from robustparse.api.attack_run import AttackRun
from robustparse.api.data_sources import DataFile, GivenExamples
from robustparse.api.inputs import Paths
from robustparse.api.printed_tables import plain_table, print_table, shown
from robustparse.api.victim_sources import GivenVictim, VictimSource
from robustparse.cli.options import DECODING, VictimOptions
from robustparse.errors import InputError, check_least
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.evaluation.comparison import SentenceCounts, read_counts
from robustparse.evaluation.records import RunRecord
from robustparse.evaluation.significance import counts_of, score_in_percent
from robustparse.evaluation.worst_of_attacks import sums_in_all
from robustparse.metrics import PunctuationPolicy, score_label
from robustparse.options.recipe import Recipe
from robustparse.options.recipe_digests import recipe_digests
from robustparse.pretrained.hub import WEIGHTS
from robustparse.reports.entry import AttackEntry, Counts, Entry, attack_name, read_entry
from robustparse.reports.worst_of_attacks import TITLE
from robustparse.types import Example
from robustparse.victims.black_box import BlackBox

_ANY_LENGTH = 1 << 30  # words in a sentence; the entry's runs have accepted them


def verify(
    entry: str,
    sentences: int = 50,
    data: Paths | None = None,
    checkpoint: Paths | None = None,
    victim: BlackBox | None = None,
    seed: int = 0,
    tolerance: float = 2.0,
    device: str = "auto",
) -> None:
    """Run the attacks of an entry on some of its sentences; the exit status is 1 if they differ.

    Every random choice of an attack follows from its seed and the sentence, so that on the same
    kind of processor the counts are those of the entry. The answers to the originals, each attack,
    and the worst of several attacks are compared by the headline score; success rates, certified
    scores and other scores are not checked.

    Args:
        entry: an entry.json, or its folder.
        sentences: how many sentences, drawn at random.
        data: the file of the sentences, or a quoted pattern of several; by default those that the
            entry names.
        checkpoint: the model; by default the one in the folder of the entry.
        victim: the system of an entry without a shared model, as for attack.
        seed: draws the sentences.
        tolerance: the highest percentage of differing sentences, in the clean row and in each
            attack's row; processors may cause a few.
        device: where the models compute: auto, cpu or cuda.

    Raises:
        InputError: the system, the data or a file of a recipe is not that of the entry; or a
            recipe names a class or a program that is not trusted.
    """
    check_least("verify", sentences=sentences)
    path = Path(entry)
    stored = read_entry(path)
    weights = (path if path.is_dir() else path.parent) / WEIGHTS
    if checkpoint is None and victim is None and weights.exists():
        checkpoint = str(weights)
    run: dict[str, Any] = {**stored["attacks"][0]["run"]}
    decoding = {key: run[key] for key in DECODING if key in run} if checkpoint is not None else {}
    source = VictimOptions(checkpoint=checkpoint, victim=victim, **decoding).source()
    _check_system(stored, source)
    opened = source.open(device)
    size = len(stored["counted"])
    drawn = np.random.default_rng(seed).choice(size, min(sentences, size), replace=False)
    chosen = sorted(drawn.tolist())
    scores, attacks = opened.task.scores, stored["attacks"]
    names = [attack_name(attack["run"]) for attack in attacks]
    several = [_attack_again(stored, each, opened, data, chosen, device) for each in attacks]
    counts = [each.of(scores.headline) for each in several]
    # By name: the counts of the entry, of all sentences, and those found now.
    rows: list[tuple[str, Counts, Sequence[Any]]] = [("clean", stored["right"], counts[0].clean)]
    for name, attack, of_attack in zip(names, attacks, counts, strict=True):
        rows.append((name, attack["right"], of_attack.attacked))
    if stored["right_in_all"] is not None:
        _, worst = sums_in_all(several, [*map(Path, names)])
        right = counts_of(scores, scores.headline, worst)
        rows.append((TITLE.lower(), stored["right_in_all"], right))
    label = score_label(scores.headline)
    headings = (f"{label}, entry", f"{label}, now", "sentences that differ")
    table = plain_table("", [f"{len(chosen)} sentences"], headings)
    counted, holds = [stored["counted"][index] for index in chosen], True
    for name, claimed, found in rows:
        before = [claimed[index] for index in chosen]
        differing = sum(old != new for old, new in zip(before, found, strict=True))
        percentages = (shown(score_in_percent(each, counted), 2) for each in (before, found))
        table.add_row(name, *percentages, str(differing))
        holds = holds and 100 * differing <= tolerance * len(chosen)
    print_table(table)
    print(f"the entry {'holds' if holds else 'does not hold'}: {stored['name']}")
    if not holds:
        sys.exit(1)


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
