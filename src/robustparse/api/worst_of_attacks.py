"""``robustparse.worst_of_attacks``: what is right under every one of several attacks."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from robustparse.api.inputs import system_name
from robustparse.api.results import AttackResults, attack_folders
from robustparse.api.seen_attacks import seen_attacks
from robustparse.evaluation.worst_of_attacks import WorstOfAttacks, read_worst_of_attacks
from robustparse.reports.tables import numbered


def worst_of_attacks(attacked: Sequence[AttackResults | str | Path]) -> list[WorstOfAttacks]:
    """Compute the share of a system's answers that are right under every one of several attacks.

    Attacks belong to one system if they attacked the same checkpoints, with the same decoder and
    precision. A word of a tree, a label or a logical form counts if it is right under all attacks
    on the system, so the result is at most the lowest attacked score.

    Args:
        attacked: results or folders of finished attacks, in any order.

    Returns:
        One result for each system with two attacks or more, in the order of their first folder.

    Raises:
        InputError: a file is missing or damaged, or two attacks on a system have different
            sentences, gold answers or punctuation.
    """
    systems = read_worst_of_attacks(attack_folders(attacked))
    names = [system_name(system.victims) for system in systems]
    if len(set(names)) < len(names):
        names = [" + ".join(system.victims) for system in systems]
    named = []
    # Systems with equal paths, but different decoders for example, are numbered.
    for system, name in zip(systems, numbered(names), strict=True):
        marks = seen_attacks([attack.run for attack in system.attacks])
        both = zip(system.attacks, marks, strict=True)
        attacks = tuple(replace(attack, seen=seen) for attack, seen in both)
        named.append(replace(system, name=name, attacks=attacks))
    return named
