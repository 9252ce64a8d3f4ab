"""Where the settings of several files stand."""

from pathlib import Path

import pytest

from robustparse.options.arguments import checked

FIRST = """trainer: {callbacks: [FGM]}
data: {init_args: {columns: [a, b]}}
model: {init_args: {arc_dim: 8, optimization: {seed: 1}}}
"""
LAST = """model:
  init_args:

    arc_dim: 9
    label_dim: 4
data: {init_args: {columns: [c]}}
trainer:
  max_steps: 4
  callbacks+: [PGD]
model.optimization: [3]
"""


@pytest.mark.parametrize(
    ("key", "files", "line"),
    [
        ("trainer.max_steps", ["b.yaml"], 8),
        ("data.columns", ["b.yaml"], 6),  # a list replaces another
        ("trainer.callbacks", ["a.yaml", "b.yaml"], None),  # but this one was added to
        ("model.label_dim", ["b.yaml"], 5),
        ("model.arc_dim", ["b.yaml"], 4),  # the value that is in force
        ("model", ["a.yaml", "b.yaml"], None),
        ("model.optimization", ["b.yaml"], 10),  # a list replaces keys and values
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


def test_options_have_no_position(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(FIRST)
    config = ["--config", str(tmp_path / "a.yaml")]
    arguments = checked(["fit", *config, "--model.encoder", "{hidden: 8}", "--model.arc_dim", "9"])
    for key in ("model.encoder.hidden", "model.arc_dim"):
        assert arguments.position(key) == (None, None)
