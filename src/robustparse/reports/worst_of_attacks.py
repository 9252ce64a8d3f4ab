"""The page's table of the worst of attacks, with a column for each attack."""

import json
from collections import Counter
from collections.abc import Sequence

from robustparse.evaluation.worst_of_attacks import AttackScores, WorstOfAttacks
from robustparse.metrics import score_label
from robustparse.reports.tables import MISSING, Table, numbered

TITLE = "Worst of attacks"


def worst_table(systems: Sequence[WorstOfAttacks]) -> Table:
    """Make a table with a row for each system; scores are headline scores of the first task.

    A column holds one attack with the same settings on each system. Where an attack was seen in
    training, or is known to be unseen, its score says so.
    """
    score = systems[0].task.scores.headline
    rows = [_columns(system.attacks) for system in systems]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    labels = _labels([(key, [row[key] for row in rows if key in row]) for key in columns])
    cells = []
    for system, row in zip(systems, rows, strict=True):
        worst = system.worst[score]
        attacked = [_score(row[key], score) if key in row else MISSING for key in columns]
        interval = f"{worst.estimate:.1f} [{worst.lower:.1f}, {worst.upper:.1f}]"
        values = [f"{system.clean[score]:.1f}", *attacked, interval, str(len(system.attacks))]
        cells.append((system.name, values))
    label = score_label(score)
    heads = ("System", f"Clean\n{label}", *labels, "Worst of\nattacks [95 %]", "Attacks")
    return Table(TITLE, heads, cells)


Column = tuple[str, str, int]
"""The name and the settings of an attack, and how often a system had the same attack before."""


def _columns(attacks: Sequence[AttackScores]) -> dict[Column, AttackScores]:
    earlier = Counter[tuple[str, str]]()
    columns: dict[Column, AttackScores] = {}
    for attack in attacks:
        key = attack.attack, json.dumps(attack.run.get("settings"), sort_keys=True)
        columns[*key, earlier[key]] = attack
        earlier[key] += 1
    return columns


def _labels(columns: Sequence[tuple[Column, Sequence[AttackScores]]]) -> list[str]:
    """Name each column by its attack; attacks of one name by their folders' name, or by numbers."""
    attacks = [name for (name, _, _), _ in columns]
    labels = []
    for (name, _, _), several in columns:
        folders = {attack.folder.resolve().name for attack in several}
        repeated = attacks.count(name) > 1
        labels.append(folders.pop() if repeated and len(folders) == 1 else name)
    return numbered(labels)


def _score(attack: AttackScores, score: str) -> str:
    mark = "" if attack.seen == "unknown" else f" ({attack.seen})"
    return f"{attack.attacked[score]:.1f}{mark}"
