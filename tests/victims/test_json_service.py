"""A JSON service is asked by a template, and its answer found by a path."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import robustparse as rp
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.beam import Greedy
from robustparse.errors import InputError
from robustparse.types import Example, LogicalForm, Sentence
from robustparse.victims import FunctionVictim, Http, retries
from robustparse.victims.label_answers import label_words
from service_stub import Stub, serving

pytest.importorskip("httpx2")

LABELS = ["no", "yes"]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SERVICE_KEY", "secret-key")
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.002)
    with serving(Stub(lambda body: {})) as running:
        yield running


def share(text: str) -> float:
    return (len(text) * 7 % 10) / 10 + 0.05


def answered(text: str) -> tuple[str, list[float]]:
    return LABELS[share(text) > 0.5], [1 - share(text), share(text)]


SHAPES: dict[str, Any] = {
    "list": lambda names, shares: shares,
    "object": lambda names, shares: dict(zip(names, shares, strict=True)),
    "objects": lambda names, shares: [
        {"label": label, "score": share}
        for label, share in sorted(zip(names, shares, strict=True), key=lambda pair: -pair[1])
    ],
    "none": lambda names, shares: None,
}
NAMED = {label: f"LABEL_{number}" for number, label in enumerate(LABELS)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("labels", [LABELS, NAMED])
def test_it_falls_as_a_function(stub: Stub, shape: str, labels: Any) -> None:
    shaped, path = SHAPES[shape], None if shape == "none" else "probabilities"

    def reply(body: Any) -> Any:
        label, shares = answered(body["inputs"])
        names = [*label_words(labels).values()]
        scores = {"probabilities": shaped(names, shares)}
        return {"results": [{"label": names[LABELS.index(label)], "scores": scores}]}

    stub.answer = reply
    victim = Http(
        stub.url,
        '{"inputs": {{ text | tojson }}, "version": 2}',
        "results.0.label",
        labels,
        probabilities=path and f"results.0.scores.{path}",
    )
    assert victim.scores == ("none" if shape == "none" else "probabilities")

    def function(texts: list[list[str]]) -> list[Any]:
        pairs = [answered(" ".join(words)) for words in texts]
        return [label for label, _ in pairs] if path is None else pairs

    texts = [("the", "film", "'s", 'so-called "plot"', "n" * n) for n in range(1, 9)]
    examples = [
        Example(n, Sentence(text), answered(" ".join(text))[0]) for n, text in enumerate(texts)
    ]
    attack = Attack(Lexicon({"film": ["movie", "picture", "show"], "the": ["a"]}), Greedy())
    other = FunctionVictim(function, "classification", labels=LABELS)
    found, expected = (rp.attack(each, examples, attack).lines for each in (victim, other))
    for line in (*found, *expected):
        line["unseen"] = None
    assert found == expected
    assert any(line["success"] for line in found)
    bodies = [json.loads(key) for key in stub.seen]
    assert {body["version"] for body in bodies} == {2}
    assert {sent["authorization"] for sent in stub.headers} == {"Bearer secret-key"}


def test_pairs_and_another_header(stub: Stub, tmp_path: Path) -> None:
    stub.answer = lambda body: ["yes" if body[0] == "a dog" else body[1]]
    (tmp_path / "request.j2").write_text("[{{ context | tojson }}, {{ text | tojson }}]")
    settings = {"pairs": True, "key_header": "X-Key", "headers": {"X-Client": "me"}}
    victim = Http(stub.url, str(tmp_path / "request.j2"), "0", LABELS, **settings)
    asked = [(["a", "dog"], ["it", "ran"]), (["a", "cat"], ["no"]), (["a", "cat"], ["well"])]
    assert victim.answer(asked) == ["yes", "no", "(unreadable)"]
    assert victim.counts()["unreadable"] == 1
    assert {(sent["x-key"], sent["x-client"]) for sent in stub.headers} == {("secret-key", "me")}
    assert not any("authorization" in sent for sent in stub.headers)


def test_without_labels_it_answers_forms(stub: Stub) -> None:
    right, renamed = "( lambda $0 e ( river:t $0 ) )", "( lambda $7 e ( river:t $7 ) )"
    forms = {"list rivers": renamed, "list streams": "( river:t", "show rivers": right}
    stub.answer = lambda body: {"form": forms.get(body, right)}
    victim = Http(stub.url, '"{{ text }}"', "form", language="lambda")
    gold = LogicalForm(right, "lambda")
    examples = [Example(n, Sentence((a, "rivers")), gold) for n, a in enumerate(("list", "show"))]
    attack = Attack(Lexicon({"rivers": ["streams"], "show": ["list"]}), Greedy())
    first, second = rp.attack(victim, examples, attack).lines
    assert (first["success"], first["adversarial_tokens"]) == (True, ["list", "streams"])
    assert not second["skipped"]
    assert victim.counts()["unreadable"] == 1


@pytest.mark.parametrize(
    ("request_template", "answer", "key"),
    [
        ('{"text": {{ text }}}', "label", "victim: request"),
        ('{"text": {{ words | tojson }}}', "label", "victim: request"),
        ("missing.j2", "label", "victim: request"),
        ('{"text": {{ text | tojson }}}', "labels.0", "victim: url"),
        ('{"text": {{ text | tojson }}}', "label.0", "victim: url"),
    ],
)
def test_mistakes_are_named(stub: Stub, request_template: str, answer: str, key: str) -> None:
    stub.answer = lambda body: {"label": {"name": "yes"}, "labels": []}

    def asked() -> object:
        return Http(stub.url, request_template, answer, LABELS, retries=0).answer([["a"]])

    with pytest.raises(InputError) as error:
        asked()
    assert error.value.key == key
    assert (answer in str(error.value.expected)) == (key == "victim: url")


def test_a_cache_serves_other_paths_too(stub: Stub, tmp_path: Path) -> None:
    stub.answer = lambda body: {"first": "yes", "second": "no"}
    settings = {"labels": LABELS, "cache": str(tmp_path / "answers.sqlite")}
    request = "{{ text | tojson }}"

    def asked(answer: str) -> list[Any]:
        return Http(stub.url, f"[{request}]", answer, **settings).answer([["a"]])

    assert (asked("first"), asked("second"), stub.requests) == (["yes"], ["no"], 1)
    with pytest.raises(InputError) as error:
        asked("third")
    assert error.value.path == settings["cache"]
