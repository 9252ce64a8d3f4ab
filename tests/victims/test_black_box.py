"""A function as a victim: the same outcomes as its model, and every bad answer named."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robustparse.api.evaluate import evaluate
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.search.beam import Greedy
from robustparse.attacks.search.importance import PWWS
from robustparse.attacks.search.white_box.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.evaluation.tally import result_lines
from robustparse.models import InferSent, WordEmbeddings
from robustparse.models.victim import ModelVictim
from robustparse.tasks.classification import ClassificationTask
from robustparse.tasks.dependency import DependencyTask
from robustparse.types import DependencyTree, Example, Label, Sentence
from robustparse.victims import FunctionVictim
from robustparse.victims.black_box import Pairs, Texts
from sample_runs import lexicon_attack, sentences, trained_parser

CLASSIFICATION = "classification"
CHAIN = DependencyTree((0, 1, 2), ("root", "dep", "dep"))
TEXT = [["the", "cat", "sleeps"]]


@pytest.mark.parametrize(
    "search", [Zheng2020(gamma=0.5), PWWS(), Greedy()], ids=lambda s: str(type(s))
)
def test_a_function_falls_as_its_model(search: Any) -> None:
    parser, examples = trained_parser(), sentences(12, "test")
    attack = Attack(TrainingWords(sample=4), search, [AttackableTags()], seed=1)
    black_box = FunctionVictim(parser.predict, training=sentences(300), batch_texts=7)
    expected, found = (
        {line["id"]: line for line in result_lines(DependencyTask(), attack, victim, examples)}
        for victim in (ModelVictim([parser]), black_box)
    )
    for line in (*expected.values(), *found.values()):
        line["unseen"] = None  # a black box does not say
    assert found == expected
    assert any(line["success"] for line in found.values())


def test_it_is_scored_as_its_model() -> None:
    parser, examples = trained_parser(), sentences(20, "test")
    found = evaluate(FunctionVictim(parser.predict), examples)
    assert found == evaluate(parser, examples)


def test_it_is_asked_no_more_than_it_is_charged_for() -> None:
    parser, asked = trained_parser(), []

    def counting(texts: Texts) -> list[Any]:
        asked.append(len(texts))
        return parser.predict(texts)

    attack = lexicon_attack()
    results = list(attack.run(sentences(6, "test"), FunctionVictim(counting, batch_texts=5)))
    assert max(asked) <= 5
    # The closing prediction is free.
    assert sum(asked) <= sum(result.unique + 1 for result in results)


def labels_of(certain: bool) -> Callable[[Texts], list[Any]]:
    """A classifier that counts words with a "g", sure of its answer or not."""

    def answer(texts: Texts) -> list[Any]:
        shares = [min(1.0, 0.3 * sum("g" in word for word in words)) for words in texts]
        names = ["pos" if share > 0.5 else "neg" for share in shares]
        pairs = zip(names, shares, strict=True)
        return names if certain else [(name, [1 - share, share]) for name, share in pairs]

    return answer


@pytest.mark.parametrize("certain", [True, False])
def test_a_label_by_itself_is_flipped_too(certain: bool) -> None:
    words = ("a", "good", "dog", "ran")
    example = Example(0, Sentence(words), "pos")
    attack = Attack(Lexicon({"good": ["fine", "gold"], "dog": ["cat"]}), Greedy())
    victim = FunctionVictim(labels_of(certain), CLASSIFICATION, labels=["neg", "pos"])
    (result,) = attack.run([example], victim)
    assert (result.clean, result.attacked, result.success) == ("pos", "neg", True)
    assert len(result.edited) == 1
    unknown = Example(0, Sentence(words), "neutral")
    with pytest.raises(InputError, match="neutral"):
        list(attack.run([unknown], victim))


@pytest.mark.parametrize(
    ("task", "answers", "found", "expected"),
    [
        ("dependency", [CHAIN, CHAIN], "returned 2 answers for 1 texts", "one answer per text"),
        ("dependency", [], "returned 0 answers", "one answer per text"),
        ("dependency", None, "returned None", "a list of answers"),
        ("dependency", "abc", "returned 'abc'", "a list of answers"),
        ("dependency", ["neg"], "got 'neg'", "a DependencyTree"),
        ("dependency", [DependencyTree((0, 1), ("a", "b"))], "2 heads and 2 labels for 3", "word"),
        ("dependency", [DependencyTree((0, 1, 1), ("a", "b"))], "3 heads and 2 labels", "word"),
        ("dependency", [DependencyTree((0, 1, 4), ("a", "b", "c"))], "[0, 1, 4]", "0 to 3"),
        ("dependency", [DependencyTree((0, 1, -1), ("a", "b", "c"))], "[0, 1, -1]", "0 to 3"),
        ("dependency", [DependencyTree((0, 1, 1.5), ("a", "b", "c"))], "1.5", "0 to 3"),
        ("dependency", [DependencyTree((0, 1, 1), ("a", "b", 3))], "labels", "strings"),
        (CLASSIFICATION, [CHAIN], "got DependencyTree", "a label, or (label"),
        (CLASSIFICATION, ["bad"], "label 'bad'", "neg, pos"),
        (CLASSIFICATION, [("neg", [0.5])], "[0.5]", "2 numbers from 0 to 1"),
        (CLASSIFICATION, [("neg", [float("nan"), 0.5])], "nan", "2 numbers from 0 to 1"),
        (CLASSIFICATION, [("neg", [-0.5, 0.5])], "-0.5", "2 numbers from 0 to 1"),
        (CLASSIFICATION, [Label("neg", {"neg": 1.0})], "nan", "2 numbers from 0 to 1"),
        (CLASSIFICATION, [("neg", [0.1, 0.9])], "label 'neg'", "the most probable"),
    ],
)
def test_a_bad_answer_is_named(task: str, answers: Any, found: str, expected: str) -> None:
    labels = None if task == "dependency" else ["neg", "pos"]
    victim = FunctionVictim(lambda texts: answers, task, labels=labels)
    rows = victim.intern(TEXT[0])[None]
    with pytest.raises(InputError) as error:
        victim.predict(rows, np.zeros_like(rows), np.array([3], np.int32))
    assert error.value.key == "victim"
    assert found in error.value.found
    assert expected in str(error.value.expected)


def test_a_function_that_fails_is_named_with_its_reason() -> None:
    def broken(texts: Texts) -> Sequence[Any]:
        raise ConnectionError("no route to host")

    with pytest.raises(InputError) as error:
        list(lexicon_attack().run(sentences(2, "test"), FunctionVictim(broken)))
    assert "broken failed: ConnectionError: no route to host" in error.value.found
    assert isinstance(error.value.__cause__, ConnectionError)


def test_what_is_no_victim_is_refused() -> None:
    for settings, key in (
        ({"labels": ["a"]}, "labels"),
        ({"task": CLASSIFICATION}, "labels"),
        ({"task": CLASSIFICATION, "labels": ["a", "a"]}, "labels"),
        ({"task": SimpleNamespace(name="semantic")}, "task"),
        ({"batch_texts": 0}, None),
    ):
        with pytest.raises(InputError) as error:
            FunctionVictim(len, **settings)  # type: ignore[arg-type]
        if key:
            assert error.value.key == key
    white_box = Attack(Lexicon({"the": ["a"]}), Zheng2020WhiteBox())
    victim = FunctionVictim(trained_parser().predict)
    with pytest.raises(InputError, match="black-box"):
        list(white_box.run(sentences(2, "test"), victim))
    words = Attack(TrainingWords(), Zheng2020())
    with pytest.raises(InputError, match="TrainingWords"):
        list(words.run(sentences(2, "test"), victim))


PAIRS = [
    Example(id_, Sentence(("a", *noun, "dog", "ran"), context=("the", "cat", verb)), label)
    for id_, (noun, verb, label) in enumerate(
        [(("good",), "ran", "yes"), ((), "slept", "no"), (("good", "good"), "slept", "yes")]
    )
]


def test_a_function_of_pairs_falls_as_its_model() -> None:
    vocabulary = Vocabulary.from_examples(PAIRS, min_count=1)
    model = InferSent(WordEmbeddings(5, dropout=0.0), 3, 4, dropout=0.0, vocabulary=vocabulary)
    model = model.double().eval()
    asked: list[tuple[list[str], list[str]]] = []

    def function(pairs: Pairs) -> list[Label]:
        asked.extend(pairs)
        sentences = [Sentence((*text,), context=(*premise,)) for premise, text in pairs]
        found: list[Label] = model.predict(sentences)
        return found

    labels = vocabulary.labels
    black_box = FunctionVictim(function, CLASSIFICATION, labels=labels, batch_texts=3, pairs=True)
    lexicon = Lexicon({"good": ["bad", "old"], "dog": ["cat"], "ran": ["fled", "slept"]})
    attack, task = Attack(lexicon, PWWS()), ClassificationTask()
    expected, found = (
        {line["id"]: line for line in result_lines(task, attack, victim, PAIRS)}
        for victim in (ModelVictim([model]), black_box)
    )
    for line in (*expected.values(), *found.values()):
        line["unseen"] = None
    assert found == expected
    assert {tuple(premise) for premise, _ in asked} <= {one.sentence.context for one in PAIRS}
    assert len({tuple(text) for _, text in asked}) > 9


def test_pairs_and_single_texts_are_told_apart() -> None:
    made = {
        pairs: FunctionVictim(len, CLASSIFICATION, labels=["pos"], pairs=pairs)  # type: ignore[arg-type]
        for pairs in (False, True)
    }
    with pytest.raises(InputError, match=r"sentence 1: a pair, and .* is asked about single texts"):
        made[False].check(PAIRS)
    with pytest.raises(InputError, match="sentence 5: a single text, and len is asked about pairs"):
        made[True].check([*PAIRS, Example(4, Sentence(("cats",)), "pos")])
    with pytest.raises(InputError) as error:
        FunctionVictim(len, pairs=True)  # type: ignore[arg-type]
    assert error.value.key == "pairs"
