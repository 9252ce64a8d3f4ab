"""``robustparse certify``: each kind of victim, its files, resuming, and mistakes."""

import gc
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_runs import attack_arguments, mistake

import robustparse as rp
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.cli.main import main
from robustparse.data.sample.reviews import review_lexicon
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.evaluation.certificate_folder import read_certificates
from robustparse.victims import FunctionVictim
from sample_runs import save_checkpoint
from sample_texts import texts, trained_classifier, write_texts

TIMES = ("victim_forwards", "seconds", "victim_seconds")


def write_table(path: Path, lexicon: dict[str, list[str]]) -> Path:
    """A table with two substitutes for each word of a lexicon."""
    rows: dict[str, tuple[str, ...]] = {}
    for key, words in lexicon.items():
        word = (key.rpartition("/")[0] or key).lower()
        others = dict.fromkeys(new.lower() for new in words if new.lower() != word)
        if others:
            rows[word] = tuple(others)[:2]
    SubstitutionTable(rows, {"sources": ["sample"]}).write(path)
    return path


@pytest.fixture(scope="module")
def trees(made: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options of a command on a parser."""
    folder = tmp_path_factory.mktemp("trees")
    table = write_table(folder / "table.jsonl", treebank_lexicon(0))
    options = {"checkpoint": made / "tiny.ckpt", "data": made / "test.conllu", "cap": 60}
    options |= {"substitutes": table, "limit": 6, "device": "cpu"}
    return [f"--{key}={value}" for key, value in options.items()]


def lasting(folder: Path) -> tuple[bytes, dict[str, Any]]:
    summary = json.loads((folder / "summary.json").read_text())
    kept = {key: value for key, value in summary.items() if key not in TIMES}
    return (folder / "certificates.jsonl").read_bytes(), kept


def test_a_parser_is_certified_as_in_python(trees, tmp_path, capsys, made):
    main(["certify", *trees, "--edits", "1", "2", "all", "--out", str(tmp_path / "out")])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    lines, summary = lasting(tmp_path / "out")
    table = Path(summary["substitutes"])
    results = rp.certify(
        made / "tiny.ckpt", made / "test.conllu", table, cap=60, limit=6, out=tmp_path / "python"
    )
    assert lasting(tmp_path / "python") == (lines, summary)
    assert results.records == read_certificates(tmp_path / "out")
    las = summary["certified"]["all"]["lower"]["las"]
    assert results.score("all") == las < results.score(1, "las") < summary["clean"]["las"]
    assert f"{las:.2f}" in printed.out
    assert f"{las:.2f}" in repr(results)
    assert summary["sha256"]["substitutes"] == SubstitutionTable.read(table).digest
    assert summary["substitutes_settings"] == {"sources": ["sample"]}
    assert summary["edits"] == [1, 2, "all"]
    # The same victim as a function, and a table that was never written.
    parser = rp.load(made / "tiny.ckpt")
    black_box = FunctionVictim(parser.predict, batch_texts=9)
    asked = SubstitutionTable(SubstitutionTable.read(table).substitutes)
    again = rp.certify(black_box, made / "test.conllu", asked, cap=60, limit=6)
    assert again.records == results.records
    assert again.summary["certified"] == summary["certified"]
    # A folder that nobody asked for lasts as long as the results, so that a report can show them.
    folder = again.folder
    page = rp.report([tmp_path / "out", again], tmp_path / "page.html").read_text()
    assert page.count(f"<td>{las:.1f}") >= 2
    del again
    gc.collect()
    assert not folder.exists()


def test_an_ensemble_resumes(made, trees, tmp_path, monkeypatch):
    again = shutil.copy(made / "tiny.ckpt", tmp_path / "again.ckpt")
    two = [f"--checkpoint={again}", *trees, "--edits=1", "--out", str(tmp_path / "out")]
    main(["certify", *two])
    before = lasting(tmp_path / "out")
    (tmp_path / "out" / "summary.json").unlink()
    lines = before[0].splitlines(keepends=True)
    (tmp_path / "out" / "certificates.jsonl").write_bytes(b"".join(lines[::2]) + lines[1][:40])
    main(["certify", *two, "--batch_words=40"])
    assert lasting(tmp_path / "out") == before
    assert len(before[1]["victims"]) == 2


def test_texts_are_certified(tmp_path, capsys):
    save_checkpoint(trained_classifier().float(), tmp_path / "tiny.ckpt")
    write_texts(tmp_path / "test.tsv", texts(12, "test"))
    table = write_table(tmp_path / "table.jsonl", review_lexicon(0))
    options = ["--data", str(tmp_path / "test.tsv"), "--substitutes", str(table), "--cap=200"]
    options += ["--checkpoint", str(tmp_path / "tiny.ckpt"), "--out", str(tmp_path / "out")]
    main(["certify", *options, "--edits", "all", "1"])
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [*summary["certified"]] == ["all", "1"]
    assert [*summary["clean"]] == ["accuracy"]
    lower, upper = (summary["certified"]["all"][bound]["accuracy"] for bound in ("lower", "upper"))
    assert lower <= upper <= summary["clean"]["accuracy"]
    for record in read_certificates(tmp_path / "out"):
        wrong = record["clean"]["label"] != record["gold"]["label"]
        assert record["tried"]["all"] == 1 or not wrong
        assert (
            bool(record["witnesses"]) == (not record["certified"]["all"]["accuracy"])
            or (record["undecided"])
        )


def test_a_table_without_these_words_is_warned_of(trees, tmp_path, capsys):
    SubstitutionTable({"nowhere": ("never",)}).write(tmp_path / "other.jsonl")
    other = f"--substitutes={tmp_path / 'other.jsonl'}"
    main(["certify", *trees, other, "--out", str(tmp_path / "out")])
    assert str(tmp_path / "other.jsonl") in capsys.readouterr().err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["certified"]["all"]["lower"] == summary["clean"]
    assert summary["inputs"] == summary["n_sentences"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--edits", "0"],
        ["--edits", "1", "-2"],
        ["--edits", "ALL"],
        ["--edits", "1", "1"],
        ["--edits", "1.5"],
        ["--cap", "0"],
        ["--batch_words", "0"],
        ["--substitutes", "missing.jsonl"],
        ["--substitutes", "damaged.jsonl"],
        ["--substitutes", "empty.jsonl"],
        ["--punctuation", "some"],
        ["--fraction", "0"],
    ],
    ids=" ".join,
)
def test_mistakes_are_named(trees, tmp_path, monkeypatch, capsys, wrong):
    monkeypatch.chdir(tmp_path)
    Path("damaged.jsonl").write_text('{}\n{"word": "big", "substitutes": ["Large"]}\n')
    Path("empty.jsonl").touch()
    message = mistake(capsys, "certify", *trees, *wrong, "--out", tmp_path / "out")
    assert wrong[0].removeprefix("--") in message or Path(wrong[-1]).name in message
    assert not (tmp_path / "out" / "certificates.jsonl").exists()


def test_other_settings_in_the_same_folder_are_refused(trees, tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    main(["certify", *trees, "--edits=1", *out])
    SubstitutionTable({"nowhere": ("never",)}).write(tmp_path / "other.jsonl")
    others = [
        ["--edits=2"],
        ["--edits=1", "--cap=61"],
        ["--edits=1", "--punctuation=unicode"],
        ["--edits=1", "--fraction=0.5"],
        ["--edits=1", f"--substitutes={tmp_path / 'other.jsonl'}"],
    ]
    for changed in others:
        assert str(tmp_path / "out") in mistake(capsys, "certify", *trees, *changed, *out)


def test_a_folder_holds_an_attack_or_certificates(trees, made, tmp_path, capsys):
    attack = attack_arguments(made, tmp_path / "attacked", "--limit", 2, "--device", "cpu")
    certify = ["certify", *trees, "--out", str(tmp_path / "certified")]
    main(attack)
    main(certify)
    capsys.readouterr()
    summaries = [tmp_path / folder / "summary.json" for folder in ("attacked", "certified")]
    before = [path.read_bytes() for path in summaries]
    for arguments, folder, lines in (
        (certify, "attacked", "examples.jsonl"),
        (attack, "certified", "certificates.jsonl"),
    ):
        error = mistake(capsys, *arguments, "--out", tmp_path / folder)
        assert f"{folder}: holds {lines} of another run; choose another --out" in error
    assert [path.read_bytes() for path in summaries] == before
