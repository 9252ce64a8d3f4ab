"""Pages of the site that are made from the sources: `make docs` runs this as a hook of MkDocs."""

import inspect
from typing import Any

from mkdocs.structure.files import File, Files

from robustparse import attacks
from robustparse.options.installed import CONFIGS, KINDS, names_in, summary_of
from robustparse.options.recipe_facts import RecipeFacts

TITLES = {
    "Goal": "Goals",
    "CandidateGenerator": "Candidate generators",
    "Constraint": "Constraints",
    "GrammarChecker": "Grammar checkers",
    "Search": "Searches",
    "Ranking": "Rankings",
    "Substitution": "Substitutions of white-box searches",
    "LanguageModel": "Language models",
}
PARTS = """# Parts of an attack

The classes that a recipe may name, with the first lines of their docstrings. [Write a
recipe](../guides/recipes.md) says how they work together; all arguments are in the [API
reference](attacks.md).
"""
CONFIGURATIONS = """# Installed configurations

The files that `--config` and `--attack` take by name. `robustparse list` prints the same;
`robustparse copy NAME` copies one into the current folder for editing. A model and data are joined
by two options: `--config model/text_cnn --config data/mr`. An attack is named without its folder.
"""


def parts_page() -> str:
    """List the classes of `robustparse.attacks` by the base class that they derive from."""
    rows: dict[str, list[str]] = {title: [] for title in TITLES.values()}
    for name in attacks.__all__:
        kind = getattr(attacks, name)
        bases = [base.__name__ for base in inspect.getmro(kind) if base.__name__ in TITLES]
        if bases and not _is_base(kind):
            text = (inspect.getdoc(kind) or "").partition("\n\n")[0]
            rows[TITLES[bases[-1]]].append(_row(name, text))
    tables = [_table(title, "class", lines) for title, lines in rows.items()]
    return "\n".join([PARTS, *tables])


def configurations_page() -> str:
    """List the installed files of YAML by folder, with the comments at their tops."""
    tables = []
    for title, folder in KINDS.items():
        files = names_in(CONFIGS / folder)
        rows = [_row(f"{folder}/{name}", summary_of(path)) for name, path in files.items()]
        tables.append(_table(title.capitalize(), "name", rows))
    facts = {name: RecipeFacts.read(path) for name, path in names_in(CONFIGS / "attack").items()}
    rows = [_facts_row(name, each) for name, each in facts.items()]
    head = ["| recipe | paper | changes | tasks | needs |", "|---|---|---|---|---|"]
    tables.append("\n".join(["## What each attack changes and needs\n", *head, *rows, ""]))
    return "\n".join([CONFIGURATIONS, *tables])


def _is_base(kind: type) -> bool:
    """Whether a class is there to be derived from."""
    return inspect.isabstract(kind) or kind.__name__ in {"Constraint", "TreeGoal"}


def _row(name: str, text: str) -> str:
    return "| `{}` | {} |".format(name, " ".join(text.split()).replace("|", "\\|"))


def _facts_row(name: str, facts: RecipeFacts) -> str:
    lists = (", ".join(part) for part in (facts.changes, facts.tasks, facts.needs))
    return f"| `{name}` | {' | '.join([facts.paper, *lists])} |"


def _table(title: str, head: str, rows: list[str]) -> str:
    return "\n".join([f"## {title}\n", f"| {head} | |", "|---|---|", *rows, ""])


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to those of the folder."""
    files.append(File.generated(config, "reference/parts.md", content=parts_page()))
    page = configurations_page()
    files.append(File.generated(config, "reference/configurations.md", content=page))
    return files


if __name__ == "__main__":
    print(parts_page(), configurations_page(), sep="\n")
