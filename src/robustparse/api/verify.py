"""``robustparse.verify``: run a part of a leaderboard entry again and compare it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from robustparse.api.attack import Victims, victim_source
from robustparse.api.attack_run import AttackRun
from robustparse.api.data_sources import DataFile, GivenExamples
from robustparse.api.inputs import Paths
from robustparse.api.victim_sources import DECODING, Checkpoints, GivenVictim, VictimSource
from robustparse.errors import InputError, check_least
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.evaluation.comparison import SentenceCounts, read_counts
from robustparse.evaluation.records import RunRecord
from robustparse.evaluation.significance import counts_of, score_in_percent
from robustparse.evaluation.worst_of_attacks import sums_in_all
from robustparse.files.paths import with_home
from robustparse.metrics import PunctuationPolicy
from robustparse.options.recipe import Recipe
from robustparse.options.recipe_digests import recipe_digests
from robustparse.pretrained.hub import WEIGHTS
from robustparse.reports.entry import AttackEntry, Counts, Entry, attack_name, read_entry
from robustparse.reports.worst_of_attacks import TITLE
from robustparse.types import Example

_ANY_LENGTH = 1 << 30  # words in a sentence; the entry's runs have accepted them


class VerifiedRow(NamedTuple):
    """The scores of the originals, or of an attack or the worst of all attacks.

    Attributes:
        name: ``clean``, the name of the attack, or ``worst of attacks``.
        stored, current: the headline score of these sentences in percent, stored and new.
        differing: how many sentences have other counts.
    """

    name: str
    stored: float
    current: float
    differing: int


@dataclass(frozen=True)
class Verification:
    """The comparison of an entry with new runs on some of its sentences.

    Attributes:
        name: the name of the system.
        headline: the name of the compared score.
        n_sentences: the number of sentences.
        rows: of the clean scores, of each attack, and of the worst of several attacks.
        holds: whether no row exceeds the tolerance.
    """

    name: str
    headline: str
    n_sentences: int
    rows: list[VerifiedRow]
    holds: bool


def verify(
    entry: str | Path,
    victim: Victims | VictimSource | None = None,
    *,
    data: Paths | None = None,
    sentences: int = 50,
    seed: int = 0,
    tolerance: float = 2.0,
    device: str = "auto",
) -> Verification:
    """Run the attacks of an entry on some of its sentences, and compare the counts.

    Every random choice of an attack follows from its seed and the sentence, so that on the same
    kind of processor the counts are those of the entry.

    >>> verify("my-parser", data="test.conllu").holds  # doctest: +SKIP

    Args:
        entry: see the option of ``robustparse verify``.
        victim: see `robustparse.attack`; by default the model in the folder of the entry. A
            checkpoint computes with the decoding options of the entry. Give the file of a model,
            not the loaded one: the files are compared. Functions cannot be compared.
        data: see the option of ``robustparse verify``.
        sentences: see the option of ``robustparse verify``.
        seed: see the option of ``robustparse verify``.
        tolerance: see the option of ``robustparse verify``.
        device: see `robustparse.attack`.

    Raises:
        InputError: the system, the data or a file of a recipe is not that of the entry; or a
            recipe names a class or a program that is not trusted.
    """
    check_least("verify", sentences=sentences)
    path = with_home(entry)
    stored = read_entry(path)
    source = _source(stored, victim, path if path.is_dir() else path.parent)
    opened = source.open(device)
    scores, attacks = opened.task.scores, stored["attacks"]
    n = min(sentences, len(stored["counted"]))
    drawn = np.random.default_rng(seed).choice(len(stored["counted"]), n, replace=False)
    chosen = sorted(drawn.tolist())
    again = [_attack_again(stored, each, opened, data, chosen, device) for each in attacks]
    counts = [each.by_score(scores.headline) for each in again]
    # For each row: its name, the stored counts of all sentences, the new ones of those chosen.
    compared: list[tuple[str, Counts, Sequence[Any]]]
    compared = [("clean", stored["right"], counts[0].clean)]
    names = [attack_name(attack["run"]) for attack in attacks]
    for name, attack, under in zip(names, attacks, counts, strict=True):
        compared.append((name, attack["right"], under.attacked))
    if stored["right_in_all"] is not None:
        _, worst = sums_in_all(again, [*map(Path, names)])
        right = counts_of(scores, scores.headline, worst)
        compared.append((TITLE.lower(), stored["right_in_all"], right))
    counted = [stored["counted"][index] for index in chosen]
    rows = []
    for name, claimed, current in compared:
        before = [claimed[index] for index in chosen]
        differing = sum(old != new for old, new in zip(before, current, strict=True))
        percentages = score_in_percent(before, counted), score_in_percent(current, counted)
        rows.append(VerifiedRow(name, *percentages, differing))
    holds = all(100 * row.differing <= tolerance * n for row in rows)
    return Verification(stored["name"], scores.headline, n, rows, holds)


def _source(entry: Entry, victim: Victims | VictimSource | None, folder: Path) -> VictimSource:
    """Return the source of an entry's system.

    Raises:
        InputError: it is another system, or missing.
    """
    run: Mapping[str, Any] = entry["attacks"][0]["run"]
    if victim is None and (folder / WEIGHTS).exists():
        victim = folder / WEIGHTS
    if victim is None:
        expected = "exactly one of them, since the entry has no model"
        raise InputError("neither is given", key="--checkpoint, --victim", expected=expected)
    source = victim_source(victim)
    if isinstance(source, Checkpoints):
        source = replace(source, **{key: run[key] for key in DECODING if key in run})
    known = [run.get("sha256", {}).get("checkpoint")]
    known += [[entry["model"]["sha256"]]] if entry["model"] is not None else []
    digests = source.digests()
    same = digests.get("checkpoint") in known
    same = same and digests.get("victim") == run.get("sha256", {}).get("victim")
    if not same or source.settings.get("victim") != run.get("victim"):
        raise InputError(
            "another system than that of the entry",
            key="--checkpoint, --victim",
            expected=f"the system {entry['name']}",
            remedy="use the files and the decoding options with which the entry was made",
        )
    return source


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
        recipe = _recipe(run, Path(name, "recipe.yaml"))
        again = recipe.attack()
        examples = _examples(entry, run, data, victim, again.punctuation)
        sentences = GivenExamples([examples[index] for index in chosen])
        seed, out = run.get("seed") or 0, Path(name, "attacked")
        AttackRun(out, recipe, GivenVictim(victim), sentences, seed, device).attacked(again)
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
        problem = "not the file that the attack of the entry used"
        raise InputError(problem, path=changed[0][0], remedy="restore this file")
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
        problem = "not the sentences of the entry" if missing is None else "no such file"
        expected = f"{entry['data']['name']}, SHA-256 {entry['data']['sha256']}"
        remedy = "name that file with --data"
        path = file.name if missing is None else missing
        raise InputError(problem, path=path, key="--data", expected=expected, remedy=remedy)
    examples = file.examples(victim, punctuation)
    if len(examples) != len(entry["counted"]):
        problem, expected = f"{len(examples)} sentences", f"the entry's {len(entry['counted'])}"
        remedy = "use the version of robustparse that the entry names"
        raise InputError(problem, path=file.name, expected=expected, remedy=remedy)
    return examples
