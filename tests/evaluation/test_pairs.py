"""The measures of Huang et al. (2021) on perturbed texts made beforehand, against a plain count."""

import gzip
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.evaluation.pairs import (
    check_originals,
    checked_pairs,
    pair_outcomes,
    pair_scores,
    read_perturbed_pairs,
)
from robustparse.models import LSTMEncoder, ModelVictim, Seq2Seq, TranX
from robustparse.tasks.classification import CLASSIFICATION, ClassificationFiles
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.text import PAIR_COLUMNS
from robustparse.types import Example, LogicalForm, Sentence
from robustparse.victims import BlackBox

ROWS = {
    "insertion": [
        ("right a", "right b", "x"),
        ("wrong a", "right b", "x"),
        ("right a", "wrong b", "x"),
        ("wrong c", "wrong b", "x"),
        ("right x", "right x b", "x"),
    ],
    "deletion": [("wrong a", "right b", "x"), ("wrong a", "right b", "x"), ("right", "right", "x")],
    "none": [("right", "wrong", "x")],
}
MACRO = (160 / 3, 580 / 9, 50.0, 160 / 3, 580 / 9, 70.0)


class Honest(BlackBox):
    """Answers x to texts that say that they are right."""

    def __init__(self) -> None:
        super().__init__("classification", labels=["x", "y"])

    def answer(self, texts: list[list[str]]) -> list[str]:
        return ["x" if each[0] == "right" else "y" for each in texts]


def write(folder: Path, rows: dict[str, list[tuple[str, str, str]]] = ROWS) -> Path:
    for name, some in rows.items():
        text = "".join("\t".join(row) + "\n" for row in some)
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    return folder


def test_measures_by_hand(tmp_path: Path):
    pairs = read_perturbed_pairs(write(tmp_path), CLASSIFICATION)
    scores, worst = pair_scores(pair_outcomes(Honest(), pairs))
    found = {
        name: [*[*asdict(one).values()][:4], one.changed, one.answerable, one.deduplicated]
        for name, one in scores.items()
    }
    third = 100 / 3
    assert found == {
        # rows, standard, perturbation and robust accuracy, changed, answerable, deduplicated
        "deletion": [3, 100.0, third, third, 0.0, third, 50.0],
        "insertion": [5, 60.0, 60.0, pytest.approx(2 * third), 60.0, 60.0, 60.0],
        "none": [1, 0.0, 100.0, None, 100.0, 100.0, 100.0],
        "micro": [9, *map(pytest.approx, (600 / 9, 500 / 9, 50.0, 50.0, 500 / 9, 500 / 7))],
        "macro": [9, *map(pytest.approx, MACRO)],
    }
    assert all(one.blackbox_success_rate is None for one in scores.values())
    # Originals: "right b" and "wrong b" have a wrong text, "right x b", "right" and "wrong" none.
    assert worst == pytest.approx(60.0)


FORM = "job ( ANS ) , loc ( ANS , s0 )"


class Slotted(ClassificationFiles):
    """Files whose answers need the slot of a text, if it has one."""

    def needed(self, example: Example) -> frozenset[str]:
        return frozenset({"s0"} & {*example.sentence.words})


def test_a_row_that_lost_what_its_answer_needs(tmp_path: Path):
    texts = (
        *("right a\tright x s0", "right s0\tright x s0"),  # one has lost the slot
        *("right a\tright a", "wrong s0\twrong s0", "right s0\twrong s0"),
    )
    rows = [(*text.split("\t"), "x") for text in texts]
    pairs = read_perturbed_pairs(write(tmp_path, {"deletion": rows}), CLASSIFICATION)
    victim = Honest()
    victim.task = replace(CLASSIFICATION, files=Slotted())
    scores = pair_scores(pair_outcomes(victim, pairs))[0]["deletion"]
    assert (scores.standard_accuracy, scores.perturbation_accuracy) == pytest.approx((60.0, 80.0))
    assert (scores.answerable, scores.attainable) == pytest.approx((75.0, 40.0))


