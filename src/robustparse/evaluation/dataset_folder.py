"""A folder that ``datasets.load_dataset`` reads: sentences in Parquet, and a card.

The card says how the sentences were made. Equal rows and cards give equal bytes.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_bytes


@dataclass(frozen=True)
class Card:
    """What a dataset says about itself.

    Args:
        title: its heading.
        about: what its rows and columns are, as one paragraph.
        task: the task of the answers.
        facts: where the sentences come from and what changed them.
        settings: all settings, which are written as JSON.
        license: the licence of the sentences.
    """

    title: str
    about: str
    task: str
    facts: Mapping[str, object]
    settings: Any
    license: str

    def text(self, data: str) -> str:
        """Return the card of a dataset whose rows are in the file `data`."""
        data_files = [{"split": "test", "path": data}]
        metadata = {
            "license": self.license,
            "tags": ["adversarial", self.task],
            "configs": [{"config_name": "default", "data_files": data_files}],
        }
        facts = {**self.facts, "licence of the sentences": self.license}
        lines = [
            "---",
            yaml.safe_dump(metadata, sort_keys=False).rstrip(),
            "---",
            f"# {self.title}",
            "",
            self.about,
            "",
            "| | |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in facts.items()),
            "",
            "Settings:",
            "",
            "```json",
            json.dumps(self.settings, indent=2),
            "```",
        ]
        return "\n".join(lines) + "\n"


def write_dataset(folder: Path, rows: list[dict[str, Any]], card: Card) -> list[Path]:
    """Write a dataset in the place of an earlier one; return its files.

    Raises:
        InputError: a file cannot be written.
    """
    content = as_parquet(rows)
    # `datasets` takes the rows of an earlier folder from its cache if all names are equal.
    data = f"data/test-{sha256(content).hexdigest()[:16]}.parquet"
    paths = [folder / data, folder / "README.md"]
    remove_dataset(folder, keep=paths)
    for path, file in zip(paths, (content, card.text(data).encode()), strict=True):
        make_folder(path.parent)
        write_bytes(path, file)
    return paths


def remove_dataset(folder: Path, keep: Sequence[Path] = ()) -> None:
    """Remove the files that `write_dataset` wrote into a folder, except those to keep."""
    for path in (*(folder / "data").glob("test-*.parquet"), folder / "README.md"):
        if path not in keep:
            path.unlink(missing_ok=True)


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    """Return rows as a Parquet file."""
    import pyarrow  # slow to import, and part of `datasets`
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
    return buffer.getvalue()
