"""Labels in the cells of tables: texts, whole numbers, or true and false."""

import re
from collections.abc import Sequence

from robustparse.types import Example

FLOAT = re.compile(r"^([+-]?\d+)\.0+$")
"""A whole number in a column of floats of pandas."""

NO_LABEL = ("-", "-1")
"""Markers of a missing label, unless the data use them as labels."""


def labels_are_numbers(examples: Sequence[Example]) -> bool:
    """Tell whether all labels were numbers, or true and false, in JSON or Parquet."""
    rows = [example.row for example in examples]
    return bool(rows) and all(
        row is not None and is_number(row.values.get(row.layout.label)) for row in rows
    )


def is_number(value: object) -> bool:
    """Tell whether the label in a cell is a whole number, such as 5 or 5.0, or true or false."""
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def is_label(value: object) -> bool:
    """Tell whether a cell can hold a label: a text or a whole number."""
    return isinstance(value, str) or is_number(value)


def label_text(value: object) -> str:
    """Return the label in a cell as text; empty if it is missing."""
    missing = value is None or value != value  # NaN marks a missing cell, and differs from itself
    return "" if missing else str(value).strip()


def label_value(label: str, number: bool) -> str | float:
    """Convert a label back to a number or boolean if the column holds such values."""
    if number and label in ("True", "False"):
        return label == "True"
    if number and FLOAT.fullmatch(label):
        return float(label)
    return int(label) if number and re.fullmatch("-?[1-9][0-9]*|0", label) else label
