"""Attacks on utterances with raw texts, from files to files: kinds of rows, resuming, commands."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytorch_lightning as pl
import yaml
from test_taggers import answering

import robustparse as rp
from robustparse.attacks import Attack, Greedy, Lexicon, RandomSubstitution
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.cli.main import main
from robustparse.data.utterances.forms import read_forms
from robustparse.defenses import SubstitutionAdversary
from robustparse.evaluation.example_records import read_records
from robustparse.models import Seq2Seq
from robustparse.types import Example
from sample_runs import save_checkpoint

# The last row's utterance is not quite made of its raw text.
RAW = """\
show every river in new york ?\tshow everi river in s0\t( a )\t{"s0": "new york"}\texact
which cities are here\twhich citi are here\t( a )\t{}\texact
show the biggest bridges\tshow the biggest bridg\t( a )\t{}\texact
which cities are near\twhich citi be near\t( a )\t{}\tfuzzy
"""
TABLE = {"river": ["rivers", "streams"], "bridges": ["bridge"], "cities": ["city", "town"]}
STEMMED = {"river": ["rivers", "streams"], "bridg": ["bridge"], "citi": ["city", "towns"]}


@pytest.fixture
def parser(tmp_path: Path) -> Seq2Seq:
    """A parser that has learnt the one form of the rows in ``raw.tsv``, with all words known."""
    (tmp_path / "raw.tsv").write_text(RAW)
    found = answering(read_forms(tmp_path / "raw.tsv"))
    save_checkpoint(found, tmp_path / "tiny.ckpt")
    return found


def substitution(table: dict[str, list[str]]) -> Attack:
    return Attack(Lexicon(table), RandomSubstitution(gamma=1.0, trials=1))


def in_two_columns(path: Path) -> Path:
    rows = (line.split("\t") for line in path.read_text().splitlines())
    (path.parent / "forms.tsv").write_text("".join(f"{row[1]}\t{row[2]}\n" for row in rows))
    return path.parent / "forms.tsv"


def test_an_attack_writes_rows_of_the_kind_it_read(tmp_path: Path, parser: Seq2Seq) -> None:
    raw, out = tmp_path / "raw.tsv", tmp_path / "out"
    for examples in (str(raw), str(raw), rp.read(raw, "semantic")):  # the second time it resumes
        folder = out if isinstance(examples, str) else tmp_path / "given"
        rp.attack(parser, examples, substitution(TABLE), out=folder)
        lines = list(read_records(folder / "examples.jsonl"))
        assert [" ".join(line["adversarial_tokens"]) for line in lines] == [
            *("show every streams in new york ?", "which town are here"),
            *("show the biggest bridges", "which town are near"),
        ]
        assert [line["edited"] for line in lines] == [[2], [1], [], [1]]
        assert [line["tokens"] for line in lines] == [
            row.split("\t")[0].split() for row in RAW.splitlines()
        ]
        assert [" ".join(line["adversarial_read"]) for line in lines] == [
            *("show everi stream in s0", "which town are here"),
            *("show the biggest bridg", "which town be near"),
        ]
    written = [row.split("\t") for row in (out / "adversarial.tsv").read_text().splitlines()]
    given = [row.split("\t") for row in RAW.splitlines()]
    assert [row[2:] for row in written] == [row[2:] for row in given]
    for row, line in zip(written, lines, strict=True):
        assert row[0].split() == line["adversarial_tokens"]
        assert row[1].split() == line["adversarial_read"]
    again = substitution({"streams": ["stream", "brooks"]})
    (one,) = rp.attack(parser, str(out / "adversarial.tsv"), again, limit=1)
    assert " ".join(one.adversarial) == "show every brooks in new york ?"


def test_raw_texts_are_certified_as_the_parser_reads_them(tmp_path: Path, parser: Seq2Seq) -> None:
    """A substitute with the stem of the word is no other input; slots are never changed."""
    raw = tmp_path / "raw.tsv"
    slots = {"new": ("old",), "york": ("delhi",), "?": ("!",)}
    table = SubstitutionTable({word: tuple(new) for word, new in TABLE.items()} | slots)
    results = rp.certify(parser, str(raw), table, edits=[1, "all"])
    assert rp.certify(parser, str(raw), table, edits="all").score("all") == results.score("all")
    inputs = [record["inputs"] for record in results.records]
    # "rivers", "bridge" and "city" have the stems of the words that they replace.
    assert inputs == [{"1": count, "all": count} for count in (2, 2, 1, 2)]
    assert [record["tokens"] for record in results.records] == [
        row.split("\t")[0].split() for row in RAW.splitlines()
    ]
    assert results.records[0]["read"] == ["show", "everi", "river", "in", "s0"]
    attack = Attack(
        Lexicon({word: [*new] for word, new in table.substitutes.items()}),
        Greedy(),
    )
    for line, record in zip(rp.attack(parser, str(raw), attack), results.records, strict=True):
        assert not (record["certified"]["all"]["exact_match"] and line.success)
        for witness in record["witnesses"]:
            assert {*witness["words"].values()} <= {"streams", "town"}


def test_without_raw_texts_candidates_are_stemmed(tmp_path: Path, parser: Seq2Seq) -> None:
    forms = in_two_columns(tmp_path / "raw.tsv")
    rp.attack(parser, str(forms), substitution(STEMMED), out=tmp_path / "out")
    assert (tmp_path / "out" / "adversarial.tsv").read_text() == (
        "show everi stream in s0\t( a )\nwhich town are here\t( a )\n"
        "show the biggest bridg\t( a )\nwhich town be near\t( a )\n"
    )
    assert "read" not in (tmp_path / "out" / "examples.jsonl").read_text()


@pytest.mark.parametrize("raw", [True, False])
def test_commands_read_what_an_attack_wrote(tmp_path: Path, parser: Seq2Seq, raw: bool) -> None:
    data = tmp_path / "raw.tsv" if raw else in_two_columns(tmp_path / "raw.tsv")
    recipe = {
        "candidates": {
            "class_path": "robustparse.attacks.Lexicon",
            "init_args": {"table": TABLE | STEMMED},
        },
        "search": {
            "class_path": "robustparse.attacks.RandomSubstitution",
            "init_args": {"gamma": 1.0, "trials": 1},
        },
    }
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    model, out = ["--checkpoint", str(tmp_path / "tiny.ckpt"), "--device", "cpu"], tmp_path / "out"
    attack = ["--attack", str(tmp_path / "recipe.yaml"), "--data", str(data)]
    main(["attack", *attack, *model, "--out", str(out)])
    main(["transfer", str(out), *model, "--out", str(tmp_path / "transfer")])
    main(["evaluate", "--data", str(out / "adversarial.tsv"), *model, "--out", str(tmp_path / "e")])
    summary = json.loads((out / "summary.json").read_text())
    scores = json.loads((tmp_path / "e" / "scores.json").read_text())
    assert scores["exact_match"] == summary["attacked"]["exact_match"]
    found = json.loads((tmp_path / "transfer" / "transfer.json").read_text())
    ((rate,),) = found["rates"]["exact_match"]
    assert rate["rate"]["estimate"] == summary["success_rate"]
    main(["augment", *attack, *model, "--out", str(tmp_path / "pairs.tsv"), "--keep", "pairs"])
    assert (tmp_path / "pairs.tsv").read_text().splitlines() == [
        "show everi stream in s0\tshow everi river in s0\t( a )",
        "which town are here\twhich citi are here\t( a )",
        "which town be near\twhich citi be near\t( a )",
    ]


@pytest.mark.parametrize(
    ("block", "table"), [(True, TABLE), (False, STEMMED), (True, {"river": ["rivers"]})]
)
def test_online_substitution_trains_on_stems(
    tmp_path: Path, parser: Seq2Seq, block: bool, table: dict[str, list[str]]
) -> None:
    raw = tmp_path / "raw.tsv"
    examples: list[Example] = read_forms(raw if block else in_two_columns(raw))
    adversary = SubstitutionAdversary(substitution(table))
    trainer = SimpleNamespace(precision_plugin=pl.plugins.Precision())
    copies = sorted(adversary.copies(trainer, parser, examples, seed=0), key=lambda copy: copy.id)
    assert [" ".join(copy.sentence.words) for copy in copies] == (
        ["show everi stream in s0", "which town are here", "which town be near"]
        if len(table) > 1
        else []
    )
    assert all(copy.gold == examples[copy.id].gold and copy.row is None for copy in copies)