def test_a_form_outside_the_grammar_is_named_by_its_file_and_line(tmp_path: Path):
    nested = "job ( ANS ) , loc ( ANS , loc ( ANS , s0 ) )"
    rows = [("a s0", "a", FORM), ("a s0 b", "a", FORM), ("b", "a", nested)]
    folder = write(tmp_path, {"insertion": rows})
    original = read_perturbed_pairs(folder, semantic_task())["insertion"][0].original
    known = Vocabulary.from_examples([original], min_count=1)
    parser = TranX(LSTMEncoder(5, 0, 4, 6, 1), vocabulary=known)
    with pytest.raises(InputError) as error:
        checked_pairs(ModelVictim([parser]), folder, [original])
    assert (error.value.path, error.value.line) == (str(folder / "insertion.tsv"), 3)


def test_unknown_words_are_those_without_a_vector_of_their_own(tmp_path: Path):
    rows = {"deletion": [("a zebra s0", "a s0", FORM)], "insertion": [("a s0", "a s0", FORM)] * 2}
    pairs = read_perturbed_pairs(write(tmp_path, rows), semantic_task())
    known = Vocabulary.from_examples([pairs["deletion"][0].original], min_count=1)
    parser = Seq2Seq(LSTMEncoder(5, 0, 4, 6, 1), token_dim=4, hidden=5, vocabulary=known)
    scores, _ = pair_scores(pair_outcomes(ModelVictim([parser]), pairs))
    found = {name: one.unknown_words for name, one in scores.items()}
    third = 100 / 3
    expected = {"deletion": third, "insertion": 0.0, "micro": 100 / 7, "macro": third / 2}
    assert found == pytest.approx(expected)
    characters = LSTMEncoder(0, 5, 4, 6, 1)
    parser = Seq2Seq(characters, token_dim=4, hidden=5, vocabulary=known)
    scores, _ = pair_scores(pair_outcomes(ModelVictim([parser]), pairs))
    assert {one.unknown_words for one in scores.values()} == {None}


def test_success_counts_rows_whose_gold_loss_has_grown(tmp_path: Path):
    forms = ["( a s0 )", "( b s0 )", "( a c0 )"]
    words = ["what", "is", "s0", "c0", "the", "a"]
    rng = np.random.default_rng(0)
    rows = [
        (" ".join(rng.choice(words, 3)), " ".join(rng.choice(words, 4)), forms[number % 3])
        for number in range(40)
    ]
    pairs = read_perturbed_pairs(write(tmp_path, {"insertion": rows}), semantic_task())
    originals = [pair.original for pair in pairs["insertion"]]
    settings = {"token_dim": 4, "hidden": 5, "beam": 2, "longest": 12}
    known = Vocabulary.from_examples(originals, min_count=1)
    parser = Seq2Seq(LSTMEncoder(5, 0, 4, 6, 1), vocabulary=known, **settings).double()
    adam = torch.optim.Adam(parser.parameters(), 0.02)
    batch = parser.encode(originals).batch(range(len(originals)), 1.0)
    for _ in range(40):
        adam.zero_grad()
        parser.loss(parser(batch), batch).mean().backward()
        adam.step()
    parser.eval()
    grown = after = 0
    for pair in pairs["insertion"]:
        losses = []
        for example in pair:
            single = parser.encode([example]).batch([0], 1.0)
            with torch.no_grad():
                losses.append(float(parser.loss(parser(single), single)))
        (answer,) = parser.predict([pair.perturbed.sentence])
        if losses[0] > losses[1]:
            grown += 1
            after += answer != pair.perturbed.gold
    scores, _ = pair_scores(pair_outcomes(ModelVictim([parser]), pairs))
    assert 0 < after <= grown < 40
    assert scores["insertion"].blackbox_success_rate == pytest.approx(100 * after / grown)


