"""The same files however often a run was stopped; folders that are not this run's are refused."""

import json
import multiprocessing
import os
from typing import Any

import numpy as np
import pytest
from attack_folders import FILES, RUN, TASK, attack, contents, some

from example_records import record
from robustparse.data.conllu import read_treebank
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.record_files import encode_record
from robustparse.models.victim import ModelVictim
from sample_runs import SPEED, lexicon_attack, trained_parser


class Stopping:
    """Counts finished sentences and kills the run after some of them."""

    def __init__(self, stop: int) -> None:
        self.stop, self.calls = stop, 0

    def __call__(self, tally: AttackSums) -> None:
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt if self.stop % 2 else RuntimeError("killed")


def test_a_run_stopped_anywhere_and_run_again_writes_the_same_files(tmp_path, whole):
    for stop in range(1, 13):
        folder, stopping = tmp_path / str(stop), Stopping(stop)
        with pytest.raises((KeyboardInterrupt, RuntimeError)):
            attack(folder, some(12), stopping)
        assert len(list(read_records(folder / "examples.jsonl"))) == stop
        assert not (folder / "summary.json").exists()
        attack(folder, some(12), stopping)
        assert stopping.calls == 12  # no sentence is attacked twice
        for name in FILES:
            assert (folder / name).read_bytes() == (whole / name).read_bytes()
        ours, theirs = (json.loads((f / "summary.json").read_text()) for f in (folder, whole))
        for key in set(ours) - SPEED:
            assert ours[key] == theirs[key]


def test_a_killed_process_leaves_every_finished_sentence(tmp_path, whole):
    calls: list[int] = []

    def die(tally: AttackSums) -> None:
        calls.append(1)
        if len(calls) == 5:
            os._exit(9)  # nothing is closed or flushed

    process = multiprocessing.get_context("fork").Process(
        target=attack, args=(tmp_path, some(12), die)
    )
    process.start()
    process.join()
    assert process.exitcode == 9
    assert len(list(read_records(tmp_path / "examples.jsonl"))) == 5
    attack(tmp_path, some(12))
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_stopped_again_and_again(tmp_path, whole):
    def stop(tally: AttackSums) -> None:
        raise KeyboardInterrupt

    for _ in range(12):
        with pytest.raises(KeyboardInterrupt):
            attack(tmp_path, some(12), stop)
    attack(tmp_path, some(12), stop)  # nothing is left to be attacked
    assert (tmp_path / "examples.jsonl").read_bytes() == (whole / "examples.jsonl").read_bytes()


def test_a_last_line_torn_at_any_byte_is_attacked_again(tmp_path, whole):
    text = (whole / "examples.jsonl").read_bytes()
    line = text.split(b"\n")[1]
    zurich = text.index("ü".encode())
    cuts = [0, 1, 40, zurich + 1, zurich + 2, text.index(line) + len(line) - 1, len(text) - 1]
    cuts += np.random.default_rng(0).integers(0, len(text), 4).tolist()
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(RUN))
        (folder / "examples.jsonl").write_bytes(text[:cut])
        attack(folder, some(12))
        for name in FILES:
            assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_zeros_after_a_power_cut_are_a_torn_line_too(tmp_path):
    path = tmp_path / "examples.jsonl"
    path.write_bytes(encode_record(record(1)) + b"\0\0\0\0")
    assert list(read_records(path)) == [record(1)]


def test_a_run_killed_before_its_summary_reports_no_speed(tmp_path, whole):
    for name in ("run.json", "examples.jsonl"):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    summary = attack(tmp_path, some(12))
    assert {summary[key] for key in SPEED} == {None}
    assert summary["clean"] == json.loads((whole / "summary.json").read_text())["clean"]


def test_a_finished_folder_is_not_attacked_again(tmp_path, whole):
    before = contents(whole)
    times = {path: path.stat().st_mtime_ns for path in whole.iterdir()}

    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"the victim was asked for {name}")

    summary = attack_into(whole, TASK, lexicon_attack(), some(12), Untouchable(), dict(RUN))
    assert contents(whole) == before
    assert {path: path.stat().st_mtime_ns for path in whole.iterdir()} == times
    assert summary == json.loads(before["summary.json"])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", 4, "seed: 3 there, 4 here"),
        ("limit", 7, "limit: None there, 7 here"),
        ("data", "other", "data: None there, 'other' here"),
        ("settings", {"goal": {"metric": "las"}}, "settings.goal.metric: None there, 'las' here"),
    ],
)
def test_the_folder_of_another_run_is_refused_and_not_changed(whole, key, value, message):
    before = contents(whole)
    with pytest.raises(InputError, match=f"holds another run .{message}.*--out") as error:
        attack_into(
            whole,
            TASK,
            lexicon_attack(),
            some(12),
            ModelVictim([trained_parser()]),
            {**RUN, key: value},
        )
    assert error.value.path == str(whole)
    assert contents(whole) == before


