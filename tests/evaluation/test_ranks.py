"""Ranks that share a store and a folder write the files of one process, each rank its share."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attack_folders import FILES, RUN, attack, contents, some
from torch.distributed import HashStore

from robustparse.evaluation import ranks as module
from robustparse.evaluation.attack_folder import collect_into
from robustparse.evaluation.lines import part_file, read_lines
from robustparse.evaluation.ranks import Rank, Ranks
from robustparse.evaluation.shards import Lines, attacked_lines
from robustparse.models.victim import ModelVictim
from robustparse.types import Example
from sample_runs import lexicon_attack, trained_parser

COUNT = 3


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    attack(folder, some(12))
    return folder


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], tuple[list[int], int]]:
    """Run all ranks in threads on a folder; sentences attacked by each, forwards of all."""

    def source(attacked: list[int]) -> Callable[[Sequence[Example]], Lines]:
        def lines(examples: Sequence[Example]) -> Lines:
            attacked.extend(example.id for example in examples)
            chosen = lexicon_attack({"psi": 8}, seed=3, live=4)
            speed = yield from attacked_lines(chosen, ModelVictim([trained_parser()]), examples)
            forwards.append(speed.forwards)
            return speed

        return lines

    forwards: list[int] = []

    def run(folder: Path) -> tuple[list[int], int]:
        store = HashStore()
        monkeypatch.setattr(module, "rendezvous", lambda *_, **__: iter([(store, 0, 1)]))
        mine: list[list[int]] = [[] for _ in range(COUNT)]
        ranks = [Ranks(Rank(rank, COUNT, rank, COUNT), folder) for rank in range(COUNT)]
        threads = [
            threading.Thread(
                target=ranks[rank].follow, args=(source(mine[rank]), some(12)), daemon=True
            )
            for rank in range(1, COUNT)
        ]
        for thread in threads:
            thread.start()

        def collect(lines: Callable[[Sequence[Example]], Lines]) -> dict[str, Any]:
            return collect_into(folder, lines, some(12), dict(RUN))

        ranks[0].lead(source(mine[0]), collect)
        for thread in threads:
            thread.join()
        return [len(ids) for ids in mine], sum(forwards)

    return run


def test_ranks_write_the_files_of_one_process(tmp_path, whole, together):
    shares, forwards = together(tmp_path)
    assert shares == [4, 4, 4]
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(contents(tmp_path)) == sorted(contents(whole))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["victim_forwards"] == forwards > 0
    assert together(tmp_path)[0] == [0, 0, 0]  # nothing is left, and nobody waits for ever


def test_ranks_go_on_where_others_stopped(tmp_path, whole, together):
    rows = (whole / "examples.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.json").write_bytes((whole / "run.json").read_bytes())
    (tmp_path / "examples.jsonl").write_bytes(b"".join(rows[:5]))
    (tmp_path / "examples.4.jsonl").write_bytes(b"".join([rows[7], rows[8], rows[9][:9]]))
    assert sum(together(tmp_path)[0]) == 5
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_ranks_started_again_do_not_hear_those_before_them(tmp_path, monkeypatch):
    """torchrun keeps its store over restarts: a stale list of sentences would lose some."""
    store = HashStore()
    monkeypatch.setattr(module, "rendezvous", lambda *_, **__: iter([(store, 1, 2)]))
    told = (module._PENDING, f"{module._SPEED}/1")
    for attempt in ("0", "1"):
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", attempt)
        rank = Ranks(Rank(1, 2, 1, 2), tmp_path)
        assert not any(rank._store.check([key]) for key in told)
        rank._announce([])
        rank.follow(lambda mine: iter(()), some(2))
        assert all(rank._store.check([key]) for key in told)


def test_a_rank_ends_when_its_launcher_has_died_and_keeps_what_is_finished(tmp_path, monkeypatch):
    store = HashStore()
    monkeypatch.setattr(module, "rendezvous", lambda *_, **__: iter([(store, 1, 2)]))
    rank, examples = Ranks(Rank(1, 2, 1, 2), tmp_path), some(12)
    rank._announce(examples)
    monkeypatch.setattr(module.os, "getppid", lambda: 1)

    def source(mine: Sequence[Example]) -> Lines:
        return attacked_lines(lexicon_attack({"psi": 8}), ModelVictim([trained_parser()]), mine)

    with pytest.raises(RuntimeError, match="rank 1: the launcher has ended"):
        rank.follow(source, examples)
    assert len(read_lines(part_file(tmp_path, 1))) == 1
