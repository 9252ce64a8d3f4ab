"""Grammars of abstract syntax trees in the Abstract Syntax Description Language (Wang et al. 1997).

A file begins with the primitive types, whose values are tokens. Then each composite type has its
constructors, whose fields have a type and a name; ``*`` after a type means any number of values,
none included. The type that is defined first is that of whole trees. ``#`` begins a comment.
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
        name: of the child.
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
        constructors: of all composite types, those of the root type first.
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
        return {one.name: one for one in self.constructors}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Every field of a constructor, each once."""
        return tuple(dict.fromkeys(field for one in self.constructors for field in one.fields))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Primitive types, then composite ones."""
        return tuple(dict.fromkeys([*self.primitives, *(one.type for one in self.constructors)]))


def read_grammar(text: str, path: str) -> Grammar:
    """Read a grammar.

    Args:
        text: in the language of the module's docstring.
        path: where it comes from, for errors.

    Raises:
        InputError: a definition cannot be read, or names a type that nothing defines.
    """
    lines = [line.partition("#")[0] for line in text.splitlines()]
    first, *definitions = re.split(r"^(?=\w+ =)", "\n".join(lines), flags=re.MULTILINE)
    primitives = tuple(name.strip() for name in first.split(","))
    constructors = [one for definition in definitions for one in _composite(definition, path)]
    known = {*primitives, *(one.type for one in constructors)}
    for constructor in constructors:
        for field in constructor.fields:
            if field.type not in known:
                found = f"{constructor.name} has a field of type {field.type}"
                expected = f"one of {', '.join(sorted(known))}"
                raise InputError(found, path=path, expected=expected)
    if not constructors:
        raise InputError("no composite type", path=path, expected="TYPE = CONSTRUCTOR(...) | ...")
    return Grammar(primitives, tuple(constructors))


def _composite(definition: str, path: str) -> list[Constructor]:
    """Read the constructors of a type."""
    type_, _, alternatives = definition.partition("=")
    found = []
    for alternative in alternatives.split("|"):
        matched = _CONSTRUCTOR.fullmatch(alternative.strip())
        fields = matched and [_field(part, path) for part in (matched[2] or "").split(",") if part]
        if not matched or fields is None:
            expected = "NAME(TYPE NAME, ...)"
            raise InputError(f"{alternative.strip()!r:.60}", path=path, expected=expected)
        found.append(Constructor(matched[1], type_.strip(), tuple(fields)))
    return found


def _field(text: str, path: str) -> Field:
    matched = _FIELD.fullmatch(text.strip())
    if not matched:
        raise InputError(f"{text.strip()!r:.60}", path=path, expected="a field: TYPE NAME")
    return Field(matched[3], matched[1], bool(matched[2]))
