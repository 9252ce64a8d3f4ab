"""The card of a system, ``README.md``: how to load a shared model, its scores and their runs.

The tables are those of the report. The header is what the Hugging Face hub reads. The last line is
a digest of the others, which shows whether the card was edited.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from robustparse.errors import InputError
from robustparse.reports.entry import Entry, attack_name, commands_of
from robustparse.reports.export import titled_tables
from robustparse.reports.new_entry import About
from robustparse.reports.page import Contents
from robustparse.reports.tables import Table
from robustparse.reports.worst_of_attacks import TITLE
from robustparse.tasks.registry import named

CARD = "README.md"
_SHOWN = ("Systems", TITLE, "Certified scores", "Scores", "Perturbed texts")
_MARKUP = str.maketrans({mark: f"\\{mark}" for mark in r"\`*_[]<>|#"} | {"\n": " "})


def card(entry: Entry, contents: Contents, about: About) -> str:
    """Return the text of a card; see `check_unedited`.

    Args:
        entry: the entry of the model.
        contents: the results that the entry was made from.
        about: what the results do not say.
    """
    return _marked("\n\n".join([_header(entry, about), *_sections(entry, contents)]) + "\n")


def check_unedited(path: Path) -> None:
    """Check that a card may be written: there is no file, or a card that nobody has edited.

    Raises:
        InputError: there is another file, or an edited card.
    """
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    if path.exists() and text != _marked(text.rpartition("\n<!--")[0]):
        problem = "share did not write it, or it was edited since"
        raise InputError(problem, path=path, remedy="move it, and copy your text into the new one")


def _marked(text: str) -> str:
    """Return a text with its digest in a last line."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text}\n<!-- written by robustparse share, SHA-256 of the text above: {digest} -->\n"


def _header(entry: Entry, about: About) -> str:
    """Return the metadata as YAML between two lines of hyphens."""
    from huggingface_hub import EvalResult, ModelCardData

    task = named(entry["task"])
    headline = task.scores.headline
    measured = [("clean", entry["clean"][headline])]
    measured += [
        (attack_name(attack["run"]), attack["attacked"][headline]) for attack in entry["attacks"]
    ]
    if entry["worst_of_attacks"]:
        measured.append((TITLE.lower(), entry["worst_of_attacks"][headline][0]))
    results = [
        EvalResult(
            task_type=task.name,
            dataset_type=entry["data"]["name"],
            dataset_name=entry["data"]["name"],
            metric_type=headline,
            metric_name=f"{headline}, {name}",
            metric_value=None if value is None else round(value, 2),
        )
        for name, value in measured
    ]
    data = ModelCardData(
        library_name="robustparse" if entry["model"] is not None else None,
        license=about.license,
        tags=["robustparse", task.name, "adversarial-robustness"],
        metrics=[*task.scores.names],
        model_name=entry["name"],
        eval_results=results,
    )
    return f"---\n{data.to_yaml()}\n---"


def _sections(entry: Entry, contents: Contents) -> Iterator[str]:
    model, data = entry["model"], entry["data"]
    yield f"# {_plain(entry['name'])}"
    if model is not None:
        kind = model["class_path"].rpartition(".")[2]
        yield (
            f"A `{kind}` of robustparse {entry['version']} with {model['parameters']:,} parameters "
            f"(task: {entry['task']})."
        )
    facts = {
        "Paper": entry["paper"],
        "Extra training data": entry["extra_data"],
        "Scored on": f"{data['name']}, {len(entry['counted']):,} sentences",
        "Licence of the sentences": data["license"],
        "SHA-256 of the sentences": data["sha256"],
        "SHA-256 of the weights": model and model["sha256"],
        "Digest of the training data": model and model["trained_on"],
    }
    yield "\n".join(f"- {name}: {_plain(value)}" for name, value in facts.items() if value)
    if model is not None:
        yield "## Use"
        yield (
            "```python\nfrom robustparse.models import Model\n\n"
            'model = Model.from_pretrained("OWNER/NAME")  # or this folder\n```'
        )
        yield "Every `--checkpoint` of robustparse takes this folder, or `hf://OWNER/NAME`."
    yield "## Scores"
    for title, table in titled_tables(contents):
        if table.label.partition(",")[0] in _SHOWN:
            yield f"### {_plain(title[:1].upper() + title[1:])}"
            yield markdown(table)
    yield "## Runs"
    yield markdown(
        Table(
            "Runs",
            ("Attack", "SHA-256 of the recipe", "Seed"),
            [
                (
                    attack_name(attack["run"]),
                    [attack["recipe"], str(attack["run"].get("seed"))],
                )
                for attack in entry["attacks"]
            ],
        )
    )
    yield "Where a run changed settings of its recipe, `entry.json` holds them:"
    yield "\n".join(["```sh", *commands_of(entry), "```"])


def markdown(table: Table) -> str:
    """Write a table in Markdown: the row's name to the left, all other cells to the right."""
    heads = [_plain(head) for head in table.heads]
    rules = [":--", *["--:"] * (len(heads) - 1)]
    rows = [[_plain(name), *map(_plain, cells)] for name, cells in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *rows))


def _plain(text: str) -> str:
    """Escape Markdown."""
    return text.translate(_MARKUP)
