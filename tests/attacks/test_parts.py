"""docs/attacks.md names every class that a recipe may name, by its public name."""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

from robustparse import attacks
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.grammar import GrammarChecker
from robustparse.attacks.constraints.sentence_constraint import SentenceConstraint
from robustparse.attacks.goals.attachment import TreeGoal
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.search.rankings import Ranking
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.white_box.substitutions import Substitution

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"
KINDS = (Goal, CandidateGenerator, Constraint, GrammarChecker, Search, Substitution, Ranking)
BASES = {*KINDS, SentenceConstraint, TreeGoal}
BESIDE = {"LanguageModel"}


def listed() -> list[str]:
    """The names in the section on parts."""
    table = PAGE.read_text().split("| kind | names |\n")[1].split("\n\n")[0]
    return re.findall(r"`(\S+)`", table)


def concrete() -> set[str]:
    """The names of all classes that are one of the kinds of parts, and no base of others."""
    found = set()
    for module in pkgutil.walk_packages(attacks.__path__, "robustparse.attacks."):
        for name, one in inspect.getmembers(import_module(module.name), inspect.isclass):
            own = one.__module__ == module.name and not name.startswith("_")
            if own and set(inspect.getmro(one)) & set(KINDS) and one not in BASES:
                found.add(name)
    return found


def test_every_part_is_listed_and_public() -> None:
    paths = listed()
    assert len(set(paths)) == len(paths)
    assert set(paths) == concrete() | BESIDE
    assert set(paths) <= set(attacks.__all__)
