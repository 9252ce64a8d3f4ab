"""Rows that ``evaluate`` writes, and folders of it compared by ``report --compare``."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from command_runs import mistake

from robustparse.cli.main import main
from robustparse.data.vocab import Vocabulary
from robustparse.models import BiaffineParser, LSTMEncoder, WordCNN, WordEmbeddings
from sample_runs import save_checkpoint, sentences, write_sample
from sample_texts import texts, write_texts

Rows = list[dict[str, Any]]
SENTENCES = 12


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint, data, and what evaluate wrote."""
    folder = tmp_path_factory.mktemp("made")
    encoder = LSTMEncoder(word_dim=4, hidden=4, layers=1)
    vocabulary = Vocabulary.from_examples(sentences(SENTENCES, "test"), 1)
    parser = BiaffineParser(encoder, arc_dim=4, label_dim=4, vocabulary=vocabulary)
    with torch.no_grad():  # new parsers score all arcs alike
        for weight in parser.parameters():
            weight.normal_(generator=torch.Generator().manual_seed(0))
    save_checkpoint(parser, folder / "tiny.ckpt")
    write_sample(folder / "test.conllu", sentences(SENTENCES, "test"))
    main([*options(folder, "scored"), "--perturbed", "typos,casing", "--seed", "3"])
    return folder


def options(made: Path, out: str) -> list[str]:
    given = ["--checkpoint", str(made / "tiny.ckpt"), "--data", str(made / "test.conllu")]
    return ["evaluate", *given, "--out", str(made / out)]


