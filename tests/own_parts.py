"""The code of docs/guides/own_parts.md, for the tests that run it as it stands there."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "own_parts.md"
TITLES = re.findall(r"^## (.*)$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
MODULE = "my_package"


def block(title: str, language: str = "python") -> str:
    """The one block of a language in a section."""
    section = PAGE.read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    (found,) = re.findall(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)
    return found


def write_module(folder: Path) -> None:
    """Put all of its classes into one module, and the grammar of its language next to it."""
    (folder / f"{MODULE}.py").write_text("\n\n".join(map(block, TITLES)), "utf-8")
    (folder / "calls.asdl").write_text(block("A language", "text"), "utf-8")
