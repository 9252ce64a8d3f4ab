"""The cache asks for misses only, survives restarts, and tells settings apart."""

import json
import os
import sqlite3
from contextlib import closing
from zlib import crc32

import pytest
from attack_fakes import example

from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import InputError


class Echo(CandidateGenerator):
    """Spells out what it was asked; keeps the slots."""

    is_model = True

    def __init__(self, settings: str = "a", draws: bool = False) -> None:
        self.settings = settings
        self.draws = draws
        self.asked: list[Slot] = []

    def propose(self, slots, seed):
        self.asked += slots
        return [
            [f"{slot.word}{slot.position}", self.settings, f"s{seed}" if self.draws else "s"]
            for slot in slots
        ]

    def fingerprint(self) -> str:
        return self.settings


class Plain(CandidateGenerator):
    """Defines no more than it must."""

    def propose(self, slots, seed):
        return [[f"{slot.word}{seed}"] for slot in slots]


ONE = example("a b a", "NN VB NN").sentence
SLOTS = [Slot(7, ONE, 0), Slot(7, ONE, 1), Slot(7, ONE, 2)]


def test_only_misses_are_asked(tmp_path) -> None:
    path = str(tmp_path / "deep" / "cache.sqlite")
    first = Echo()
    answers = CachedCandidates(first, path).propose(SLOTS[:2], seed=0)
    assert first.asked == SLOTS[:2]
    second = Echo()
    again = CachedCandidates(second, path).propose([SLOTS[1], SLOTS[2], SLOTS[0], SLOTS[1]], seed=5)
    assert second.asked == [SLOTS[2]]
    assert again[0] == again[3] == answers[1]
    assert again[2] == answers[0]
    assert again == Echo().propose([SLOTS[1], SLOTS[2], SLOTS[0], SLOTS[1]], seed=5)


@pytest.mark.parametrize(
    ("other", "slot", "seed", "hit"),
    [
        (Echo(), Slot(8, ONE, 0), 0, True),
        (Echo(), Slot(7, ONE, 0), 1, True),
        (Echo("b"), Slot(7, ONE, 0), 0, False),
        (Echo(), Slot(7, example("a b c", "NN VB NN").sentence, 0), 0, False),
        (Echo(), Slot(7, example("a b a", "VB VB NN").sentence, 0), 0, False),
        (Echo(draws=True), Slot(7, ONE, 0), 0, False),
    ],
)
def test_the_key(tmp_path, other: Echo, slot: Slot, seed: int, hit: bool) -> None:
    path = str(tmp_path / "cache.sqlite")
    CachedCandidates(Echo(), path).propose(SLOTS[:1], seed=0)
    other.asked.clear()
    CachedCandidates(other, path).propose([slot], seed=seed)
    assert (not other.asked) == hit


def test_drawn_candidates_are_kept_by_seed_and_sentence(tmp_path) -> None:
    generator = Echo(draws=True)
    cached = CachedCandidates(generator, str(tmp_path / "cache.sqlite"))
    for slot, seed in ((SLOTS[0], 0), (SLOTS[0], 1), (Slot(8, ONE, 0), 0), (SLOTS[0], 0)):
        assert cached.propose([slot], seed) == [["a0", "a", f"s{seed}"]]
    assert len(generator.asked) == 3


def test_a_run_killed_while_writing_loses_that_batch_only(tmp_path) -> None:
    path = tmp_path / "cache.sqlite"
    CachedCandidates(Echo(), str(path)).propose(SLOTS[:1], seed=0)
    killed = os.fork()
    if killed == 0:
        database = sqlite3.connect(path)
        database.execute("INSERT INTO candidates VALUES (?, ?)", (b"x" * 32, json.dumps(["torn"])))
        os._exit(0)
    os.waitpid(killed, 0)
    generator = Echo()
    cached = CachedCandidates(generator, str(path))
    assert cached.propose(SLOTS, seed=0) == Echo().propose(SLOTS, seed=0)
    assert generator.asked == SLOTS[1:]


def test_a_generator_without_a_fingerprint_is_not_cached(tmp_path) -> None:
    cached = CachedCandidates(Plain(), str(tmp_path / "cache.sqlite"))
    assert cached.draws  # unless it says otherwise
    with pytest.raises(InputError, match="Plain cannot be cached") as error:
        cached.propose(SLOTS, seed=0)
    assert error.value.remedy.startswith("define fingerprint()")


def test_what_cannot_be_a_cache(tmp_path) -> None:
    (tmp_path / "text").write_text("not a database, and long enough to be read as a header" * 10)
    for path in (tmp_path / "text", tmp_path / "text" / "below"):
        with pytest.raises(InputError, match="give a path in a writable folder") as error:
            CachedCandidates(Echo(), str(path)).propose(SLOTS, seed=0)
        assert error.value.path == str(path)


def test_nothing_asked_touches_no_file(tmp_path) -> None:
    path = tmp_path / "cache.sqlite"
    assert CachedCandidates(Echo(), str(path)).propose([], seed=0) == []
    assert not path.exists()


@pytest.mark.parametrize(
    "row",
    [
        *('[""]', '["two words"]', '["a\\tb"]', '["a\\n"]', '["\\ud800"]', "[3]"),
        *('{"a": 1}', "null", "", '["a"', '["a0", "a", "s"] 00000000', b"\xff", 3),
    ],
)
@pytest.mark.parametrize("signed", [True, False])
def test_a_row_that_holds_no_candidates_is_named(tmp_path, row: object, signed: bool) -> None:
    if signed and isinstance(row, str):
        row = f"{row} {crc32(row.encode()):08x}"
    path = tmp_path / "cache.sqlite"
    cached = CachedCandidates(Echo(), str(path))
    cached.propose(SLOTS[:1], seed=0)
    with closing(sqlite3.connect(path)) as database, database:
        ((key,),) = database.execute("SELECT key FROM candidates")
        database.execute("UPDATE candidates SET words = ?", (row,))
    with pytest.raises(InputError) as error:
        cached.propose(SLOTS[:1], seed=0)
    assert (error.value.path, error.value.key) == (str(path), f"key X'{key.hex()}'")


def test_a_row_without_its_checksum_is_damaged(tmp_path) -> None:
    path = tmp_path / "cache.sqlite"
    cached = CachedCandidates(Echo(), str(path))
    cached.propose(SLOTS[:1], seed=0)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE candidates SET words = ?", ('["x", "y"]',))
    with pytest.raises(InputError, match="damaged"):
        cached.propose(SLOTS[:1], seed=0)
