"""How the settings of two runs of one folder differ."""

from typing import Any

import pytest

from robustparse.evaluation.claim import differences

STORED = {"seed": 0, "victim": {"model": "a"}, "sha256": {"b.tsv": "1", "victim": {"a": "2"}}}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({}, []),
        ({"seed": 1}, ["seed"]),
        ({"sha256": {"b.tsv": "3", "victim": {"a": "2"}}}, ["b.tsv has changed"]),
        # Another model: its name comes first, and no file has changed.
        (
            {"victim": {"model": "c"}, "sha256": {"b.tsv": "1", "victim": {"c": "2"}}},
            ["victim.model", "a belongs to the run there", "c belongs to the run here"],
        ),
    ],
)
def test_settings_come_first_and_only_files_of_both_have_changed(
    change: dict[str, Any], named: list[str]
) -> None:
    found = [*differences(STORED, STORED | change)]
    assert len(found) == len(named)
    assert all(name in difference for name, difference in zip(named, found, strict=True))
