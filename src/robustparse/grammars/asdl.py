"""Grammars of abstract syntax trees in the Abstract Syntax Description Language (Wang et al. 1997).

A file begins with the primitive types, whose values are tokens. Composite types follow, each with
its constructors; the fields of a constructor have a type and a name, and ``*`` after a type means
any number of values, including none. The first composite type is that of whole trees. ``#`` begins
a comment.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from robustparse.errors import InputError

_CONSTRUCTOR = re.compile(r"(\w+)(?:\(([^()]*)\))?")
_FIELD = re.compile(r"(\w+)(\*?) (\w+)")


@dataclass(frozen=True)
class Field:
    """A child of a constructor.

    Args:
        name: the name of the child.
        type: a primitive or a composite type.
        repeated: whether it holds any number of values.
    """

    name: str
    type: str
    repeated: bool


@dataclass(frozen=True)
class Constructor:
    """One way to build a composite type."""

    name: str
    type: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Grammar:
    """Types and their constructors.

    Args:
        primitives: types whose values are tokens.
        constructors: the constructors of all composite types, those of the root type first.
    """

    primitives: tuple[str, ...]
    constructors: tuple[Constructor, ...]

    @property
    def root(self) -> str:
        """The type of whole trees."""
        return self.constructors[0].type

    @cached_property
    def by_name(self) -> dict[str, Constructor]:
        """Constructors by their names."""
        return {constructor.name: constructor for constructor in self.constructors}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The distinct fields of all constructors."""
        return tuple(dict.fromkeys(field for rule in self.constructors for field in rule.fields))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Primitive types, then composite ones."""
        return tuple(dict.fromkeys([*self.primitives, *(rule.type for rule in self.constructors)]))


def read_grammar(text: str, path: str) -> Grammar:
    """Read a grammar.

    Args:
        text: the content of a file, see the module's docstring.
        path: the file, for errors.

    Raises:
        InputError: a definition cannot be read, or names an undefined type.
    """
    lines = [line.partition("#")[0] for line in text.splitlines()]
    first, *definitions = re.split(r"^(?=\w+ =)", "\n".join(lines), flags=re.MULTILINE)
    primitives = tuple(name.strip() for name in first.split(","))
    constructors = [rule for definition in definitions for rule in _composite(definition, path)]
    known = {*primitives, *(rule.type for rule in constructors)}
    for constructor in constructors:
        for field in constructor.fields:
            if field.type not in known:
                problem = f"{constructor.name} has a field of type {field.type}"
                expected = f"one of {', '.join(sorted(known))}"
                raise InputError(problem, path=path, expected=expected)
    names = [constructor.name for constructor in constructors]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        problem = f"two constructors have the name {twice[0]}"
        raise InputError(problem, path=path, expected="constructors with different names")
    if not constructors:
        raise InputError("no composite type", path=path, expected="TYPE = CONSTRUCTOR(...) | ...")
    return Grammar(primitives, tuple(constructors))


def _composite(definition: str, path: str) -> list[Constructor]:
    """Read the constructors of a type."""
    type_, _, alternatives = definition.partition("=")
    constructors = []
    for alternative in alternatives.split("|"):
        matched = _CONSTRUCTOR.fullmatch(alternative.strip())
        fields = matched and [_field(text, path) for text in (matched[2] or "").split(",") if text]
        if not matched or fields is None:
            expected = "NAME(TYPE NAME, ...)"
            raise InputError(f"{alternative.strip()!r:.60}", path=path, expected=expected)
        constructors.append(Constructor(matched[1], type_.strip(), tuple(fields)))
    return constructors


def _field(text: str, path: str) -> Field:
    matched = _FIELD.fullmatch(text.strip())
    if not matched:
        raise InputError(f"{text.strip()!r:.60}", path=path, expected="a field: TYPE NAME")
    return Field(matched[3], matched[1], bool(matched[2]))
