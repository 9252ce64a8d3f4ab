"""Shares of the sentences attacked apart, and put together, are the attack on all of them."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from attack_folders import FILES, RUN, TASK, attack, contents, some

from example_records import record
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import collect_into
from robustparse.evaluation.attack_processes import (
    Records,
    Speed,
    attacked_records,
    drain,
    share_of,
)
from robustparse.evaluation.example_records import all_records, share_file
from robustparse.models.victim import ModelVictim
from robustparse.types import Example
from sample_runs import SPEED, lexicon_attack, trained_parser


@pytest.mark.parametrize("count", [1, 2, 3, 7, 12, 20])
def test_every_sentence_goes_to_one_process_and_lengths_are_balanced(count):
    examples = some(40)
    shares = [share_of(examples, rank, count) for rank in range(count)]
    ids = [example.id for share in shares for example in share]
    assert sorted(ids) == [example.id for example in examples]
    words = [sum(len(example.sentence) for example in share) for share in shares]
    assert max(words) - min(words) <= max(len(example.sentence) for example in examples)
    assert [share_of(examples[::-1], rank, count) for rank in range(count)] == shares


def own_lines(examples: Sequence[Example], **settings: Any) -> Records:
    chosen = lexicon_attack({"psi": 8}, seed=3, **{"live": 4, **settings})
    return attacked_records(TASK, chosen, ModelVictim([trained_parser()]), examples)


@pytest.mark.parametrize("count", [2, 12])
def test_shards_together_write_the_files_of_one_process(tmp_path, whole, count):
    def source(pending: Sequence[Example]) -> Records:
        speeds = []
        for rank in reversed(range(count)):
            speeds.append((yield from own_lines(share_of(pending, rank, count))))
        return Speed.together(speeds)

    summary = collect_into(tmp_path, TASK, lexicon_attack(), source, some(12), dict(RUN))
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()
    expected = json.loads((whole / "summary.json").read_text())
    for key in set(summary) - SPEED:
        assert summary[key] == expected[key]


def test_lines_that_ranks_left_are_taken_in(tmp_path, whole):
    """As a kill of several ranks leaves them: torn, some of them twice, one file without a line."""
    rows = (whole / "examples.jsonl").read_bytes().splitlines(keepends=True)
    for name in ("run.json",):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    (tmp_path / "examples.jsonl").write_bytes(b"".join([rows[3], rows[0], rows[5][:40]]))
    share_file(tmp_path, 1).write_bytes(b"".join([rows[7], rows[0], rows[9][:-1]]))
    share_file(tmp_path, 2).write_bytes(rows[2][:30])
    share_file(tmp_path, 11).write_bytes(b"")
    assert sorted(stored.record["id"] for stored in all_records(tmp_path)) == [0, 3, 7, 9]
    attacked: list[int] = []
    attack(tmp_path, some(12), lambda tally: attacked.append(tally.sums["sentences"]))
    assert attacked == list(range(5, 13))
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(contents(tmp_path)) == sorted(contents(whole))


def test_parts_of_another_run_are_refused(tmp_path, whole):
    share_file(tmp_path, 3).write_bytes((whole / "examples.jsonl").read_bytes())
    (tmp_path / "run.json").write_text(json.dumps({**RUN, "seed": 4}))
    before = contents(tmp_path)
    with pytest.raises(InputError, match="seed: 4 there, 3 here") as error:
        attack(tmp_path, some(12))
    assert error.value.path == str(tmp_path)
    assert contents(tmp_path) == before


def test_what_several_processes_took():
    one = Speed(3, 30, 2.0, 2.0, 0.5, {"MaskedLM": 1.0})
    two = Speed(5, 10, 4.0, 4.0, 1.0, {"TaggerTag": 0.5, "MaskedLM": 0.5})
    both = Speed.together([one, two])
    assert both == Speed(8, 40, 4.0, 6.0, 1.5, {"MaskedLM": 1.5, "TaggerTag": 0.5})
    assert both.summary(6) == {
        "victim_forwards": 8,
        "victim_texts": 40,
        "texts_per_forward": 5.0,
        "seconds": 4.0,
        "other_model_seconds": {"MaskedLM": 1.5, "TaggerTag": 0.5},
        "sentences_per_second": 1.5,
        "victim_share_of_seconds": 1.5 / (6.0 - 2.0),
    }
    assert set(Speed.together([]).summary(0).values()) == {None}


def test_draining_hands_on_and_closes():
    closed: list[str] = []

    def lines() -> Records:
        try:
            yield record(1)
            yield record(2)
            return Speed(forwards=7)
        finally:
            closed.append("closed")

    taken: list[dict[str, Any]] = []
    assert drain(lines(), taken.append) == Speed(forwards=7)
    assert taken == [record(1), record(2)]

    def stop(line: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drain(lines(), stop)
    assert closed == ["closed", "closed"]
