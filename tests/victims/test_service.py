"""A service gives the outcomes of a function, whatever fails on the way, and within its limits."""

import hashlib
import json
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import robustparse as rp
from forks import Forked
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.beam import Greedy
from robustparse.data.sample.reviews import review_lexicon
from robustparse.errors import InputError
from robustparse.evaluation.example_records import read_records
from robustparse.types import Example, LogicalForm, Sentence
from robustparse.victims import Endpoint, FunctionVictim, retries
from sample_texts import texts
from service_stub import Fault, Stub, completion, serving, texts_of

pytestmark = pytest.mark.skipif(not find_spec("openai"), reason="needs openai")

LABELS = ["negative", "positive"]
KEY = "sk-never-shown-1234"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses, a key, and no proxy for this machine."""
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.002)
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


def greedy(live: int = 64) -> Attack:
    return Attack(Lexicon(review_lexicon(0)), Greedy(), budget=12, live=live)


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
    return Endpoint(stub.url, "tiny", LABELS, **{"scores": "probabilities", **settings})


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
    return texts_of(json.loads(key))


@pytest.mark.parametrize("share_of_faults", [0.0, 0.4])
def test_a_budget_ends_a_run_that_the_same_call_resumes(
    stub: Stub, tmp_path: Path, share_of_faults: float
) -> None:
    stub.fault = faulty(share_of_faults)
    examples, spent = reviews(20), 0
    for runs in range(1, 40):  # noqa: B007 - it is looked at below
        victim = endpoint(stub, cache=str(tmp_path / "answers.sqlite"), max_requests=40)
        ended = []
        try:
            results = rp.attack(victim, examples, greedy(), out=tmp_path / "out")
        except InputError as error:
            ended.append(error.key)
        assert stub.requests - spent <= 40
        if not ended:
            break
        assert ended == ["victim: max_requests"]
        assert stub.requests - spent == 40
        spent = stub.requests
    assert runs > 3
    assert stub.answered.most_common(1)[0][1] == 1
    expected = FunctionVictim(function, "classification", labels=LABELS)
    whole = rp.attack(expected, examples, greedy())
    assert [line["adversarial_tokens"] for line in results.lines] == [
        line["adversarial_tokens"] for line in whole.lines
    ]


def test_a_budget_of_tokens_is_not_exceeded(stub: Stub) -> None:
    used: list[int] = []

    def answer(body: Any) -> Any:
        used.append(random.Random(str(body)).randint(1, 60))
        return completion("positive", tokens=used[-1])

    stub.answer = answer
    victim = endpoint(stub, max_tokens=5000, max_concurrent=8, scores="none")
    with pytest.raises(InputError) as error:
        victim.answer([[f"w{number}"] for number in range(500)])
    assert error.value.key == "victim: max_tokens"
    assert 4000 < sum(used) <= 5000
    assert victim.counts()["tokens"] == sum(used)


def test_a_server_that_names_a_pause_is_left_alone(stub: Stub) -> None:
    times: list[float] = []

    def fault(body: Any, before: int) -> Fault:
        times.append(time.monotonic())
        return "429" if len(times) == 4 else None

    stub.fault = fault
    endpoint(stub, max_concurrent=1).answer([[f"w{number}"] for number in range(8)])
    assert len(times) == 9
    assert times[4] - times[3] >= 0.01


@pytest.mark.parametrize(
    ("fault", "key", "requests"),
    [
        ("401", "victim: key_variable", 1),
        ("403", "victim: key_variable", 1),
        ("404", "victim", 1),
        ("307", "victim", 1),
        ("422", "victim", 1),
        ("500", "victim: url", 4),
        ("429", "victim: url", 4),
        ("cut", "victim: url", 4),
        ("nonsense", "victim: url", 4),
    ],
)
def test_a_lasting_failure_ends_the_run(stub: Stub, fault: str, key: str, requests: int) -> None:
    stub.fault = lambda body, before: fault
    with pytest.raises(InputError) as error:
        endpoint(stub, retries=3).answer([["a"]])
    assert error.value.key == key
    assert stub.requests == requests
    assert KEY not in str(error.value)
    assert error.value.__cause__ is None


def test_what_was_paid_for_is_kept_when_another_request_fails(stub: Stub, tmp_path: Path) -> None:
    stub.fault = lambda body, before: "404" if "w13" in texts_of(body) else None
    stub.delay = lambda body: 0.0 if "w13" in texts_of(body) else 0.05
    cache = tmp_path / "answers.sqlite"
    with pytest.raises(InputError):
        endpoint(stub, cache=str(cache), max_concurrent=8).answer([[f"w{n}"] for n in range(40)])
    assert rows(cache) == stub.answered.total() > 8
    assert stub.requests < 40  # nothing was sent after it


def rows(cache: Path) -> int:
    if not cache.exists():
        return 0
    with closing(sqlite3.connect(cache)) as database:
        made = database.execute("SELECT * FROM sqlite_master WHERE name = 'candidates'").fetchone()
        if made is None:  # the file exists before its table does
            return 0
        (count,) = database.execute("SELECT COUNT(*) FROM candidates").fetchone()
    return int(count)


def test_a_server_that_is_not_there(stub: Stub) -> None:
    victim = Endpoint("http://127.0.0.1:9/v1", "tiny", LABELS, retries=1, timeout=5)
    with pytest.raises(InputError) as error:
        victim.answer([["a"]])
    assert error.value.key == "victim: url"


def test_equal_texts_are_asked_once_and_answered_in_order(stub: Stub) -> None:
    stub.delay = lambda body: 0.01 * ("w0" in texts_of(body))
    victim = endpoint(stub, max_concurrent=4)
    asked = [[f"w{number % 5}"] for number in range(20)]
    answers = victim.answer(asked)
    assert stub.requests == 5
    assert [answer[0] for answer in answers] == [reply(words[0])[0] for words in asked]


def test_a_server_that_disagrees_with_itself(stub: Stub) -> None:
    count = iter(range(1000))
    stub.answer = lambda body: completion(
        LABELS[next(count) % 2] if "odd" in texts_of(body) else "positive"
    )
    texts_asked = [[*(("odd",) if number % 3 == 0 else ()), f"w{number}"] for number in range(30)]
    victim = endpoint(stub, check_determinism=12, max_concurrent=1, scores="none")
    for words in texts_asked:
        victim.answer([words])
    counts = victim.counts()
    assert (counts["asked_twice"], counts["disagreements"]) == (12, 4)
    assert counts["requests"] == stub.requests == 42


def test_unreadable_answers_are_wrong_and_counted(stub: Stub) -> None:
    def answer(body: Any) -> Any:
        text = texts_of(body)
        return completion("who knows" if "fine" in text else "It is positive.")

    stub.answer = answer
    gold = ["positive", "negative"]
    examples = [Example(n, Sentence(("a", "good", "film")), each) for n, each in enumerate(gold)]
    attack = Attack(Lexicon({"good": ["nice", "fine"]}), Greedy())
    results = rp.attack(endpoint(stub, scores="none"), examples, attack)
    first, second = results.lines
    assert (first["success"], second["skipped"]) == (True, True)
    assert first["adversarial_tokens"] == ["a", "fine", "film"]
    assert first["attacked"]["label"] == "(unreadable)"
    assert "probabilities" not in first["attacked"]
    assert results.summary["service"]["unreadable"] == 1
    scores = rp.evaluate(
        endpoint(stub, scores="none"), [replaced(each, "fine") for each in examples]
    )
    assert scores["accuracy"] == 0


def replaced(example: Example, word: str) -> Example:
    words = (*example.sentence.words[:1], word, *example.sentence.words[2:])
    return replace(example, sentence=replace(example.sentence, words=words))


def attacked(url: str, folder: Path) -> None:
    victim = Endpoint(url, "tiny", LABELS, cache=str(folder / "answers.sqlite"), max_concurrent=8)
    rp.attack(victim, reviews(20), greedy(live=3), out=folder / "out")


@pytest.mark.slow
def test_a_killed_run_asks_nothing_twice(stub: Stub, tmp_path: Path) -> None:
    stub.held_after = 70
    process = Forked(attacked, stub.url, tmp_path)
    try:
        deadline = time.monotonic() + 120
        while rows(tmp_path / "answers.sqlite") < 70 and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        process.kill()
        process.communicate()
    kept = len(list(read_records(tmp_path / "out" / "examples.jsonl")))
    assert 0 < kept < 20
    held = stub.requests - 70
    assert 0 < held <= 8
    stub.held_after = float("inf")
    attacked(stub.url, tmp_path)
    assert set(stub.answered.values()) == {1}
    assert stub.requests - len(stub.answered) <= held  # those that were on their way
    results = list(read_records(tmp_path / "out" / "examples.jsonl"))
    expected = FunctionVictim(function, "classification", labels=LABELS)
    whole = rp.attack(expected, reviews(20), greedy()).lines
    assert [line["queries"] for line in results] == [line["queries"] for line in whole]
    assert [line["edited"] for line in results] == [line["edited"] for line in whole]


def test_the_key_is_sent_and_shown_nowhere(
    stub: Stub,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    stub.fault = lambda body, before: "422" if stub.requests > 50 else None
    victim = endpoint(stub, cache=str(tmp_path / "answers.sqlite"))
    with pytest.raises(InputError) as error:
        rp.attack(victim, reviews(10), greedy(live=2), out=tmp_path / "out")
    assert "***" in str(error.value)  # the server repeats what it was sent
    assert {sent["authorization"] for sent in stub.headers} == {f"Bearer {KEY}"}
    shown = [
        str(error.value),
        repr(error.value),
        repr(vars(victim)),
        caplog.text,
        *capfd.readouterr(),
    ]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 2
    assert not any(KEY in text for text in shown)
    assert not any(KEY.encode() in path.read_bytes() for path in files)


def test_requests_say_what_was_asked_for(stub: Stub) -> None:
    stub.answer = lambda body: completion("positive", {"positive": 0.9, "negative": 0.1})
    settings = {"seed": 7, "parameters": {"top_p": 0.5, "temperature": None}}
    endpoint(stub, **settings).answer([["a", "film"]])
    (key,) = stub.seen
    body = json.loads(key)
    assert stub.paths == {"/v1/chat/completions"}
    assert (body["model"], body["seed"], body["top_p"]) == ("tiny", 7, 0.5)
    assert "temperature" not in body
    endpoint(stub).answer([["a", "film"]])
    assert json.loads([*stub.seen][-1])["temperature"] == 0


@pytest.mark.parametrize("given", [True, False])
def test_a_server_without_probabilities_is_attacked_by_its_labels(stub: Stub, given: bool) -> None:
    top = {"positive": 0.9, "negative": 0.1}
    stub.answer = lambda body: completion("positive", top if given else None)
    victim = endpoint(stub, scores=None)
    assert victim.scores == ("probabilities" if given else "none")
    assert victim.scores == victim.scores
    assert stub.requests == 1
    assert endpoint(stub, scores="none").scores == "none"
    assert stub.requests == 1
    endpoint(stub, scores="none").answer([["a"]])
    assert "logprobs" not in [*stub.seen][-1]
    if not given:
        with pytest.raises(InputError) as error:
            endpoint(stub, scores="probabilities").answer([["b"]])
        assert error.value.key == "victim: scores"


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"url": "localhost:8000"}, "victim: url"),
        ({"url": "http://[here"}, "victim: url"),
        ({"url": f"http://me:{KEY}@localhost/v1"}, "victim: url"),
        ({"max_concurrent": 0}, "victim: max_concurrent"),
        ({"max_requests": 0}, "victim: max_requests"),
        ({"retries": -1}, "victim: retries"),
        ({"timeout": 0}, "victim: timeout"),
        ({"shots": -1}, "victim: shots"),
        ({"task": "dependency"}, "victim: task"),
        ({"labels": {"0": "bad", "1": "Bad "}}, "victim: labels"),
        ({"labels": None}, "labels"),
        ({"prompt": "missing.j2"}, "victim: prompt"),
    ],
)
def test_mistakes_are_named(settings: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError) as error:
        Endpoint(**{"url": "http://localhost/v1", "model": "m", "labels": LABELS, **settings})
    assert error.value.key == key
    assert KEY not in str(error.value)


def test_forms_and_pairs_are_asked_for_too(stub: Stub, tmp_path: Path) -> None:
    right, wrong = "( lambda $0 e ( river:t $0 ) )", "(lambda $0 e (lake:t $0))"

    def answer(body: Any) -> Any:
        if "Premise" in body["messages"][0]["content"]:
            return completion("yes" if "moved" in texts_of(body) else "no")
        form = wrong if "streams" in texts_of(body) else right
        return completion(form, {form: 0.25})

    stub.answer = answer
    stub.fault = lambda body, before: "nonsense" if before == 0 else None
    (tmp_path / "train.tsv").write_text(
        f"list lakes\t{wrong.replace('(', '( ')}\n".replace(")", " )")
    )
    settings = {"examples": str(tmp_path / "train.tsv"), "language": "lambda"}
    parser = Endpoint(stub.url, "tiny", task="semantic", **settings)
    assert parser.scores == "probabilities"
    gold = LogicalForm(right, "lambda")
    attack = Attack(Lexicon({"rivers": ["brooks", "streams"]}), Greedy())
    (line,) = rp.attack(parser, [Example(0, Sentence(("list", "rivers")), gold)], attack).lines
    assert (line["success"], line["adversarial_tokens"]) == (True, ["list", "streams"])
    assert line["attacked"]["form"] == "( lambda $0 e ( lake:t $0 ) )"
    judge = Endpoint(stub.url, "tiny", ["yes", "no"], task="entailment", scores="none")
    pair = Example(0, Sentence(("it", "moved"), context=("a", "dog", "ran")), "yes")
    attack = Attack(Lexicon({"moved": ["ran", "slept"]}), Greedy())
    (line,) = rp.attack(judge, [pair], attack).lines
    assert (line["success"], line["adversarial_tokens"]) == (True, ["it", "ran"])


def test_what_a_model_says_to_itself_is_no_answer(stub: Stub) -> None:
    stub.answer = lambda body: completion("<think>positive or negative?</think>\n\nnegative")
    assert endpoint(stub, scores="none").answer([["a"]]) == ["negative"]


def interrupted(url: str, settings: dict[str, Any], asked: list[list[str]]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Endpoint(url, "tiny", LABELS, **settings).answer(asked)


def test_an_interruption_keeps_all_answers_that_have_come(stub: Stub, tmp_path: Path) -> None:
    stub.held_after = 25
    cache, asked = tmp_path / "answers.sqlite", [[f"w{number}"] for number in range(60)]
    settings = {"scores": "probabilities", "cache": str(cache), "max_concurrent": 8}
    # In a process of its own: a worker of pytest need not run a test in its main thread.
    process = Forked(interrupted, stub.url, settings, asked)
    try:
        deadline = time.monotonic() + 120
        while stub.requests < 33 and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.01)
        process.interrupt()
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert error.rstrip().endswith("KeyboardInterrupt")
    victim = endpoint(stub, **settings)
    assert rows(cache) == 25
    stub.held_after = float("inf")
    assert [answer[0] for answer in victim.answer(asked)] == [reply(each[0])[0] for each in asked]
    assert set(stub.answered.values()) == {1}
