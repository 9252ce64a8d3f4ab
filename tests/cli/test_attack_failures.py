"""Parts of an attack that die on the way: they are named, and the attack can resume."""

import json
import sys
import threading
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from command_runs import RECIPE, ROOM, attack_by, constrained, mistake

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints import grammar as grammar_module
from robustparse.cli.main import main
from robustparse.evaluation.example_records import read_records

CHECKER = """\
#!{python}
import sys, time, zlib
from pathlib import Path
left, where = 40, Path({marker!r})
for line in sys.stdin:
    left -= 1
    if left == 0 and not where.exists():
        where.touch()
        {end}
    errors = zlib.crc32(line.encode()) % 2
    print('No complete linkages found.' if errors else 'vector = (UNUSED=0 )', flush=True)
"""


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("sys.exit(3)", "ended with code 3"),
        ("time.sleep(600)", "no answer within 60.0 s"),
    ],
)
def test_a_checker_that_dies_or_hangs_midway(made, tmp_path, capsys, monkeypatch, end, says):
    marker = tmp_path / "dead"

    class Impatient(threading.Thread):
        """Its time is up once the checker hangs, and not before."""

        def join(self, timeout: float | None = None) -> None:
            while self.is_alive() and not marker.exists():
                super().join(0.02)

    def recipe() -> str:
        program = tmp_path / "checker"
        program.write_text(CHECKER.format(python=sys.executable, marker=str(marker), end=end))
        program.chmod(0o755)
        grammar = {"class_path": f"{ROOM}.LinkGrammar"}
        grammar["init_args"] = {"command": str(program)}
        return constrained("GrammarErrors", json.dumps({"checker": grammar})) + "live: 2\n"

    fails = attack_by(made, tmp_path, recipe(), "--trust", "commands")
    with monkeypatch.context() as patch:
        if "sleep" in end:
            patch.setattr(grammar_module, "threading", SimpleNamespace(Thread=Impatient))
        error = mistake(capsys, *fails)
    assert says in error
    assert "run again" in error
    finished = list(read_records(tmp_path / "out" / "examples.jsonl"))
    assert 0 < len(finished) < 12
    assert not (tmp_path / "out" / "summary.json").exists()
    main(fails)  # the checker is well again
    whole = tmp_path / "whole"
    whole.mkdir()
    main(attack_by(made, whole, recipe(), "--trust", "commands"))
    for name in ("examples.jsonl", "adversarial.conllu"):
        assert (tmp_path / "out" / name).read_bytes() == (whole / "out" / name).read_bytes()


def test_a_candidate_model_that_fails_is_named_and_the_outcome_kept(made, tmp_path, monkeypatch):
    from robustparse.attacks.candidates.training_words import TrainingWords

    calls: list[int] = []
    propose = TrainingWords.propose

    def failing(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        calls.append(len(slots))
        if len(calls) == 4:
            raise MemoryError("out of memory")
        return propose(self, slots, seed)

    recipe = attack_by(made, tmp_path, RECIPE + "live: 2\n")
    with monkeypatch.context() as patch:
        patch.setattr(TrainingWords, "propose", failing)
        with pytest.raises(RuntimeError, match=r"TrainingWords failed \(MemoryError: out"):
            main(recipe)
    finished = list(read_records(tmp_path / "out" / "examples.jsonl"))
    assert 0 < len(finished) < 12
    main(recipe)
    assert len(list(read_records(tmp_path / "out" / "examples.jsonl"))) == 12