@pytest.mark.parametrize(
    ("line", "expected"),
    [("a\tb", "tabs"), ("a\tb\t( a )\td", "tabs"), ("a\t\t( a )", "tabs"), ("a\tb\t( a", "')'")],
)
def test_what_is_no_row_is_named(tmp_path: Path, line: str, expected: str):
    (tmp_path / "insertion.tsv").write_text(f"a\tb\t( a )\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_perturbed_pairs(tmp_path, semantic_task())
    assert error.value.line == 2
    assert expected in str(error.value.expected)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "perturbed\toriginal\tform\na\tb\t( a )\n"),
        ("a.csv", "id,original,perturbed\n1,b,a\n"),
        ("a.jsonl", '{"perturbed": "a", "original": "b", "form": "( a )"}\n'),
    ],
)
def test_a_missing_column_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        read_perturbed_pairs(tmp_path, semantic_task())
    assert "'answer'" in error.value.found


def test_lists_are_no_texts(tmp_path: Path) -> None:
    row = {"perturbed": ["a", "b"], "original": "a", "answer": "x"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    with pytest.raises(InputError) as error:
        read_perturbed_pairs(tmp_path, CLASSIFICATION)
    assert error.value.line == 1


@pytest.mark.parametrize("ending", ["csv", "jsonl", "tsv.gz"])
def test_an_original_that_does_not_fit_is_named_with_its_file(ending: str, tmp_path: Path):
    row = ("right x b", "right b", "x")
    if ending == "jsonl":
        text = json.dumps(dict(zip(PAIR_COLUMNS, row, strict=True)))
    else:
        text = ("," if ending == "csv" else "\t").join(row)
    path = tmp_path / f"insertion.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    (tmp_path / f"._insertion.{ending}").write_bytes(b"\0\5\x16\7")  # as macOS leaves behind
    pairs = read_perturbed_pairs(tmp_path, CLASSIFICATION)
    assert list(pairs) == ["insertion"]
    with pytest.raises(InputError) as error:
        check_originals(CLASSIFICATION, pairs, [])
    assert (error.value.path, error.value.line) == (str(path), 1)


def test_folders_and_originals_that_do_not_fit(tmp_path: Path):
    with pytest.raises(InputError) as error:
        read_perturbed_pairs(tmp_path, semantic_task())
    assert error.value.path == str(tmp_path)
    write(tmp_path)
    with pytest.raises(InputError):
        read_perturbed_pairs(tmp_path, DEPENDENCY)
    task = CLASSIFICATION
    pairs = read_perturbed_pairs(tmp_path, task)
    texts = ["right b", "wrong b", "right x b", "right"]
    examples = [Example(i, Sentence(tuple(text.split())), "x") for i, text in enumerate(texts)]
    with pytest.raises(InputError) as error:
        check_originals(task, pairs, examples)
    assert (error.value.path, error.value.line) == (str(tmp_path / "none.tsv"), 1)
    check_originals(task, {"insertion": pairs["insertion"]}, examples)


@pytest.mark.parametrize("casing", [str.lower, str.title])
def test_rows_with_another_answer_than_the_data_are_refused(
    casing: Callable[[str], str], tmp_path: Path
):
    def example(id_: int, text: str, gold: str) -> Example:
        return Example(id_, Sentence(tuple(text.split())), LogicalForm(gold, "lambda"))

    row = "in a b\tin a\t"
    same = "( lambda $7 e ( and ( y $7 ) ( x $7 ) ) )"
    head = casing("\t".join(PAIR_COLUMNS))
    text = f"{head}\n{row}{same}\n{row}( x b )\n{row}( x a )\n"
    (tmp_path / "insertion.tsv").write_text(text)
    task = semantic_task()
    pairs = read_perturbed_pairs(tmp_path, task)
    gold = "( lambda $0 e ( and ( x $0 ) ( y $0 ) ) )"
    data = [example(0, "in a", gold), example(1, "in a", "( x b )"), example(2, "a", "( x a )")]
    with pytest.raises(InputError) as error:
        check_originals(task, pairs, data)
    assert (error.value.line, error.value.found) == (4, "the answer '( x a )' to 'in a'")
    check_originals(task, pairs, [*data, example(3, "in a", "( x a )")])
