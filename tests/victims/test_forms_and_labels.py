"""Functions that answer logical forms; victims without probabilities, and what attacks them."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import robustparse as rp
from robustparse import attacks
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.beam import Beam, Greedy
from robustparse.attacks.search.genetic import Genetic
from robustparse.attacks.search.importance import PWWS, GreedyByImportance
from robustparse.attacks.search.particle_swarm import ParticleSwarm
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.rankings import (
    DeletedWord,
    RandomOrder,
    UnknownWord,
    WeightedSaliency,
)
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError
from robustparse.grammars import exact_match
from robustparse.types import Example, LogicalForm, Sentence, TextRows
from robustparse.victims import FunctionVictim
from robustparse.victims.form_answers import form_in

RIGHT = "( lambda $0 e ( and ( river:t $0 ) ( loc:t $0 texas ) ) )"
FORMS = {
    "river": RIGHT,
    "rivers": "( lambda $1 e ( and ( loc:t $1 texas ) ( river:t $1 ) ) )",  # the same
    "streams": "( lambda $0 e ( river:t $0 ) )",  # another meaning
    "brooks": "( lambda $0 e",  # unreadable
    "creeks": "I do not know.",
}


def parsing(pair: bool) -> Callable[[list[list[str]]], list[Any]]:
    """A parser that looks at the second word; its probability falls with the first one's length."""

    def parse(texts: list[list[str]]) -> list[Any]:
        forms = [FORMS.get(words[1], RIGHT) for words in texts]
        shares = [1 / len(words[0]) for words in texts]
        return list(zip(forms, shares, strict=True)) if pair else forms

    return parse


@pytest.mark.parametrize("pair", [True, False])
@pytest.mark.parametrize("word", FORMS)
def test_a_form_falls_if_its_meaning_changes(word: str, pair: bool) -> None:
    gold = LogicalForm(RIGHT, "lambda")
    example = Example(0, Sentence(("show", "river", "names")), gold)
    victim = FunctionVictim(parsing(pair), "semantic", language="lambda")
    attack = Attack(Lexicon({"river": [word]}), Greedy())
    (result,) = attack.run([example], victim)
    expected = not exact_match(FORMS[word], RIGHT, "lambda")
    assert (result.success, result.skipped) == (expected, False)
    assert result.clean == gold
    if expected:
        assert result.attacked == " ".join(FORMS[word].split())
        assert result.attacked.language == "lambda"


def test_probabilities_of_forms_lead_a_search() -> None:
    example = Example(0, Sentence(("show", "river")), LogicalForm(RIGHT, "lambda"))
    table = Lexicon({"show": ["list", "name", "enumerate"]})
    victim = FunctionVictim(parsing(True), "semantic")
    ranked = GreedyByImportance(RandomOrder())
    (result,) = Attack(table, ranked).run([example], victim)
    assert (result.words, result.success) == (("enumerate", "river"), False)


def test_forms_are_scored() -> None:
    gold = LogicalForm(RIGHT, "lambda")
    examples = [Example(n, Sentence(("show", word)), gold) for n, word in enumerate(FORMS)]
    scores = rp.evaluate(FunctionVictim(parsing(False), "semantic"), examples)
    assert scores["exact_match"] == pytest.approx(40)


@pytest.mark.parametrize("language", [None, "gold"])
@pytest.mark.parametrize(
    "gold",
    [
        LogicalForm(RIGHT, "lambda"),
        LogicalForm("job ( ANS ) , \\+ loc ( ANS , X ) ; area ( ANS , a )", "prolog"),
    ],
)
def test_forms_without_blanks_are_read(gold: LogicalForm, language: str | None) -> None:
    compact = re.sub(r" ([(),;]) ", r"\1", gold).replace("+ ", "+").replace(" )", ")")
    victim = FunctionVictim(
        lambda texts: [compact for _ in texts],
        "semantic",
        language=gold.language if language else None,
    )
    scores = rp.evaluate(victim, [Example(0, Sentence(("show", "river")), gold)])
    assert scores["exact_match"] == 100


@pytest.mark.parametrize(
    "answer", [None, 3, (RIGHT, 1.5), (RIGHT, "0.5"), (RIGHT, True), (RIGHT, float("nan"))]
)
def test_what_is_no_form_is_named(answer: Any) -> None:
    victim = FunctionVictim(lambda texts: [answer for _ in texts], "semantic")
    rows = victim.intern(["a"])[None]
    with pytest.raises(InputError) as error:
        victim.predict(TextRows(rows, np.zeros_like(rows), np.array([1], np.int32)))
    assert error.value.key == "victim"


def sure(texts: list[list[str]]) -> list[str]:
    return ["neg" if "gold" in words and "cat" in words else "pos" for words in texts]


NEEDY = [
    *(Genetic(), ParticleSwarm(), PWWS(), GreedyByImportance(WeightedSaliency())),
    *(attacks.Zheng2020WhiteBox(), attacks.PhraseWhiteBox()),
]
ABLE = [
    *(Greedy(), Beam(width=2), Zheng2020(), Wang2021(), RandomSubstitution()),
    *(GreedyByImportance(ranking()) for ranking in (UnknownWord, DeletedWord, RandomOrder)),
]
EXAMPLE = Example(0, Sentence(("a", "good", "dog", "ran")), "pos")
TABLE = {"good": ["fine", "gold"], "dog": ["cat"]}


