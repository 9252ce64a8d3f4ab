"""Services in commands: attacked, stopped by a budget, resumed with other limits, and scored."""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command_runs import mistake, table
from guide_commands import ROOT, commands, launched

from robustparse.cli.main import main
from robustparse.data.sample.reviews import review_lexicon
from robustparse.evaluation.example_records import read_records
from sample_texts import texts, write_texts
from service_stub import Stub, completion, serving, texts_of

pytestmark = pytest.mark.skipif(not find_spec("openai"), reason="needs openai")

KEY = "sk-not-in-any-file"
RECIPE = """\
candidates: {class_path: robustparse.attacks.Lexicon, init_args: {table: lexicon.json}}
search: {class_path: robustparse.attacks.SEARCH}
budget: 12
live: 2
"""
LABELS = ["mixed", "negative", "positive"]


def label(text: str) -> str:
    return LABELS[sum(map(ord, text)) % 3]


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A server, and a data file and recipes in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MY_KEY", KEY)
    write_texts(tmp_path / "reviews.tsv", texts(14, "test"))
    for search in ("Greedy", "PWWS"):
        (tmp_path / f"{search}.yaml").write_text(RECIPE.replace("SEARCH", search))
    (tmp_path / "lexicon.json").write_text(json.dumps(review_lexicon(0)))
    with serving(Stub(lambda body: completion(label(texts_of(body)), tokens=9))) as running:
        yield running


def arguments(stub: Stub, command: str, *more: object) -> list[str]:
    victim = {"url": stub.url, "model": "tiny", "labels": json.dumps(LABELS)}
    victim |= {"cache": "answers.sqlite", "key_variable": "MY_KEY"}
    named = [part for name, value in victim.items() for part in (f"--victim.{name}", value)]
    recipe = ["--attack", "Greedy.yaml"] if command == "attack" else []
    given = [command, *recipe, "--victim", "robustparse.victims.Endpoint", *named]
    return [*map(str, [*given, "--data", "reviews.tsv", *more])]


def test_a_budget_ends_the_command_and_it_resumes_with_other_limits(
    stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    attack = arguments(stub, "attack", "--out", "out")
    error = mistake(capsys, *attack, "--victim.max_requests", 60)
    assert "max_requests" in error
    assert stub.requests == 60
    finished = list(read_records(Path("out/examples.jsonl")))
    assert 0 < len(finished) < 14
    main([*attack, "--victim.max_concurrent", "3", "--victim.timeout", "30"])
    printed = capsys.readouterr()
    assert set(stub.answered.values()) == {1}
    assert stub.most_at_once <= 16
    lines = list(read_records(Path("out/examples.jsonl")))
    assert all(line in lines for line in finished)
    for line in lines:
        assert line["clean"]["label"] == label(" ".join(line["tokens"]))
        assert line["attacked"]["label"] == label(" ".join(line["adversarial_tokens"]))
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["service"]["requests"] == stub.requests - 60
    assert summary["service"]["tokens"] == 9 * (stub.requests - 60)
    assert "requests" in printed.out
    run = json.loads(Path("out/run.json").read_text())["victim"]["init_args"]
    assert (run["url"], run["model"]) == (stub.url, "tiny")
    assert not {"max_requests", "max_concurrent", "cache", "key_variable"} & {*run}
    # Another prompt is another victim.
    Path("prompt.j2").write_text("{{ text }}")
    assert "holds another run" in mistake(capsys, *attack, "--victim.prompt", "prompt.j2")
    main(["report", "out", "--out", "report.html"])
    shown = [path.read_bytes() for path in Path().rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in shown)
    assert {sent["authorization"] for sent in stub.headers} == {f"Bearer {KEY}"}


def test_it_is_scored_and_its_counts_are_shown(
    stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments(stub, "evaluate", "--out", "scores", "--victim.check_determinism", "5"))
    captured = capsys.readouterr()
    scores = json.loads(Path("scores/scores.json").read_text())
    right = sum(label(" ".join(each.sentence.words)) == each.gold for each in texts(14, "test"))
    assert scores["accuracy"] == pytest.approx(100 * right / 14)
    assert [f"{scores['accuracy']:.2f}"] == table(captured.out)["tiny"]
    assert scores["service"]["asked_twice"] == 5
    assert scores["service"]["disagreements"] == 0
    assert "requests" in captured.err
    main(["report", "scores", "--out", "report.html"])


def test_what_does_not_fit_a_service_is_refused(
    stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    attack = arguments(stub, "attack", "--out", "out")
    assert "--devices" in mistake(capsys, *attack, "--devices", 2)
    attack[attack.index("Greedy.yaml")] = "PWWS.yaml"
    error = mistake(capsys, *attack)
    assert "PWWS needs probabilities" in error
    assert "maheshwary" in error
    main([*arguments(stub, "attack", "--out", "out"), "--limit", "2"])


def test_answers_without_a_cache_are_told_to_be_lost(
    stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments(stub, "evaluate")
    at = given.index("--victim.cache")
    main(given[:at] + given[at + 2 :])
    assert "cache" in capsys.readouterr().err


def test_any_json_service(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    stub.answer = lambda body: {"label": label(body["text"])}
    request: Any = '{"text": {{ text | tojson }}}'
    victim = ["--victim", "robustparse.victims.Http", "--victim.url", stub.url]
    victim += ["--victim.request", request, "--victim.answer", "label"]
    victim += ["--victim.labels", json.dumps(LABELS), "--data", "reviews.tsv", "--limit", "5"]
    main(["attack", "--attack", "Greedy.yaml", *victim, "--out", "out"])
    for line in read_records(Path("out/examples.jsonl")):
        assert line["attacked"]["label"] == label(" ".join(line["adversarial_tokens"]))


def test_the_commands_of_the_guide_run(stub: Stub) -> None:
    """They attack and score the server here, with the recipe and the data of this test."""
    stub.answer = lambda body: (
        completion("negative" if "bad" in texts_of(body) else "positive")
        if "model" in body
        else [{"label": "negative" if "bad" in body["inputs"] else "positive"}]
    )
    found = commands((ROOT / "docs" / "guides" / "services.md").read_text())
    assert len(found) == 3
    Path("mr").mkdir()
    rows = [each for each in texts(60, "test") if each.gold != "mixed"][:8]
    golds = {"negative": "0", "positive": "1"}
    write_texts(Path("mr/test.tsv"), [replace(each, gold=golds[each.gold]) for each in rows])
    for command in found:
        command = command.replace("yoo2020_wordnet", "Greedy.yaml")
        for url in ("http://localhost:8000/v1", "http://localhost:5000/predict"):
            command = command.replace(url, stub.url)
        main(launched(command)[1])
    for name in ("llm", "http"):
        assert len(list(read_records(Path("attacked", name, "examples.jsonl")))) == 8
