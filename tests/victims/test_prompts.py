"""The default prompts, those of files, and what a template may not do."""

from collections import Counter
from pathlib import Path

import pytest

from robustparse.errors import InputError
from robustparse.types import Example, Sentence
from robustparse.victims import Endpoint
from robustparse.victims.prompts import drawn

URL = "http://localhost:1/v1"


def prompt_of(victim: Endpoint, text: object) -> str:
    body = victim.request(text)
    assert isinstance(body, dict)
    (message,) = body["messages"]
    assert message["role"] == "user"
    return str(message["content"])


def test_the_prompt_of_texts(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a fine film\t1\na dull film\t0\n")
    labels = {"0": "bad", "1": "good"}
    settings = {"examples": str(tmp_path / "train.tsv"), "scores": "none"}
    victim = Endpoint(URL, "m", labels, **settings)
    shots = {"1": "Text: a fine film\nLabel: good\n\n", "0": "Text: a dull film\nLabel: bad\n\n"}
    start = (
        "Classify the text. Answer with exactly one of these labels and nothing else: bad, good."
    )
    end = "Text: it works\nLabel:"
    found = prompt_of(victim, ["it", "works"])
    assert found in (f"{start}\n\n{shots[a]}{shots[b]}{end}" for a, b in ("01", "10"))
    assert prompt_of(Endpoint(URL, "m", labels, scores="none"), ["it", "works"]) == (
        f"{start}\n\n{end}"
    )


def test_the_prompt_of_pairs(tmp_path: Path) -> None:
    victim = Endpoint(URL, "m", ["yes", "no"], task="entailment", scores="none")
    found = prompt_of(victim, (["a", "dog", "ran"], ["it", "moved"]))
    assert found.endswith("\n\nPremise: a dog ran\nHypothesis: it moved\nLabel:")
    assert "yes, no" in found


def test_the_prompt_of_forms(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("list rivers\t( lambda $0 e ( river:t $0 ) )\n")
    settings = {"examples": str(tmp_path / "train.tsv"), "scores": "none"}
    victim = Endpoint(URL, "m", task="semantic", **settings)
    assert victim.task.answers.language == "lambda"
    assert prompt_of(victim, ["list", "states"]).endswith(
        "\n\nUtterance: list rivers\nLogical form: ( lambda $0 e ( river:t $0 ) )"
        "\n\nUtterance: list states\nLogical form:"
    )


@pytest.mark.parametrize("count", [0, 2, 4, 5, 99])
def test_shots_are_drawn_by_seed_and_classes_take_turns(count: int) -> None:
    golds = [gold for gold, number in {"a": 9, "b": 5, "c": 2}.items() for _ in range(number)]
    examples = [Example(n, Sentence((f"w{n}",)), gold) for n, gold in enumerate(golds)]
    shots = drawn(examples, count, 3, by_answer=True)
    assert shots == drawn(examples, count, 3, by_answer=True)
    assert len({each.id for each in shots}) == len(shots) == min(count, 16)
    counts = Counter(each.gold for each in shots)
    if count <= 6:
        assert max(counts.values(), default=0) - min(counts.values(), default=0) <= 1
    others = [drawn(examples, 4, seed, by_answer=True) for seed in range(20)]
    assert len({tuple(each.id for each in other) for other in others}) > 10


@pytest.mark.parametrize(
    "template",
    [
        "{{ unknown }}",
        "Which label?",
        "{{ '{{ text }}' }} {# text #}",
        "{{ text.__class__.__mro__ }}",
        "{% include '/etc/passwd' %}",
        "{{ labels.append('x') }}",
        "{% for i in range(10 ** 9) %}x{% endfor %}",
        "{{ text | map(attribute='__class__') | list | first }}{{ cycler.__init__.__globals__ }}",
    ],
)
def test_a_template_cannot_do_harm(tmp_path: Path, template: str) -> None:
    (tmp_path / "prompt.j2").write_text(template)

    def asked() -> object:
        victim = Endpoint(URL, "m", ["a", "b"], prompt=str(tmp_path / "prompt.j2"), scores="none")
        return victim.request(["text"])

    with pytest.raises(InputError) as error:
        asked()
    assert error.value.key == "victim: prompt"


def test_mistakes_in_files(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a fine film\tgreat\n")
    (tmp_path / "broken.j2").write_text("{% if %}")
    for settings, key in (
        ({"examples": str(tmp_path / "train.tsv")}, "victim: examples"),
        ({"prompt": str(tmp_path / "broken.j2")}, "victim: prompt"),
    ):
        with pytest.raises(InputError) as error:
            Endpoint(URL, "m", ["bad", "good"], **settings)
        assert error.value.key == key
