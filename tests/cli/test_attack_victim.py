"""Victims that are named by their class: attacked, scored, stopped and resumed."""

import json
import pickle
import sys
from pathlib import Path

import pytest
from command_runs import mistake, table

import robustparse as rp
from robustparse import trust
from robustparse.api.victim_sources import NamedVictim
from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.evaluation.example_records import read_records
from sample_runs import sentences, write_sample
from tiny_models import save_classifier

MODULE = "somebody_elses"
CODE = '''
from pathlib import Path

import robustparse as rp
from robustparse.victims import BlackBox


class Parser(BlackBox):
    """A function that asks a checkpoint; it breaks once after N calls."""

    def __init__(self, path: str, breaks: bool = False, after: int = 4, skip: int = 0) -> None:
        super().__init__(training=rp.sample(split="train")[:300])
        self.path, self.breaks, self.calls, self.skip = path, breaks, after, skip
        self.model = rp.load(path)

    def answer(self, texts):
        self.calls -= 1
        if self.breaks and self.calls < 0 and not Path("broken").exists():
            Path("broken").touch()
            raise ConnectionError("no route to host")
        return self.model.predict(texts)[self.skip :]


class Unmade(BlackBox):
    """Its constructor does not call that of BlackBox."""

    def __init__(self) -> None:
        pass

    def answer(self, texts):
        return []
'''


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The victim's module, in the current folder."""
    (tmp_path / f"{MODULE}.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, MODULE, raising=False)


def arguments(made: Path, command: str, *more: object) -> list[str]:
    """Those of a command on the victim."""
    victim = ("--victim", f"{MODULE}.Parser", "--victim.path", made / "tiny.ckpt")
    recipe = ("--attack", made / "words.yaml") if command == "attack" else ()
    data = () if "--data" in more else ("--data", made / "test.conllu")
    given = (command, *recipe, *victim, *data, "--trust", MODULE, *more)
    return [str(part) for part in given]


def test_a_victim_without_the_constructor_of_its_base_is_refused() -> None:
    trust.trust([MODULE])
    with pytest.raises(InputError) as error:
        NamedVictim({"class_path": f"{MODULE}.Unmade"}).open("cpu")
    assert error.value.key == "victim"
    assert "Unmade" in error.value.found


def test_it_is_attacked_as_its_checkpoint(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments(made, "attack", "--out", "out", "--limit", "6"))
    printed = table(capsys.readouterr().out)
    data = ["--data", str(made / "test.conllu"), "--limit", "6", "--device", "cpu"]
    checkpoint = ["--checkpoint", str(made / "tiny.ckpt"), "--out", "own"]
    main(["attack", "--attack", str(made / "words.yaml"), *data, *checkpoint])
    found, own = (
        [{**line, "unseen": None} for line in read_records(Path(folder, "examples.jsonl"))]
        for folder in ("out", "own")
    )
    assert found == own
    assert printed["out"] == table(capsys.readouterr().out)["own"]
    run = json.loads(Path("out/run.json").read_text())
    assert run["victim"]["init_args"]["path"] == str(made / "tiny.ckpt")
    assert list(run["sha256"]["victim"]) == sorted([str(made / "tiny.ckpt"), MODULE])
    assert run["victims"] == ["Parser"]
    main(["report", "out", "own", "--out", "report.html"])
    # Other arguments are another victim.
    error = mistake(capsys, *arguments(made, "attack", "--out", "out", "--victim.after", 9))
    assert "holds another run" in error


def test_it_dies_midway_and_the_same_command_resumes(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dies = arguments(made, "attack", "--out", "out", "--attack.live", 2, "--victim.breaks", "true")
    dies += ["--victim.after", "16"]
    error = mistake(capsys, *dies)
    assert "Parser failed: ConnectionError: no route to host" in error
    assert "run again; an attack with a folder resumes there" in error
    finished = list(read_records(Path("out/examples.jsonl")))
    assert 0 < len(finished) < 12
    main(dies)
    main(arguments(made, "attack", "--out", "whole"))
    lines = list(read_records(Path("out/examples.jsonl")))
    assert lines == list(read_records(Path("whole/examples.jsonl")))
    assert all(line in lines for line in finished)


def test_another_process_can_be_given_it(made: Path) -> None:
    trust.trust([MODULE])
    settings = {"class_path": f"{MODULE}.Parser", "init_args": {"path": str(made / "tiny.ckpt")}}
    source = pickle.loads(pickle.dumps(NamedVictim(settings)))
    words = [["The", "cat", "sleeps"]]
    assert source.open("cpu").answer(words) == rp.load(made / "tiny.ckpt").predict(words)


def test_it_is_scored_as_its_checkpoint(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments(made, "evaluate", "--out", "scores"))
    printed = table(capsys.readouterr().out)["Parser"]
    data = ["--data", str(made / "test.conllu"), "--device", "cpu"]
    main(["evaluate", "--checkpoint", str(made / "tiny.ckpt"), *data])
    assert printed == table(capsys.readouterr().out)["tiny"]
    assert json.loads(Path("scores/scores.json").read_text())["checkpoints"] == ["Parser"]


def test_mistakes_are_named(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = arguments(made, "attack", "--out", "out")
    trusted = whole.index("--trust")
    assert f"--trust {MODULE}" in mistake(capsys, *whole[:trusted], *whole[trusted + 2 :])
    assert "exactly one" in mistake(capsys, *whole, "--checkpoint", made / "tiny.ckpt")
    victim = whole.index("--victim")
    assert "exactly one" in mistake(capsys, *whole[:victim], *whole[victim + 4 :])
    assert "--decoder" in mistake(capsys, *whole, "--decoder", "eisner")
    assert "--precision" in mistake(capsys, *whole, "--precision", "bf16-mixed")
    assert "no such checkpoint" in mistake(capsys, *whole, "--victim.path", "missing.ckpt")
    assert "nonsense" in mistake(capsys, *whole, "--victim.nonsense", "1")


def test_an_answer_too_few(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sample(tmp_path / "one.conllu", sentences(1, "test"))
    data = ("--data", tmp_path / "one.conllu")
    error = mistake(capsys, *arguments(made, "attack", *data, "--out", "out", "--victim.skip", 1))
    assert "Parser returned 0 answers for 1 texts; expected one answer per text" in error


def test_a_hugging_face_model_has_a_short_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_classifier(tmp_path / "model", labels=["cat", "dog"])
    Path("test.tsv").write_text("the cats saw the dog\tcat\nthe dog saw\tdog\nthe cat\tcat\n")
    data = ["--data", "test.tsv", "--device", "cpu"]
    Path("words.json").write_text(json.dumps({"cat": ["dog"], "cats": ["dog"], "dog": ["cat"]}))
    recipe = ["--attack", "pwws", "--attack.candidates", "Lexicon"]
    recipe += ["--attack.candidates.table", "words.json", "--attack.constraints", "[]"]
    lines = []
    for out, victim in (
        ("short", ["hf:model"]),
        ("full", ["robustparse.victims.HuggingFaceClassifier", "--victim.model", "model"]),
    ):
        main(["attack", "--victim", *victim, *recipe, *data, "--out", out])
        assert out in table(capsys.readouterr().out)
        lines.append(list(read_records(Path(out, "examples.jsonl"))))
    assert lines[0] == lines[1]
    main(["evaluate", "--victim", "hf:model", *data, "--out", "scores"])
    for folder in ("model", tmp_path / "model"):
        assert f"hf:{folder}" in mistake(capsys, "evaluate", "--victim", folder, *data)
    answers = Path("scores/predictions.tsv").read_text()
    main(["predict", "--victim", "hf:model", *data, "--out", "predicted.tsv"])
    assert Path("predicted.tsv").read_text() == answers
    main(["transfer", "short", "--victim", "hf:model", "--out", "transferred"])
    (rates,) = json.loads(Path("transferred/transfer.json").read_text())["rates"].values()
    own = 100 * sum(line["success"] and not line["skipped"] for line in lines[0]) / 3
    assert rates[0][0]["rate"]["estimate"] == pytest.approx(own)
    error = mistake(capsys, "transfer", "short")
    assert "--checkpoint" in error
