"""Prompts for language models: jinja2 templates that run no code, and few-shot examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from robustparse.errors import InputError, reason
from robustparse.randomness import stream
from robustparse.types import Example

TEMPLATES = Path(__file__).with_name("prompts")
"""The folder of the default templates, one for each kind of task."""


def template_in(path: str | Path, key: str) -> Template:
    """Read a template.

    Raises:
        InputError: the file cannot be read, or is not a template.
    """
    try:
        source = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({reason(error)})", path=path, key=key) from None
    return template_of(source, key, path)


def template_of(source: str, key: str, path: str | Path | None = None) -> Template:
    """Return a template that cannot run code or read files.

    Raises:
        InputError: it is not a template, or uses neither ``text`` nor ``context``, so that all
            requests are equal.
    """
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    try:
        template = environment.from_string(source)
        variables = find_undeclared_variables(environment.parse(source))
    except TemplateError as error:
        problem = f"not a jinja2 template ({reason(error)})"
        raise InputError(problem, path=path, key=key) from None
    if variables.isdisjoint(("text", "context")):
        problem = "does not contain the text that is asked about"
        raise InputError(problem, path=path, key=key, remedy="write {{ text }} where it belongs")
    return template


def rendered(template: Template, key: str, values: Mapping[str, Any]) -> str:
    """Fill in a template.

    Raises:
        InputError: it uses an unknown variable, or something that is not allowed.
    """
    try:
        return template.render(values)
    except Exception as error:  # expressions of a template raise errors of any type
        raise InputError(
            f"cannot be filled in ({type(error).__name__}: {reason(error)})",
            key=key,
            expected=f"a template of the variables {', '.join(values)}",
        ) from None


def drawn(examples: Sequence[Example], count: int, seed: int, by_answer: bool) -> list[Example]:
    """Draw examples for a prompt.

    Args:
        examples: the training examples.
        count: how many; all if there are fewer.
        seed: the seed of the draw.
        by_answer: whether the answers take turns, so that each label is shown if there is room.
    """
    order = stream(seed, 0).permutation(len(examples)).tolist()
    shuffled = [examples[index] for index in order]
    if by_answer:
        turns: dict[str, int] = {}
        turn = {}
        for example in shuffled:
            turn[example.id] = turns[example.gold] = turns.get(example.gold, -1) + 1
        shuffled.sort(key=lambda example: turn[example.id])
    return shuffled[:count]
