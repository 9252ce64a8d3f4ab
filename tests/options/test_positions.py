"""Where the settings of several files stand."""

from pathlib import Path

import pytest

from robustparse.options.arguments import checked

FIRST = "trainer:\n  max_steps: 4\nmodel: {init_args: {arc_dim: 8}}\n"
LAST = "model:\n  init_args:\n\n    arc_dim: 9\n    label_dim: 4\n"


@pytest.mark.parametrize(
    ("key", "files", "line"),
    [
        ("trainer.max_steps", ["a.yaml"], 2),
        ("model.label_dim", ["b.yaml"], 5),
        ("model.arc_dim", ["b.yaml"], 4),  # the value that is in force
        ("model", ["a.yaml", "b.yaml"], None),
        ("model.encoder", ["a.yaml", "b.yaml"], None),
    ],
)
def test_a_value_stands_in_the_last_file_that_has_it(
    tmp_path: Path, key: str, files: list[str], line: int | None
) -> None:
    paths = [tmp_path / name for name in ("a.yaml", "b.yaml")]
    for path, content in zip(paths, (FIRST, LAST), strict=True):
        path.write_text(content)
    arguments = checked(["fit", *(token for path in paths for token in ("--config", str(path)))])
    expected = " ".join(str(tmp_path / name) for name in files)
    path, found = arguments.position(key)
    assert (str(path), found) == (expected, line)
