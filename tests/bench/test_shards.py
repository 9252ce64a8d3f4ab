"""The bench of shards measures what it says, and finds shards that differ from one process."""

import json
from pathlib import Path

import pytest

import shards


def test_shards_are_timed_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []
    texts = {"one": b"same\n"}

    def run(given: list[list[str]], threads: int) -> float:
        commands.extend(given)
        for command in given:
            out = Path(command[command.index("--out") + 1] if "--out" in command else command[1])
            out.mkdir(exist_ok=True)
            (out / "examples.jsonl").write_bytes(texts.get(out.name, b"same\n"))
        return 2.0 / threads

    monkeypatch.setattr(shards, "run", run)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    options = ["shards.py", "--checkpoint", "a.ckpt", "--data", "b.conllu", "--json"]
    monkeypatch.setattr("sys.argv", [*options, "--shards", "2"])
    shards.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures == {"start": 2.0, "one": 1.0, "shards_2": 4.0, "ratio_2": 0.25}
    assert [command[0] for command in commands] == ["attack"] * 4 + ["merge"]
    assert [command[command.index("--shard") + 1] for command in commands[2:4]] == ["1/2", "2/2"]
    texts["merged_2"] = b"other\n"
    with pytest.raises(SystemExit, match="2 merged shards"):
        shards.main()