def rows_of(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def score(rows: Rows, part: str) -> float:
    return 100 * sum(row["correct"][part] for row in rows) / sum(row["counted"] for row in rows)


def test_rows_give_the_scores(made: Path) -> None:
    report = json.loads((made / "scored" / "scores.json").read_text())
    clean = rows_of(made / "scored" / "answers.jsonl")
    perturbed = rows_of(made / "scored" / "perturbed.jsonl")
    assert [row["row"] for row in clean] == [*range(1, SENTENCES + 1)]
    for operation, scores in {"": report, **report["perturbed"]}.items():
        rows = [row for row in perturbed if row["operation"] == operation] if operation else clean
        assert len(rows) == SENTENCES
        for part, name in (("correct_heads", "uas"), ("correct_labels", "las")):
            assert score(rows, part) == pytest.approx(scores[name])
        assert all(
            row["right"] == all(value == row["counted"] for value in row["correct"].values())
            for row in rows
        )
        if not operation:
            continue
        changed = sum(row["changed"] for row in rows)
        assert 100 * changed / SENTENCES == pytest.approx(scores["changed_sentences"])
        for row, before in zip(rows, clean, strict=True):
            assert row["original"] == {key: before[key] for key in ("tokens", "answer", "right")}
            assert row["changed"] == (row["tokens"] != before["tokens"])
        losses = [row["losses"] for row in rows]
        grown = [each["original"] != each["perturbed"] for each in losses]
        assert all(row["changed"] for row, differs in zip(rows, grown, strict=True) if differs)
        assert operation != "typos" or any(grown)


def test_a_folder_has_no_rows_of_an_earlier_run(made: Path) -> None:
    main([*options(made, "again"), "--perturbed", "typos"])
    assert (made / "again" / "perturbed.jsonl").exists()
    main(options(made, "again"))
    assert not (made / "again" / "perturbed.jsonl").exists()


@pytest.fixture
def better(made: Path, tmp_path: Path) -> Path:
    """Another system, all of whose answers under casing are right."""
    other = Path(shutil.copytree(made / "scored", tmp_path / "better"))
    rows = rows_of(other / "perturbed.jsonl")
    for row in rows:
        if row["operation"] == "casing":
            row["correct"] = dict.fromkeys(row["correct"], row["counted"])
    (other / "perturbed.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return other


def test_folders_of_evaluate_are_compared(made: Path, better: Path, tmp_path: Path, capsys) -> None:
    page, first = tmp_path / "page.html", made / "scored"
    out = ["--out", str(page), "--export", str(tmp_path / "paper")]
    main(["report", "--compare", str(first), str(better), *out])
    shown = " ".join(capsys.readouterr().out.split())
    found = re.findall(r"(\w+) (UAS|LAS) ([-+][\d.]+) \S+ to \S+ ([\d.]+) ([\d.]+)", shown)
    measures = ("clean", "typos", "casing")
    assert [row[:2] for row in found] == [(m, s) for m in measures for s in ("UAS", "LAS")]
    rows = [row for row in rows_of(first / "perturbed.jsonl") if row["operation"] == "casing"]
    for measure, name, points, p, _ in found:
        part = {"UAS": "correct_heads", "LAS": "correct_labels"}[name]
        gain = 100 - score(rows, part) if measure == "casing" else 0.0
        assert float(points) == pytest.approx(gain, abs=0.011)
        assert (float(p) < 0.05) == (measure == "casing")
    assert f"Differences from {first.name}" in page.read_text("utf-8")
    assert "casing" in (tmp_path / "paper" / f"differences-from-{first.name}.tex").read_text()


def test_what_cannot_be_compared_is_named(made: Path, better: Path, tmp_path: Path, capsys) -> None:
    compare = ["report", "--out", str(tmp_path / "page.html"), "--compare", str(made / "scored")]
    answers = (better / "answers.jsonl").read_text("utf-8")
    for changed in (answers.partition("\n")[2], f"{answers}{answers.partition(chr(10))[0]}\n"):
        (better / "answers.jsonl").write_text(changed)
        assert f"{better}/answers.jsonl" in mistake(capsys, *compare, str(better))
    (better / "answers.jsonl").write_text(answers)
    path = better / "perturbed.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[1:]))
    assert "'typos'" in mistake(capsys, *compare, str(better))
    path.unlink()
    assert "has the scores clean" in mistake(capsys, *compare, str(better))
    row = json.loads(lines[0])
    row["correct"]["correct_heads"] = 99
    path.write_text("".join([f"{json.dumps(row)}\n", *lines[1:]]))
    assert f"{path}:1" in mistake(capsys, *compare, str(better))
    (better / "answers.jsonl").unlink()
    assert "run evaluate again" in mistake(capsys, *compare, str(better))
    (better / "scores.json").rename(better / "summary.json")
    assert "only folders of evaluate" in mistake(capsys, *compare, str(better))


def test_texts_and_their_perturbed_files(tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_examples(texts(6, "test"), 1)
    words = WordEmbeddings(word_dim=4)
    save_checkpoint(WordCNN(words, filters=2, vocabulary=vocabulary), tmp_path / "tiny.ckpt")
    write_texts(tmp_path / "test.tsv", texts(6, "test"))
    pairs = ["augment", "--data", str(tmp_path / "test.tsv"), "--operations", "deletion"]
    pairs += ["--keep", "pairs", "--task", "classification"]
    main([*pairs, "--out", str(tmp_path / "pairs" / "deletion.tsv")])
    scored = ["evaluate", "--checkpoint", str(tmp_path / "tiny.ckpt"), "--out"]
    scored += [str(tmp_path / "scored"), "--data", str(tmp_path / "test.tsv")]
    main([*scored, "--perturbed", f"{tmp_path}/pairs"])
    rows = rows_of(tmp_path / "scored" / "perturbed.jsonl")
    measures = json.loads((tmp_path / "scored" / "scores.json").read_text())["perturbed_files"]
    one = measures["deletion"]
    assert [row["row"] for row in rows] == [*range(1, one["rows"] + 1)]
    assert score(rows, "correct") == pytest.approx(one["perturbation_accuracy"])
    before = [row["original"]["right"] for row in rows]
    assert 100 * sum(before) / len(rows) == pytest.approx(one["standard_accuracy"])
    grown = [row for row in rows if row["losses"]["perturbed"] > row["losses"]["original"]]
    fooled = sum(not row["right"] for row in grown)
    rate = one["blackbox_success_rate"]
    assert rate == (pytest.approx(100 * fooled / len(grown)) if grown else None)
