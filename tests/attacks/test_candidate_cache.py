"""The cache asks for misses only, survives restarts, and tells settings apart."""

import json
import os
import sqlite3
import sys

import pytest
from attack_fakes import example

from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import InputError


class Echo(CandidateGenerator):
    """Spells out what it was asked; keeps the slots."""

    def __init__(self, settings: str = "a", draws: bool = False) -> None:
        self.settings = settings
        self.random = draws
        self.asked: list[Slot] = []

    def propose(self, slots, seed):
        self.asked += slots
        return [
            [f"{slot.word}{slot.position}", self.settings, f"{seed}" * self.random]
            for slot in slots
        ]

    def fingerprint(self) -> str:
        return self.settings

    def draws(self) -> bool:
        return self.random

    def is_model(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["propose", "fingerprint", "draws", "is_model"])
def test_a_generator_must_say_by_what_a_cache_knows_it(name: str) -> None:
    kept = {key: value for key, value in vars(Echo).items() if not key.startswith("__")}
    del kept[name]
    half = type("Half", (CandidateGenerator,), kept)
    with pytest.raises(TypeError, match=f"abstract method '?{name}"):
        half()


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
        assert cached.propose([slot], seed) == [["a0", "a", str(seed)]]
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


def test_what_cannot_be_a_cache(tmp_path) -> None:
    (tmp_path / "text").write_text("not a database, and long enough to be read as a header" * 10)
    with pytest.raises(InputError, match=r"candidate cache .*text: cannot be read or written"):
        CachedCandidates(Echo(), str(tmp_path / "text")).propose(SLOTS, seed=0)
    with pytest.raises(InputError, match="give a path in a writable folder"):
        CachedCandidates(Echo(), str(tmp_path / "text" / "below")).propose(SLOTS, seed=0)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_writable(tmp_path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="writable folder"):
        CachedCandidates(Echo(), str(tmp_path / "cache.sqlite")).propose(SLOTS, seed=0)


def test_nothing_asked_touches_no_file(tmp_path) -> None:
    path = tmp_path / "cache.sqlite"
    assert CachedCandidates(Echo(), str(path)).propose([], seed=0) == []
    assert not path.exists()
