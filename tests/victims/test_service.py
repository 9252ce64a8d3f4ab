"""A service gives the outcomes of a function, whatever fails on the way, and within its limits."""

import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import robustparse as rp
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.beam import Greedy
from robustparse.data.sample.reviews import review_lexicon
from robustparse.errors import InputError
from robustparse.evaluation.records import read_records
from robustparse.types import Example
from robustparse.victims import Endpoint, FunctionVictim, Http, Service, dispatcher
from sample_texts import texts
from service_stub import Fault, Stub, completion, serving, texts_of

LABELS = ["negative", "positive"]
KEY = "sk-never-shown-1234"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses, a key, and no proxy for this machine."""
    monkeypatch.setattr(dispatcher, "FIRST_PAUSE", 0.002)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SERVICE_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def stub() -> Iterator[Stub]:
    """A server that answers prompts about reviews."""
    with serving(Stub(lambda body: completion(*reply(texts_of(body)), tokens=11))) as running:
        yield running


def share(text: str) -> float:
    """The probability that a text is positive: each word has a weight, by its digest."""
    weights = [hashlib.sha256(word.encode()).digest()[0] / 255 for word in text.split()]
    return round(sum(weights) / len(weights), 3)


def reply(text: str) -> tuple[str, dict[str, float]]:
    positive = share(text)
    top = {"negative": 1 - positive, "positive": positive}
    return max(top, key=lambda each: top[each]), top


def function(asked: list[list[str]]) -> list[Any]:
    """What the service answers, without it."""
    answers = []
    for words in asked:
        label, top = reply(" ".join(words))
        answers.append((label, [*top.values()]))
    return answers


def reviews(count: int) -> list[Example]:
    """Texts with the answers of the function as gold, so that none is skipped."""
    chosen = texts(count, "test")
    return [
        Example(each.id, each.sentence, reply(" ".join(each.sentence.words))[0]) for each in chosen
    ]


def greedy(budget: int = 12) -> Attack:
    return Attack(Lexicon(review_lexicon(0)), Greedy(), budget=budget, live=64)


def outcomes(victim: Any, count: int, attack: Attack | None = None) -> list[Any]:
    """Records of an attack; probabilities are rounded, since logarithms were taken."""
    results = rp.attack(victim, reviews(count), attack or greedy())
    lines = []
    for line in results.lines:
        for when in ("clean", "attacked"):
            shares = line[when].get("probabilities", {})
            shares.update({name: round(value, 2) for name, value in shares.items()})
        lines.append({**line, "unseen": None})
    return lines


def endpoint(stub: Stub, **settings: Any) -> Endpoint:
    return Endpoint(stub.url, "tiny", LABELS, **settings)


def faulty(share: float) -> Callable[[Any, int], Fault]:
    """A fifth of the requests fail, once or twice, each in its way."""

    def fault(body: Any, before: int) -> Fault:
        drawn = random.Random(f"{body}{before}")
        kinds = ["429", "500", "503", "cut", "nonsense", "slow"]
        return drawn.choice(kinds) if drawn.random() < share and before < 3 else None

    return fault


def mixed_up(body: Any) -> float:
    return random.Random(str(body)).random() * 0.004


def test_faults_change_no_outcome(stub: Stub) -> None:
    stub.fault, stub.delay = faulty(0.2), mixed_up
    victim = endpoint(stub, max_concurrent=8)
    found = outcomes(victim, 100)
    assert found == outcomes(FunctionVictim(function, "classification", labels=LABELS), 100)
    assert any(line["success"] for line in found)
    assert set(stub.faults) == {"429", "500", "503", "cut", "nonsense", "slow"}
    assert 4 < stub.most_at_once <= 8
    counts = victim.counts()
    failures = stub.faults.total() - stub.faults["slow"]
    assert counts["requests"] == stub.requests
    assert counts["repeated"] == failures
    assert stub.requests == len(stub.seen) + failures


def test_each_text_that_is_charged_is_asked_once(stub: Stub, tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(batch: list[list[str]]) -> list[Any]:
        asked.extend(" ".join(words) for words in batch)
        return function(batch)

    outcomes(FunctionVictim(counting, "classification", labels=LABELS), 30)
    cache = str(tmp_path / "answers.sqlite")
    outcomes(endpoint(stub, cache=cache), 30)
    assert {texts_of_key(key) for key in stub.seen} == set(asked)
    assert set(stub.seen.values()) == {1}
    assert stub.requests < len(asked)  # the closing prediction repeats a query
    again = endpoint(stub, cache=cache)
    outcomes(again, 30)
    assert again.counts()["requests"] == 0
    assert again.counts()["from_cache"] >= stub.requests
    assert set(stub.seen.values()) == {1}


def texts_of_key(key: str) -> str:
    import json

    return texts_of(json.loads(key))
