"""The page on the way of a sentence names what there is, and its trace runs as it stands there."""

import json
import re
from pathlib import Path

import pytest
from command_runs import checkpoint

from robustparse.cli.main import main

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "robustparse"
TEXT = (ROOT / "docs" / "way_of_a_sentence.md").read_text("utf-8")


def test_every_file_and_name_of_the_page_is_there() -> None:
    files = set(re.findall(r"\b(?:[a-z_0-9]+/)+[a-z_0-9]+\.py\b", TEXT))
    assert len(files) > 15
    assert [name for name in files if not (SOURCE / name).is_file()] == []
    code = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    names = set(re.findall(r"\b[A-Z]\w+\.([a-z_]+)\b(?!\.)", TEXT))
    assert len(names) > 15
    assert [n for n in names if not re.search(rf"def {n}\b|^    {n}:", code, re.M)] == []


@pytest.mark.slow
def test_the_sentence_and_the_trace_of_the_page(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (rows,) = re.findall(r"```\n(1\tShe.*?\n\n)```", TEXT, re.DOTALL)
    (trace,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    Path("goats.conllu").write_text(rows)
    Path("traced.py").write_text(trace)
    options = "--attack zheng2020_blackbox --attack.candidates TrainingWords --data goats.conllu"
    options += f" --attack.candidates.init_args.sample 3 --checkpoint {checkpoint(tmp_path)}"
    main(["attack", *options.split(), "--out", "one"])
    options += " --attack.search traced.Traced --trust traced"
    main(["attack", *options.split(), "--out", "two"])
    line, traced = (Path(folder, "examples.jsonl").read_text() for folder in ("one", "two"))
    assert line == traced
    asked = re.findall(r"^(Score|Propose|Expand) \[", capsys.readouterr().out, re.M)
    assert asked == ["Score", "Propose", "Expand"]
    found = json.loads(line)
    # The clean prediction, the unknown word in place of each of five, and the candidates.
    assert found["queries"]["charged"] == 6 + found["candidates"]["sums"]["all"]["DictionaryTag"]
    assert json.loads(Path("one", "summary.json").read_text())["victim_forwards"] == 4
    (shown,) = re.findall(r"^\{\"id\".*?\.\.\.\}$", TEXT, re.M | re.DOTALL)
    assert set(re.findall(r'"(\w+)":', shown)) <= set(re.findall(r'"(\w+)":', line))
