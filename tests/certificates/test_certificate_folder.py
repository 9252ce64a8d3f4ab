"""The folder of certificates: the same files however often a run was stopped, and what they say."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.exhaustion import Exhaustive
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.errors import InputError
from robustparse.evaluation.certificate_folder import (
    certify_into,
    read_certificates,
    read_certified_summary,
)
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.models.victim import ModelVictim
from robustparse.types import Example
from sample_runs import sentences, trained_parser
from small_victims import EDITS, case

RUN: Any = {"victims": ["parser.ckpt"], "edits": [*EDITS], "limit": None}
TIMES = {"victim_forwards", "seconds", "victim_seconds"}


def table() -> SubstitutionTable:
    """Two substitutes for each word of the sample's lexicon."""
    lexicon = {key.rpartition("/")[0] or key: new for key, new in treebank_lexicon(0).items()}
    rows = {
        word.lower(): tuple(dict.fromkeys(map(str.lower, new)))[:2] for word, new in lexicon.items()
    }
    return SubstitutionTable({word: new for word, new in rows.items() if new and word not in new})


def certify(
    folder: Path,
    examples: list[Example],
    on_sentence: Callable[[CertifiedScores], None] = lambda _: None,
    run: Any = RUN,
    **settings: Any,
) -> dict[str, Any]:
    exhaustive = Exhaustive(table(), EDITS, 30, **settings)
    victim = ModelVictim([trained_parser()])
    return dict(certify_into(folder, exhaustive, examples, victim, run, on_sentence))


def lasting(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """The lines and the summary of a folder, without times."""
    summary = json.loads((folder / "summary.json").read_text())
    kept = {key: value for key, value in summary.items() if key not in TIMES}
    return (folder / "certificates.jsonl").read_bytes(), kept


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run, which nobody changes."""
    folder = tmp_path_factory.mktemp("whole")
    certify(folder, sentences(8, "test"))
    return folder


@pytest.mark.parametrize("stop", [1, 4, 8])
def test_a_run_stopped_and_run_again_writes_the_same_files(tmp_path, whole, stop):
    calls: list[int] = []

    def on_sentence(scores: CertifiedScores) -> None:
        calls.append(scores.sentences)
        if len(calls) == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify(tmp_path, sentences(8, "test"), on_sentence)
    assert len(read_certificates(tmp_path)) == stop
    assert not (tmp_path / "summary.json").exists()
    with (tmp_path / "certificates.jsonl").open("ab") as file:
        file.write(b'{"id": 7, "tokens": ["to')  # torn by a kill
    summary = certify(tmp_path, sentences(8, "test"), on_sentence, batch_words=1)
    assert len(calls) == 8  # no sentence is certified twice
    assert lasting(tmp_path) == lasting(whole)
    assert (summary["seconds"] is None) == (stop == 8)
    before = (tmp_path / "summary.json").read_bytes()
    assert certify(tmp_path, sentences(8, "test"), on_sentence) == summary
    assert (tmp_path / "summary.json").read_bytes() == before
    assert len(calls) == 8


def test_order_changes_nothing_and_a_higher_limit_continues(tmp_path, whole):
    certify(tmp_path, sentences(5, "test")[::-1], run={**RUN, "limit": 5})
    assert read_certified_summary(tmp_path)["n_sentences"] == 5
    certify(tmp_path, sentences(8, "test")[::-1])
    assert lasting(tmp_path) == lasting(whole)


def test_scores_are_those_of_the_lines(whole):
    examples, summary = sentences(8, "test"), read_certified_summary(whole)
    records = read_certificates(whole)
    assert [record["id"] for record in records] == [example.id for example in examples]
    victim = ModelVictim([trained_parser()])
    scores = scores_of(victim.task, predictions(victim, examples), examples, "none")
    names = {"uas": "uas", "las": "las", "tree": "lcm"}
    assert summary["clean"] == pytest.approx({key: scores[name] for key, name in names.items()})
    words = sum(len(example.sentence) for example in examples)
    previous = summary["clean"]
    assert any(bounds["undecided"] for bounds in summary["certified"].values())
    for edits, bounds in summary["certified"].items():
        certified = [record["certified"][edits] for record in records]
        survived = [record["survived"].get(edits, record["certified"][edits]) for record in records]
        for bound, parts in (("lower", certified), ("upper", survived)):
            for name in ("uas", "las"):
                right = sum(len(of_one[name]) for of_one in parts)
                assert bounds[bound][name] == pytest.approx(100 * right / words)
            trees = [
                len(of_one["las"]) == len(record["tokens"])
                for of_one, record in zip(parts, records, strict=True)
            ]
            assert bounds[bound]["tree"] == pytest.approx(100 * np.mean(trees))
        assert bounds["undecided"] == sum(edits in record["undecided"] for record in records)
        assert bounds["inputs"] == sum(record["tried"][edits] for record in records)
        for name, before in previous.items():
            assert bounds["lower"][name] <= bounds["upper"][name] <= before
        previous = bounds["upper"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'"tokens":\["', '"tokens":["x'),
        (r'"heads":\[\d', '"heads":[7'),
        (r'"certified":\{"1":\{"uas":\[\d,', '"certified":{"1":{"uas":['),
        (r'"refutes":\{"uas":\[\d', '"refutes":{"uas":[99'),
        (r'"certified":\{"1"', '"certified":{"3"'),
        (r'"counted":', '"counted":-'),
        (r'"id":\d+', '"id":77'),
        (r'"tried":', '"tries":'),
    ],
)
def test_a_damaged_line_is_named(tmp_path, whole, old, new):
    lines = (whole / "certificates.jsonl").read_text().splitlines(keepends=True)
    at, damaged = next(
        (at, text)
        for at, line in enumerate(lines)
        if (text := re.sub(old, new, line, count=1)) != line
    )
    lines[at] = damaged
    (tmp_path / "certificates.jsonl").write_text("".join(lines))
    (tmp_path / "run.json").write_text((whole / "run.json").read_text())
    with pytest.raises(InputError) as error:
        certify(tmp_path, sentences(8, "test"))
    assert error.value.path == str(tmp_path / "certificates.jsonl")
    assert error.value.line == at + 1


def test_another_run_is_refused(tmp_path, whole):
    certify(tmp_path, sentences(2, "test"))
    with pytest.raises(InputError) as error:
        certify(tmp_path, sentences(2, "test"), run={**RUN, "cap": 31})
    assert error.value.path == str(tmp_path)


def test_inputs_beyond_what_json_holds_are_left_out(tmp_path):
    small = case("trees", 0)
    words = tuple(small.example.sentence.words) * 40
    heads = small.example.gold.heads * 40
    gold = replace(small.example.gold, heads=heads, labels=small.example.gold.labels * 40)
    example = replace(small.example, sentence=replace(small.example.sentence, words=words))
    victim: Any = replace(small.victim, gold=gold)
    exhaustive = Exhaustive(small.table, (1, "all"), 10)
    certify_into(tmp_path, exhaustive, [replace(example, gold=gold)], victim, RUN)
    (record,) = read_certificates(tmp_path)
    assert record["inputs"]["all"] is None
    assert record["inputs"]["1"] is not None
    assert record["tried"] == {"1": 10, "all": 10}
