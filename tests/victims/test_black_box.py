"""A function as a victim: the same outcomes as its model, and every bad answer named."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import robustparse as rp
from robustparse.api.evaluate import evaluate
from robustparse.api.results import AttackResults
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.search.beam import Greedy
from robustparse.attacks.search.importance import PWWS
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.search.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.data.read_options import FileUse
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, Stopped
from robustparse.evaluation.attack_processes import attacked_records
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.perturbed import perturbed, perturbed_answers
from robustparse.evaluation.record_files import encode_record
from robustparse.evaluation.transfer import Source, transfer
from robustparse.models import InferSent, WordEmbeddings
from robustparse.models.victim import ModelVictim
from robustparse.perturbations import Typos
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import DependencyTree, Example, Label, Sentence, TextRows
from robustparse.victims import FunctionVictim
from robustparse.victims.black_box import Pairs, Texts
from sample_runs import lexicon_attack, sentences, trained_parser

NAME = "classification"
CHAIN = DependencyTree((0, 1, 2), ("root", "dep", "dep"))
TEXT = [["the", "cat", "sleeps"]]


def test_equal_words_tie_whatever_rounding_does_in_a_batch() -> None:
    """Rounding errors differ between batches; they must not choose between words."""
    chosen = []
    for error in (1e-15, -1e-15):

        def answer(texts: Texts, error: float = error) -> list[tuple[str, list[float]]]:
            right = [0.9 if "good" in text else 0.2 + error * row for row, text in enumerate(texts)]
            return [("yn"[p < 0.5], [1 - p, p]) for p in right]

        victim = FunctionVictim(answer, task="classification", labels=["n", "y"])
        attack = Attack(Lexicon({"good": ["fair", "fine", "kind"]}), Greedy())
        (result,) = attack.run([Example(0, Sentence(("a", "good", "film")), "y")], victim)
        assert result.success
        chosen.append(result.words)
    assert chosen == [("a", "fair", "film")] * 2


@pytest.mark.parametrize(
    "search", [Zheng2020(gamma=0.5), PWWS(), Greedy()], ids=lambda s: str(type(s))
)
def test_a_function_falls_as_its_model(search: Any) -> None:
    parser, examples = trained_parser(), sentences(12, "test")
    attack = Attack(TrainingWords(sample=4), search, [AttackableTags()], seed=1)
    black_box = FunctionVictim(parser.predict, training=sentences(300), batch_texts=7)
    expected, found = (
        {line["id"]: line for line in attacked_records(DEPENDENCY, attack, victim, examples)}
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
    victim = FunctionVictim(labels_of(certain), NAME, labels=["neg", "pos"])
    (result,) = attack.run([example], victim)
    assert (result.clean, result.attacked, result.success) == ("pos", "neg", True)
    assert len(result.edited) == 1
    (unknown,) = attack.run([Example(0, Sentence(words), "neutral")], victim)
    assert (unknown.skipped, unknown.edited) == (True, ())


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
        ("dependency", [DependencyTree((False, True, True), ("a", "b", "c"))], "True", "0 to 3"),
        ("dependency", [DependencyTree((0, 1, 1), ("a", "b", 3))], "labels", "strings"),
        ("dependency", [DependencyTree((0, 1, 1), "abc")], "'abc'", "strings"),
        (NAME, [CHAIN], "got DependencyTree", "a label, or (label"),
        (NAME, ["bad"], "label 'bad'", "neg, pos"),
        (NAME, [1], "number 1", "'neg', 'pos'"),
        (NAME, [("neg", [0.5])], "[0.5]", "2 numbers from 0 to 1"),
        (NAME, [("neg", [float("nan"), 0.5])], "nan", "2 numbers from 0 to 1"),
        (NAME, [("neg", [-0.5, 0.5])], "-0.5", "2 numbers from 0 to 1"),
        (NAME, [Label("neg", {"neg": 1.0})], "nan", "2 numbers from 0 to 1"),
        (NAME, [("neg", [0.1, 0.9])], "label 'neg'", "the most probable"),
        (NAME, [("neg", [0.9, 0.9])], "sum 1.8", "sum to 1"),
        (NAME, [("neg", [0.3, 0.1])], "sum 0.4", "sum to 1"),
        (NAME, [("neg", [0.52, 0.5])], "sum 1.02", "sum to 1"),
        (NAME, [("neg", [0, 0])], "sum 0", "sum to 1"),
        (NAME, [("neg", [float("inf"), 0.5])], "sum inf", "sum to 1"),
        (NAME, [("neg", [1.2, -0.2])], "sum 1", "0 to 1"),
        (NAME, [("neg", [[0.5, 0.5]])], "[[0.5, 0.5]]", "2 numbers"),
        (NAME, [("neg", ["0.5", "0.5"])], "'0.5'", "2 numbers"),
        (NAME, [("neg", [None, 1.0])], "None", "2 numbers"),
        (NAME, [("neg", {"neg": 0.5, "pos": 0.5})], "{'neg'", "2 numbers"),
        (NAME, [("neg", [[1], [1, 2]])], "[[1], [1, 2]]", "an answer of its task"),
        (NAME, [Label("neg", {"neg": 0.9, "pos": 0.9})], "sum 1.8", "sum to 1"),
        (
            *(NAME, [("neg", torch.tensor([0.5, 0.5], requires_grad=True))]),
            *("requires grad", "an answer of its task"),
        ),
        ("dependency", [DependencyTree(None, ("a",))], "got DependencyTree", "an answer"),
        ("dependency", np.array(1.0), "failed: TypeError", "None"),
    ],
)
def test_a_bad_answer_is_named(task: str, answers: Any, found: str, expected: str) -> None:
    labels = None if task == "dependency" else ["neg", "pos"]
    victim = FunctionVictim(lambda texts: answers, task, labels=labels)
    rows = victim.intern(TEXT[0])[None]
    with pytest.raises(InputError) as error:
        victim.predict(TextRows(rows, np.zeros_like(rows), np.array([3], np.int32)))
    assert error.value.key == "victim"
    assert found in error.value.found
    assert expected in str(error.value.expected)


@pytest.mark.parametrize(
    "labels",
    [{"neg", "pos"}, {"neg": 1, "pos": 0}, "np", [0, 1], ["neg", "neg"], [], None, np.array([])],
)
def test_labels_without_an_order_are_refused(labels: Any) -> None:
    with pytest.raises(InputError, match="labels"):
        FunctionVictim(labels_of(False), NAME, labels=labels)


def test_answers_in_types_of_numpy_are_as_plain_ones() -> None:
    plain, arrays = (
        FunctionVictim(lambda texts, make=make: [make(words) for words in texts])
        for make in (
            lambda words: DependencyTree(tuple(range(len(words))), ("dep",) * len(words)),
            lambda words: DependencyTree(np.arange(len(words)), np.array(["dep"] * len(words))),
        )
    )
    attack, examples = lexicon_attack(), sentences(3, "test")
    one, other = (
        list(attacked_records(DEPENDENCY, attack, victim, examples)) for victim in (plain, arrays)
    )
    assert [encode_record(line) for line in other] == [encode_record(line) for line in one]


def test_labels_of_the_data_that_it_cannot_answer_are_told(tmp_path: Path) -> None:
    victim = FunctionVictim(labels_of(True), NAME, labels=["neg", "pos"])
    examples = [Example(0, Sentence(("a",)), gold) for gold in ("POS", "neg", "NEG")]
    (warning,) = victim.warnings(examples, FileUse("texts.tsv"))
    assert "'POS'" in warning
    assert "2 in all" in warning


def test_a_function_that_fails_is_named_with_its_reason() -> None:
    def broken(texts: Texts) -> Sequence[Any]:
        raise ConnectionError("no route to host")

    with pytest.raises(InputError) as error:
        list(lexicon_attack().run(sentences(2, "test"), FunctionVictim(broken)))
    assert "broken failed: ConnectionError: no route to host" in error.value.found
    assert isinstance(error.value.__cause__, ConnectionError)


def test_the_victims_own_label_decides_ties() -> None:
    words = ("a", "good", "dog")
    table = {"bad": ("c", [0.4, 0.2, 0.4]), "old": ("b", [0.3, 0.4, 0.3])}

    def answer(texts: Texts) -> list[Any]:
        return [table.get(text[1], ("b", [0.4, 0.4, 0.2])) for text in texts]

    victim = FunctionVictim(answer, NAME, labels=["a", "b", "c"])
    example = Example(0, Sentence(words), "b")
    assert evaluate(victim, [example])["accuracy"] == 100
    for target, attacked in ((None, "c"), ("c", "c"), ("a", "b")):
        lexicon = Lexicon({"good": ["old", "bad"]})
        attack = Attack(lexicon, Greedy(), goal=LabelFlip(target=target))
        (result,) = attack.run([example], victim)
        assert (result.clean, result.attacked) == ("b", attacked)
        assert (result.skipped, result.success) == (False, attacked == "c")


@pytest.mark.parametrize("shares", [[0.333, 0.333, 0.333], [1, 0, 0], np.float32([0.5, 0.3, 0.2])])
def test_probabilities_may_be_rounded(shares: Any) -> None:
    answers = [("a", shares)]
    victim = FunctionVictim(lambda texts: answers, NAME, labels=["a", "b", "c"])
    (answer,) = evaluate(victim, [Example(0, Sentence(("x",)), "a")]).predictions
    assert [*answer.answer.probabilities.values()] == pytest.approx(shares, abs=1e-12)


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(),
        SystemExit(0),
        SystemExit("bye"),
        BrokenPipeError(32, "Broken pipe"),
        asyncio.CancelledError(),
        GeneratorExit(),
    ],
    ids=repr,
)
def test_a_victim_that_ends_is_a_failure_and_what_was_finished_is_kept(
    tmp_path: Path, error: BaseException
) -> None:
    examples, parser, calls = sentences(12, "test"), trained_parser(), []

    def ending(texts: Texts) -> Any:
        calls.append(len(texts))
        if len(calls) == 30:
            raise error
        return parser.predict(texts)

    def attacked(out: Path) -> AttackResults:
        victim = FunctionVictim(ending, batch_texts=8)
        return rp.attack(victim, examples, lexicon_attack(), out=out)

    with pytest.raises(InputError) as failure:
        attacked(tmp_path / "out")
    assert failure.value.key == "victim"
    kept = [line["id"] for line in read_records(tmp_path / "out" / "examples.jsonl")]
    assert 0 < len(kept) < 12
    calls[:] = [0] * 30
    assert attacked(tmp_path / "out").lines == attacked(tmp_path / "whole").lines


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), Stopped(15)], ids=repr)
def test_a_user_who_interrupts_a_victim_is_obeyed(stop: BaseException) -> None:
    def interrupted(texts: Texts) -> Any:
        raise stop

    with pytest.raises(type(stop)):
        evaluate(FunctionVictim(interrupted), sentences(2, "test"))


@pytest.mark.parametrize("recipe", ["pwws", "genetic", "beam"])
def test_a_victim_is_asked_what_is_reported(recipe: str) -> None:
    asked: list[int] = []
    parser = trained_parser()

    def counting(texts: Texts) -> list[Any]:
        asked.append(len(texts))
        return parser.predict(texts)

    attack = lexicon_attack()
    attack.search = rp.recipe(recipe).search
    attack.budget = 60
    results = rp.attack(FunctionVictim(counting, batch_texts=7), sentences(9, "test"), attack)
    assert sum(asked) == results.summary["victim_texts"]
    assert sum(asked) == sum(line["queries"]["unique"] + 1 for line in results.lines)
    assert len(asked) == results.summary["victim_forwards"]
    assert max(asked) == 7


def test_evaluation_asks_once_about_every_input() -> None:
    asked: list[tuple[str, ...]] = []

    def counting(texts: Texts) -> list[Any]:
        asked.extend(map(tuple, texts))
        return [
            DependencyTree((*range(len(words)),), ("root", *["dep"] * (len(words) - 1)))
            for words in texts
        ]

    victim, examples = FunctionVictim(counting, batch_texts=5), sentences(12, "test")
    scores = evaluate(victim, examples)
    assert sorted(asked) == sorted(example.sentence.words for example in examples)
    assert len(scores.predictions) == 12
    clean = {example.id: example for example in examples}
    asked.clear()
    operations = [Typos()]
    noisy = [*perturbed_answers(victim, examples, scores.predictions, operations, 0)]
    copies = [*perturbed(victim.task, operations, examples, 0)]
    assert sorted(asked) == sorted(copy.example.sentence.words for copy in copies)
    assert len(noisy) == len(operations)
    assert {copy.example.id for copy in copies} <= set(clean)


def test_transfer_asks_once_about_every_sentence() -> None:
    asked: list[tuple[str, ...]] = []

    def counting(texts: Texts) -> list[Any]:
        asked.extend(map(tuple, texts))
        return ["neg" if "bad" in words else "pos" for words in texts]

    def source(*texts: str) -> Source:
        adversarial = [
            replace(one, sentence=Sentence((*text.split(),)))
            for one, text in zip(originals, texts, strict=True)
        ]
        mask = np.ones(2, dtype=np.bool_)
        return Source("a", CLASSIFICATION, originals, adversarial, mask, [mask] * 2)

    texts = [("a", "meal"), ("the", "film")]
    originals = [Example(id_, Sentence(text), "pos") for id_, text in enumerate(texts)]
    victim = FunctionVictim(counting, NAME, labels=["neg", "pos"])
    sources = [source("bad meal", "the film"), source("bad meal", "bad film")]
    first, second = transfer(victim, sources)
    assert (first["accuracy"].rate.estimate, second["accuracy"].rate.estimate) == (50, 100)
    assert sorted(asked) == sorted([*texts, ("bad", "meal"), ("bad", "film")])


def test_what_is_no_victim_is_refused() -> None:
    for settings, key in (
        ({"labels": ["a"]}, "labels"),
        ({"task": NAME}, "labels"),
        ({"task": NAME, "labels": ["a", "a"]}, "labels"),
        ({"task": SimpleNamespace(name="summaries")}, "task"),
        ({"batch_texts": 0}, None),
        ({"batch_texts": "8"}, None),
        ({"batch_texts": 2.5}, None),
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
    black_box = FunctionVictim(function, NAME, labels=labels, batch_texts=3, pairs=True)
    lexicon = Lexicon({"good": ["bad", "old"], "dog": ["cat"], "ran": ["fled", "slept"]})
    attack, task = Attack(lexicon, PWWS()), CLASSIFICATION
    expected, found = (
        {line["id"]: line for line in attacked_records(task, attack, victim, PAIRS)}
        for victim in (ModelVictim([model]), black_box)
    )
    for line in (*expected.values(), *found.values()):
        line["unseen"] = None
    assert found == expected
    assert {tuple(premise) for premise, _ in asked} <= {one.sentence.context for one in PAIRS}
    assert len({tuple(text) for _, text in asked}) > 9


def test_pairs_and_single_texts_are_told_apart() -> None:
    made = {
        pairs: FunctionVictim(len, NAME, labels=["pos"], pairs=pairs)  # type: ignore[arg-type]
        for pairs in (False, True)
    }
    with pytest.raises(InputError, match=r"sentence 1: a pair, but .* reads single texts"):
        made[False].check(PAIRS)
    with pytest.raises(InputError, match="sentence 5: a single text, but len reads pairs"):
        made[True].check([*PAIRS, Example(4, Sentence(("cats",)), "pos")])
    with pytest.raises(InputError) as error:
        FunctionVictim(len, pairs=True)  # type: ignore[arg-type]
    assert error.value.key == "pairs"
