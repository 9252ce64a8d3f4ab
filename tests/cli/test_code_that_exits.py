"""Code of the user that ends the program is a failure: exit status 2, and a message names it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_runs import mistake

from robustparse.evaluation.example_records import read_records

MODULE = """
import sys
from robustparse.attacks import CandidateGenerator
from robustparse.victims import BlackBox

{import_}

class Victim(BlackBox):
    def __init__(self):
        super().__init__("classification", labels=["pos", "neg"], batch_texts=2)
        {init}

    def answer(self, texts):
        if "last" in [word for words in texts for word in words]:
            {answer}
        return ["pos" for _ in texts]

class Nothing(CandidateGenerator):
    def propose(self, slots, seed):
        {propose}
        return [[] for _ in slots]
"""
VICTIM = ["--trust", "leaving", "--victim", "leaving.Victim", "--data", "texts.tsv"]
ATTACK = ["attack", *VICTIM, "--out", "out", "--attack", "words.yaml"]
RECIPE = """
candidates: {class_path: leaving.Nothing}
search: {class_path: robustparse.attacks.PWWS}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("words.yaml").write_text(RECIPE)
    texts = [f"text number {number}" for number in range(6)]
    Path("texts.tsv").write_text("".join(f"{text}\tpos\n" for text in [*texts, "the last one now"]))
    yield
    sys.modules.pop("leaving", None)


def exiting(where: str, how: str) -> None:
    """Write a module that ends the program in one of its places."""
    code = dict.fromkeys(["import_", "init", "answer", "propose"], "pass") | {where: how}
    Path("leaving.py").write_text(MODULE.format(**code))


@pytest.mark.parametrize("where", ["import_", "init", "answer", "propose"])
@pytest.mark.parametrize("how", ["sys.exit()", "sys.exit(0)", "sys.exit(1)", "quit()"])
def test_an_exit_is_not_taken_for_success(where, how, capsys):
    exiting(where, how)
    commands = [ATTACK] if where == "propose" else [["evaluate", *VICTIM], ATTACK]
    for command in commands:
        message = mistake(capsys, *command)
        assert "leaving" in message or "Victim" in message
        sys.modules.pop("leaving", None)


def test_what_was_finished_is_kept_and_the_attack_resumes(capsys):
    exiting("answer", "sys.exit(0)")
    assert "Victim" in mistake(capsys, *ATTACK)
    finished = [line["id"] for line in read_records(Path("out", "examples.jsonl"))]
    assert 3 <= len(finished) < 7
