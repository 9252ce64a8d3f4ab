"""The search and the recipe of docs/attacks.md run as they stand there."""

import re
from pathlib import Path

import numpy as np
from command_runs import checkpoint

from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.evaluation.lines import read_lines
from sample_runs import sentences, write_sample

PAGE = Path(__file__).parents[2] / "docs" / "attacks.md"


def block(language: str) -> str:
    """The one block of this language in the section on searches of one's own."""
    section = PAGE.read_text().split("## A search of your own\n")[1].split("\n## ")[0]
    (found,) = re.findall(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)
    return found


def test_the_search_of_the_guide(tmp_path, monkeypatch):
    search, recipe = block("python"), block("yaml")
    assert len(search[search.index("class ") :].splitlines()) <= 20
    (tmp_path / "last_words.py").write_text(search)
    (tmp_path / "last_words.yaml").write_text(recipe)
    monkeypatch.chdir(tmp_path)
    data = write_sample(tmp_path / "test.conllu", sentences(12, "test"))
    options = ["--attack", str(tmp_path / "last_words.yaml"), "--data", str(data)]
    options += ["--checkpoint", str(checkpoint(tmp_path)), "--trust", "last_words"]
    main(["attack", *options, "--out", str(tmp_path / "out")])
    main(["attack", *options, "--out", str(tmp_path / "one"), "--attack.live", "1"])
    lines = read_lines(tmp_path / "out" / "examples.jsonl")
    assert lines == read_lines(tmp_path / "one" / "examples.jsonl")
    assert sum(bool(line["edited"]) for line in lines) > 3
    examples = read_treebank(data)
    for line, example in zip(lines, examples, strict=True):
        last = np.flatnonzero(AttackableTags().attackable(example))[-3:].tolist()
        assert set(line["edited"]) <= set(last)
