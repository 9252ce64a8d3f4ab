"""`robustparse.encode`: encodings from tables and data of every task."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

import robustparse as rp
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates import Recoding, WordAnswers, substitutes_as_read
from robustparse.errors import InputError
from robustparse.tasks.registry import named
from robustparse.types import Example, LogicalForm, Sentence
from sample_runs import sample_table, sentences, write_sample

TABLE = sample_table()


def test_a_file_a_table_and_examples_give_one_encoding_in_any_order(tmp_path: Path) -> None:
    examples = sentences(80)
    TABLE.write(tmp_path / "table.jsonl")
    data = write_sample(tmp_path / "train.conllu", examples)
    first = rp.encode(tmp_path / "table.jsonl", data, out=tmp_path / "encoding.jsonl")
    assert rp.Encoding.read(tmp_path / "encoding.jsonl") == first
    shuffled = [
        replace(example, id=id_)
        for id_, example in enumerate(random.Random(0).sample(examples, len(examples)))
    ]
    reordered = SubstitutionTable(dict(reversed(TABLE.substitutes.items())))
    for other in (rp.encode(TABLE, data), rp.encode(reordered, shuffled)):
        assert other.clusters == first.clusters
        other.write(tmp_path / "other.jsonl")
        lines = [
            (tmp_path / name).read_text().split("\n") for name in ("other.jsonl", "encoding.jsonl")
        ]
        assert lines[0][1:] == lines[1][1:]
    assert first.settings["substitutes"] == TABLE.digest
    assert (first.settings["measure"], first.settings["fidelity"]) == ("mutual_information", 0.7)


def test_shares_are_those_of_a_count_by_hand() -> None:
    examples = sentences(60)
    encoding = rp.encode(TABLE, examples, fidelity=0.8, measure="one_hot")
    words = [word.lower() for example in examples for word in example.sentence.words]
    attackable = [word for word in words if TABLE.substitutes.get(word)]
    one_code = [
        word
        for word in attackable
        if all(encoding.code(v) == encoding.code(word) for v in TABLE.substitutes[word])
    ]
    assert Recoding(**encoding.settings["tokens"]) == Recoding(
        tokens=len(words),
        recoded=sum(encoding.code(word) != word for word in words),
        attackable=len(attackable),
        one_code=len(one_code),
    )
    assert 0 < len(one_code) < len(attackable)


def test_a_higher_fidelity_recodes_fewer_tokens() -> None:
    examples = sentences(60)
    for measure in ("one_hot", "mutual_information"):
        recoded = [
            rp.encode(TABLE, examples, fidelity=fidelity, measure=measure).settings["tokens"]
            for fidelity in (0.0, 0.5, 0.9, 1.0)
        ]
        counts = [tokens["recoded"] for tokens in recoded]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > 0
        assert counts[-1] == 0
        assert recoded[0]["one_code"] == recoded[0]["attackable"]


def test_stop_words_keep_codes_of_their_own_if_asked() -> None:
    table = SubstitutionTable({"the": ["every"], "every": ["the"], "dog": ["cat"]})
    texts = [Example(0, Sentence(("the", "dog", "and", "every", "cat")), "x")]
    assert set(rp.encode(table, texts, fidelity=0.1).clusters) == {"cat", "every"}
    kept = rp.encode(table, texts, fidelity=0.1, stop_words="textfooler")
    assert set(kept.clusters) == {"cat"}


def test_stems_are_joined_by_the_words_that_they_stand_for(tmp_path: Path) -> None:
    """Slots are never encoded; a table has words, and a parser reads their stems."""
    raw = tmp_path / "raw.tsv"
    raw.write_text(
        'show every river in new york ?\tshow everi river in s0\t( a )\t{"s0": "new york"}\texact\n'
        "which cities are here\twhich citi are here\t( a )\t{}\texact\n"
    )
    table = SubstitutionTable(
        {"river": ["streams"], "every": ["all"], "cities": ["towns", "city"], "york": ["haven"]}
    )
    examples = rp.read(raw, "semantic")
    read = substitutes_as_read(examples, table, named("semantic").files)
    assert {stem: {*others} for stem, others in read.items() if others} == {
        "river": {"stream"},
        "everi": {"all"},
        "citi": {"town"},
    }
    encoding = rp.encode(table, raw, task="semantic", fidelity=0.1)
    assert encoding.settings["measure"] == "one_hot"
    assert encoding.code("town") == "citi"
    with pytest.raises(InputError) as error:
        rp.encode(table, raw, task="semantic", measure="mutual_information")
    assert error.value.key == "measure"


def test_words_of_contexts_are_training_words() -> None:
    pair = Example(0, Sentence(("a", "dog"), context=("A", "cat")), "yes")
    assert WordAnswers.of([pair]).counts == {"a": 2, "cat": 1, "dog": 1}
    form = Example(0, Sentence(("a",)), LogicalForm("( a )", "lambda"))
    assert WordAnswers.of([form]).counts == {"a": 1}


def test_a_table_without_words_of_the_data_is_an_error() -> None:
    with pytest.raises(InputError) as error:
        rp.encode(SubstitutionTable({"zebra": ["horse"]}), sentences(3))
    assert error.value.key == "substitutes"


def test_data_must_be_examples() -> None:
    for data in ([], [1], [*sentences(1), "the dog"]):
        with pytest.raises(InputError) as error:
            rp.encode(TABLE, data)  # type: ignore[arg-type]
        assert error.value.key == "data"