def test_a_folder_in_which_nothing_was_finished_is_free(tmp_path, whole):
    (tmp_path / "run.json").write_text('{"attack": "with a model that was not there"}')
    (tmp_path / "examples.jsonl").touch()
    attack(tmp_path, some(12))
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("run.json", None, None, "no run.json"),
        ("run.json", "{", 1, "not JSON"),
        ("run.json", "[1]", None, "Expected `object`"),
        ("run.json", '{"victims": 3}', None, "victims"),
        ("examples.jsonl", '{"id": \n{"id": 2}\n', 1, "not JSON"),
        ("examples.jsonl", '{"id": "x"}\n', 1, "id"),
        ("examples.jsonl", "{}\n", 1, "missing required field"),
        ("examples.jsonl", "3\n", 1, "Expected `object`"),
    ],
)
def test_broken_files_are_named(tmp_path, whole, name, content, line, message):
    for file, text in contents(whole).items():
        (tmp_path / file).write_bytes(text)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as error:
        attack(tmp_path, some(12))
    named = tmp_path if content is None else tmp_path / name
    assert (error.value.path, error.value.line) == (str(named), line)


def damaged(content: bytes, seed: int) -> bytes:
    """A byte of it is another one, but for that of a line's end."""
    rng = np.random.default_rng(seed)
    at = int(rng.integers(len(content) - 1))
    new = (content[at] + int(rng.integers(1, 256))) % 256
    return content[:at] + bytes([new]) + content[at + 1 :]


@pytest.mark.parametrize("name", ["examples.jsonl", "run.json"])
def test_a_damaged_byte_is_found(tmp_path, whole, name):
    """Or changes no score; a letter of a word or a count of queries may be another one."""
    files, found = contents(whole), 0
    kept = json.loads(files.pop("summary.json"))
    for seed in range(40):
        for file, text in files.items():
            (tmp_path / file).write_bytes(damaged(text, seed) if file == name else text)
        (tmp_path / "summary.json").unlink(missing_ok=True)
        try:
            summary = attack(tmp_path, some(12))
        except InputError:
            found += 1
        else:
            lines = (tmp_path / "examples.jsonl").read_bytes().splitlines()
            said = [tuple(json.loads(line)["adversarial_tokens"]) for line in lines]
            written = read_treebank(str(tmp_path / "adversarial.conllu"))
            assert [one.sentence.words for one in written] == said, seed
            for key in ("clean", "attacked", "success_rate", "edit_rate", "by_tag"):
                assert summary[key] == kept[key], seed
    assert found > 30


WORDS = "adversarial_tokens"
DAMAGES = [
    ({"id": 40}, "no sentence 40"),
    ({"id": 1}, "repeats the sentence 1 of line 1"),
    ({"tokens": ["a"]}, "expected 1 heads"),
    ({WORDS: ["a"]}, "shorter"),
    ({WORDS: [""] * 9}, "longer"),
    ({WORDS: 3}, WORDS),
    ({"edited": [0, 1, 2, 3]}, "edited"),
    ({"gold": {"heads": [0], "labels": ["root"]}}, "gold"),
    ({"attacked": {"heads": [0], "labels": ["root"]}}, "heads"),
    ({"clean": None}, "clean"),
    ({"counted": 0}, "counted"),
    ({"success": "yes"}, "success"),
    ({"queries": {"charged": -1, "unique": 1}}, "queries.charged"),
    ({"queries": {"charged": 1}}, "unique"),
    ({"edited_tags": ["NN"] * 9}, "edited_tags"),
    ({"candidates": {"slots": "many", "sums": {}}}, "candidates.slots"),
]


@pytest.mark.parametrize(("change", "says"), DAMAGES)
def test_a_line_of_another_sentence_is_refused(tmp_path, whole, change, says):
    for file, text in contents(whole).items():
        (tmp_path / file).write_bytes(text)
    first, second, *others = list(read_records(whole / "examples.jsonl"))
    rows = [{**first, "id": 0}, {**second, **change}, *others]
    if change == {"id": 1}:
        rows = [second, second]
    (tmp_path / "examples.jsonl").write_bytes(b"".join(map(encode_record, rows)))
    with pytest.raises(InputError, match=says) as error:
        attack(tmp_path, some(12))
    assert (error.value.path, error.value.line) == (str(tmp_path / "examples.jsonl"), 2)


def test_a_summary_with_a_value_of_another_type_is_refused(tmp_path, whole):
    for file, text in contents(whole).items():
        (tmp_path / file).write_bytes(text)
    path = tmp_path / "summary.json"
    summary = json.loads(path.read_text())
    for key in ("n_words", "attacked", "by_tag", "attack"):
        path.write_text(json.dumps({**summary, key: 3.5}))
        with pytest.raises(InputError) as error:
            attack(tmp_path, some(12))
        assert (error.value.path, error.value.key) == (str(path), key)
    path.unlink()
    assert attack(tmp_path, some(12))["attacked"] == summary["attacked"]


@pytest.mark.parametrize("kept", [None, 0, 1])
def test_lines_that_are_lost_during_an_attack_end_it(tmp_path, whole, kept):
    """The file is deleted or cut off; the lines after are kept, and the run can be resumed."""
    path = tmp_path / "examples.jsonl"

    def lose(tally: AttackSums) -> None:
        if tally.sums["sentences"] == 6:
            rows = path.read_bytes().splitlines(keepends=True)
            path.unlink() if kept is None else os.truncate(path, len(b"".join(rows[:kept])))

    with pytest.raises(InputError, match=r"lacks [1-6] of 12 sentences") as error:
        attack(tmp_path, some(12), lose)
    assert error.value.path == str(path)
    assert not (tmp_path / "summary.json").exists()
    assert 6 <= len(list(read_records(path))) < 12
    attack(tmp_path, some(12))
    assert contents(tmp_path)["examples.jsonl"] == contents(whole)["examples.jsonl"]