def label_only(**settings: Any) -> FunctionVictim:
    return FunctionVictim(sure, "classification", labels=["neg", "pos"], **settings)


@pytest.mark.parametrize("search", NEEDY, ids=lambda search: type(search).__name__)
def test_a_search_that_needs_probabilities_is_refused(search: Search) -> None:
    attack = Attack(Lexicon(TABLE), search)
    with pytest.raises(InputError) as error:
        list(attack.run([EXAMPLE], label_only(scores="none")))
    assert error.value.key == "attack: search"
    named = str(error.value.remedy).removeprefix("choose one of ").split(", ")
    assert {type(each).__name__ for each in ABLE} <= set(named)
    assert not {type(each).__name__ for each in NEEDY if not isinstance(each, GreedyByImportance)} \
        & set(named)  # fmt: skip


@pytest.mark.parametrize("search", ABLE, ids=lambda search: type(search).__name__)
def test_other_searches_run_as_on_any_function(search: Search) -> None:
    attack = Attack(Lexicon(TABLE), search, seed=3)
    (found,), (expected,) = (
        attack.run([EXAMPLE], victim) for victim in (label_only(scores="none"), label_only())
    )
    assert found == expected


def test_the_refusal_names_recipes_that_do_without() -> None:
    with pytest.raises(InputError) as error:
        rp.attack(label_only(scores="none"), [EXAMPLE], Attack(Lexicon(TABLE), PWWS()))
    named = str(error.value.remedy).partition(": ")[2].split(", ")
    assert named[0] == "maheshwary"
    assert {"deepwordbug", "textfooler"} <= set(named)
    assert not {"pwws", "genetic", "hotflip", "wang2021"} & set(named)


@pytest.mark.parametrize(
    ("answer", "settings", "warned"),
    [
        ("pos", {}, 1),
        (("pos", [0.0, 1.0]), {}, 1),
        (("pos", [0.1, 0.9]), {}, 0),
        ("pos", {"scores": "none"}, 0),
    ],
)
def test_undeclared_answers_without_probabilities_are_pointed_out_once(
    answer: Any, settings: dict[str, Any], warned: int, caplog: pytest.LogCaptureFixture
) -> None:
    victim = FunctionVictim(
        lambda texts: [answer] * len(texts), "classification", labels=["neg", "pos"], **settings
    )
    for _ in range(3):
        rp.evaluate(victim, [Example(number, Sentence(("a",)), "pos") for number in range(10)])
    assert len([each for each in caplog.messages if "scores='none'" in each]) == warned


def test_two_words_are_found_by_labels_only() -> None:
    attack = Attack(Lexicon({"good": ["gold"], "dog": ["cat"]}), Beam(width=4))
    (result,) = attack.run([EXAMPLE], label_only(scores="none"))
    assert result.words == ("a", "gold", "cat", "ran")


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"scores": "some", "task": "classification", "labels": ["a"]}, "scores"),
        ({"scores": "none"}, "scores"),
        ({"language": "lambda"}, "language"),
        ({"language": "lambda", "task": "classification", "labels": ["a"]}, "language"),
        ({"task": "semantic", "labels": ["a"]}, "labels"),
        ({"task": "semantic", "language": "sql"}, "language"),
    ],
)
def test_settings_of_another_task_are_refused(settings: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError) as error:
        FunctionVictim(sure, **settings)
    assert error.value.key == key


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        (RIGHT, RIGHT),
        (f"  {RIGHT}\n", RIGHT),
        (RIGHT.replace("( ", "(").replace(" )", ")"), RIGHT),
        (f"Here it is:\n```lisp\n{RIGHT}\n```\nIt asks for rivers.", RIGHT),
        (f"`{RIGHT}`", RIGHT),
        (RIGHT[:-2], None),
        ("I do not know.", None),
        ("", None),
        (f"{RIGHT} {RIGHT}", None),
    ],
)
def test_a_form_is_found_in_an_answer(answer: str, form: str | None) -> None:
    assert form_in(answer, "lambda") == form


@pytest.mark.parametrize(
    ("forms", "warned"),
    [
        (["( lambda $0 e"] * 20, 1),
        (["( lambda $0 e"] * 7 + [RIGHT] * 20, 0),
        ([RIGHT] + ["( lambda $0 e"] * 20, 0),
    ],
)
def test_forms_of_which_none_can_be_read_are_told(
    forms: list[str], warned: int, caplog: pytest.LogCaptureFixture
) -> None:
    victim = FunctionVictim(lambda texts: [forms[int(words[0])] for words in texts], "semantic")
    gold = LogicalForm(RIGHT, "lambda")
    rp.evaluate(victim, [Example(n, Sentence((str(n),)), gold) for n in range(len(forms))])
    assert len([each for each in caplog.messages if "can be read" in each]) == warned
