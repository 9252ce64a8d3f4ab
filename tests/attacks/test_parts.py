"""docs/attacks.md names every class that a recipe may name, by the path it has."""

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
from robustparse.attacks.goals.attachment import Goal, TreeGoal
from robustparse.attacks.search.rankings import Ranking
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.white_box.substitutions import Substitution

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"
KINDS = (Goal, CandidateGenerator, Constraint, GrammarChecker, Search, Substitution, Ranking)
BASES = {*KINDS, SentenceConstraint, TreeGoal}
BESIDE = {"robustparse.attacks.LanguageModel"}


def listed() -> list[str]:
    """The paths in the section on parts."""
    section = PAGE.read_text().split("## Parts\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(robustparse\.attacks\.\S*)` \| (.*) \|$", section, re.MULTILINE)
    return [start + end for start, ends in rows for end in re.findall(r"`(\S+)`", ends)]


def concrete() -> set[str]:
    """The paths of all classes that are one of the kinds of parts, and no base of others."""
    found = set()
    for module in pkgutil.walk_packages(attacks.__path__, "robustparse.attacks."):
        for name, one in inspect.getmembers(import_module(module.name), inspect.isclass):
            own = one.__module__ == module.name and not name.startswith("_")
            if own and set(inspect.getmro(one)) & set(KINDS) and one not in BASES:
                found.add(f"{module.name}.{name}")
    return found


def test_every_part_is_listed_by_its_path() -> None:
    paths = listed()
    assert len(set(paths)) == len(paths)
    assert set(paths) == concrete() | BESIDE
