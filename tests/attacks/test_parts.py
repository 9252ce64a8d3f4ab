"""Parts by name: the docs list all of the package, and those of a user need one method."""

import inspect
import pkgutil
import re
import runpy
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from jsonargparse import ArgumentParser

from robustparse import attacks
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.union import GeneratorGroup
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.grammar import GrammarChecker
from robustparse.attacks.constraints.sentence_constraint import SentenceConstraint
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.attacks.goals.attachment import TreeGoal
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.search.gradient_substitution import Substitution
from robustparse.attacks.search.rankings import Ranking
from robustparse.attacks.search.requests import Search

PAGE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "generated.py"))["parts_page"]()
KINDS = (Goal, CandidateGenerator, Constraint, GrammarChecker, Search, Substitution, Ranking)
BASES = {*KINDS, GeneratorGroup, SentenceConstraint, TextSimilarity, TreeGoal}
BESIDE = {"LanguageModel"}


def listed() -> list[str]:
    """The classes in the tables of the page on parts that recipes may take."""
    return re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)


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
    assert set(listed()) == concrete() | BESIDE


LEXICON = attacks.Lexicon({})
REQUIRED: dict[str, Any] = {
    "arcs": {},
    "characters": 1,
    "checker": attacks.LinkGrammar(),
    "checkpoints": ["x"],
    "dictionary": "x",
    "training": "x",
    "generator": LEXICON,
    "generators": [LEXICON],
    "language_model": attacks.LanguageModel("x"),
    "library": "spacy",
    "model": "x",
    "path": "x",
    "positions": {},
    "ranking": attacks.RandomOrder(),
    "spans": {},
    "table": {},
    "vectors": "x",
}
"""Arguments that parts cannot do without."""

COMPANIONS: dict[str, dict[str, Any]] = {"short": {"window": 15}}
"""Arguments without which another has no effect, and is refused."""


def choices(annotation: Any) -> list[Any]:
    """List the texts that an argument can take, and None."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return [choice for one in get_args(annotation) for choice in choices(one)]
    return [None] if annotation is NoneType else []


@pytest.mark.parametrize("name", listed())
def test_a_part_keeps_what_it_was_given(name: str) -> None:
    """Runs are told apart by the attributes; only a default of None may stand for a value."""
    kind = getattr(attacks, name)
    parameters = inspect.signature(kind).parameters
    required = {key: REQUIRED[key] for key, one in parameters.items() if one.default is one.empty}
    for key, one in parameters.items():
        for choice in choices(one.annotation):
            given = required | COMPANIONS.get(key, {}) | {key: choice}
            kept = getattr(kind(**given), key)
            assert kept == choice or (choice is None and one.default is None), (key, choice, kept)


def parsed(kind: type, content: str) -> object:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--part", type=kind)
    return parser.instantiate(parser.parse_string(content)).part


def test_constraints_come_from_yaml() -> None:
    rise, similarity, grammar, listed, any_tag = parsed(
        list[Constraint],
        """
part:
- class_path: robustparse.attacks.PerplexityRise
  init_args:
    most: 30
    language_model:
      class_path: robustparse.attacks.LanguageModel
      init_args: {model: gpt2, longest: 64}
- class_path: robustparse.attacks.SentenceSimilarity
  init_args: {model: some-encoder, window: 15}
- class_path: robustparse.attacks.GrammarErrors
  init_args:
    checker:
      class_path: robustparse.attacks.LinkGrammar
      init_args: {longest: 30}
- class_path: robustparse.attacks.AttackableTags
  init_args: {tags: [IN, RP]}
- class_path: robustparse.attacks.AttackableTags
  init_args: {tags: any}
""",
    )
    assert (rise.most, rise.language_model.longest) == (30.0, 64)
    assert similarity.window == 15
    assert grammar.checker.longest == 30
    assert (listed.tags, any_tag.tags) == ({"IN", "RP"}, "any")
