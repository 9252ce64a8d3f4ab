"""``predict``: what it reads and writes, without a configuration."""

import io
import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from command_runs import mistake
from datasets import Dataset

from robustparse import load
from robustparse.cli import text_pieces
from robustparse.cli.main import main
from robustparse.data.conllu import block_of, read_treebank, write_treebank
from robustparse.evaluation.clean import predictions
from robustparse.models.victim import ModelVictim
from robustparse.types import Example
from sample_runs import save_checkpoint, sentences, trained_parser, trained_pointer, write_sample
from sample_texts import texts, trained_classifier


@pytest.fixture
def gold() -> list[Example]:
    return sentences(12, "test")


def unparsed(block: str) -> str:
    """The lines of a sentence that nobody has parsed."""
    columns = [line.split("\t") for line in block.split("\n")]
    return "\n".join("\t".join([*row[:3], *["_"] * 7]) for row in columns)


def test_a_treebank_keeps_all_but_its_trees(made, gold, tmp_path, capsys):
    blocks = [block_of(example.sentence, example.gold) for example in gold]
    blocks = [f"# sent_id = {at}\n{unparsed(block)}" for at, block in enumerate(blocks)]
    data, out = tmp_path / "raw.conllu", tmp_path / "out" / "parsed.conllu"
    write_treebank(data, blocks)
    arguments = ["predict", "--checkpoint", f"{made}/tiny.ckpt", "--data", str(data)]
    main([*arguments, "--out", str(out)])
    written = read_treebank(out)
    assert [one.gold for one in written] == load(made / "tiny.ckpt").predict(
        [example.sentence for example in gold]
    )
    for one, block in zip(written, blocks, strict=True):
        before, after = ([line.split("\t") for line in b.split("\n")] for b in (block, one.block))
        assert [row[:6] for row in before] == [row[:6] for row in after]
    said = f"{len(gold)} texts with answers in {out}\n"
    assert capsys.readouterr() == (said, "")
    main(arguments)
    assert capsys.readouterr().out == out.read_text()
    content = data.read_bytes()
    assert str(data) in mistake(capsys, *arguments, "--out", data)
    assert data.read_bytes() == content


def test_pieces_change_nothing(made, gold, tmp_path, monkeypatch):
    """Not of what size, nor what else is in them: so the file may be of any length."""
    data = made / "test.conllu"
    for size in (1, 400, 1 << 20):
        monkeypatch.setattr(text_pieces, "PIECE", size)
        out = ["--out", str(tmp_path / str(size))]
        main(["predict", "--checkpoint", f"{made}/tiny.ckpt", "--data", str(data), *out])
    assert (tmp_path / "1").read_text() == (tmp_path / str(1 << 20)).read_text()
    assert (tmp_path / "400").read_text() == (tmp_path / str(1 << 20)).read_text()
    assert len(read_treebank(tmp_path / "1")) == len(gold)


@pytest.mark.parametrize("ensemble", [False, True])
def test_raw_text_from_standard_input(ensemble, made, gold, tmp_path, capsys, monkeypatch):
    lines = [" ".join(example.sentence.words) for example in gold]
    text = ("\ufeff" + "\n\n".join(lines)).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    models = [made / "tiny.ckpt", shutil.copy(made / "tiny.ckpt", tmp_path)]
    main(["predict", "--checkpoint", *map(str, models[: 1 + ensemble])])
    (tmp_path / "parsed.conllu").write_text(capsys.readouterr().out)
    trees = load(made / "tiny.ckpt").predict([example.sentence.words for example in gold])
    written = read_treebank(tmp_path / "parsed.conllu")
    assert [one.gold for one in written] == trees
    assert [one.sentence.words for one in written] == [one.sentence.words for one in gold]


@pytest.mark.parametrize("names", [("one", "two"), ("pointer", "other")])
def test_an_ensemble_predicts_and_is_scored_and_attacked_by_the_mean_that_is_asked_for(
    names, made, gold, tmp_path, capsys
):
    other = trained_pointer()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(0.8)  # less certain: its vote weighs less by probabilities
    parsers = {"one": trained_parser(), "two": trained_parser(characters=True)}
    parsers |= {"pointer": trained_pointer(), "other": other}
    paths = [str(save_checkpoint(parsers[name], tmp_path / f"{name}.ckpt")) for name in names]
    data = str(write_sample(tmp_path / "test.conllu", gold))
    answers = []
    for mean in ("probabilities", "logits"):
        out = tmp_path / f"{mean}.conllu"
        given = ["--checkpoint", *paths, "--data", data, "--mean", mean]
        main(["predict", *given, "--out", str(out)])
        main(["evaluate", *given, "--out", str(tmp_path / mean)])
        recipe = ["--attack", str(made / "words.yaml"), "--trust", "command_runs"]
        main(["attack", *recipe, *given, "--out", str(tmp_path / f"attacked_{mean}")])
        models = [load(path) for path in paths]
        models[0].mean = mean
        found = {one.id: one.answer for one in predictions(ModelVictim(models), gold)}
        answers.append([found[one.id] for one in gold])
        assert [one.gold for one in read_treebank(out)] == answers[-1]
        scores = json.loads((tmp_path / mean / "scores.json").read_text())
        right = [
            h == g
            for one, tree in zip(gold, answers[-1], strict=True)
            for h, g in zip(tree.heads, one.gold.heads, strict=True)
        ]
        assert scores["uas"] == pytest.approx(100 * np.mean(right))
        summary = json.loads((tmp_path / f"attacked_{mean}" / "summary.json").read_text())
        assert summary["clean"]["uas"] == pytest.approx(scores["uas"])
        assert summary["attacked"]["uas"] < scores["uas"]
    assert answers[0] != answers[1]


def test_a_parser_searches_with_the_beam_that_is_asked_for(made, gold, tmp_path, capsys):
    unsure = trained_pointer()
    with torch.no_grad():
        for parameter in unsure.parameters():
            parameter.mul_(0.7)  # so that a wider beam finds other trees
    path = save_checkpoint(unsure, tmp_path / "pointer.ckpt")
    data = write_sample(tmp_path / "test.conllu", gold)
    given = ["--checkpoint", str(path), "--data", str(data)]
    trees = {}
    for beam in (1, 8):
        out = tmp_path / f"{beam}.conllu"
        main(["predict", *given, "--beam", str(beam), "--out", str(out)])
        trees[beam] = [one.gold for one in read_treebank(out)]
        unsure.beam = beam
        assert trees[beam] == unsure.predict([one.sentence for one in gold])
        main(["evaluate", *given, "--beam", str(beam), "--out", str(tmp_path / f"{beam}")])
        assert json.loads((tmp_path / f"{beam}" / "scores.json").read_text())["beam"] == beam
    assert trees[1] != trees[8]
    attack = ["attack", *given, "--attack", str(made / "words.yaml"), "--trust", "command_runs"]
    attack += ["--limit", "2", "--out", str(tmp_path / "attacked")]
    main([*attack, "--beam", "8"])
    assert json.loads((tmp_path / "attacked" / "run.json").read_text())["beam"] == 8
    assert "holds another run (beam: 8 there, None here)" in mistake(capsys, *attack)
    biaffine = ["predict", "--checkpoint", str(made / "tiny.ckpt"), "--data", str(data)]
    assert "has no beam" in mistake(capsys, *biaffine, "--beam", "2")
    assert "beam must be >= 1, got 0" in mistake(capsys, "predict", *given, "--beam", "0")


def test_a_conllx_file_may_have_several_roots_and_loses_its_second_parse(made, tmp_path):
    rows = [["1", "No", "no", "DT", "DT", "_"], ["2", "!", "!", ".", ".", "x|y"]]
    data, out = tmp_path / "text.conllx", tmp_path / "parsed"
    data.write_text("\n".join("\t".join([*row, "0", "root", "1", "dep"]) for row in rows) + "\n\n")
    model = ["--checkpoint", f"{made}/tiny.ckpt", "--out", str(out)]
    main(["predict", *model, "--data", str(data)])
    (tree,) = load(made / "tiny.ckpt").predict([[row[1] for row in rows]])
    expected = [
        "\t".join([*row, str(head), label, "_", "_"])
        for row, head, label in zip(rows, tree.heads, tree.labels, strict=True)
    ]
    assert out.read_text() == "\n".join(expected) + "\n\n"
    (tmp_path / "unnamed").write_text(data.read_text())
    main(["predict", *model, "--data", str(tmp_path / "unnamed"), "--format", "conllx"])
    assert out.read_text() == "\n".join(expected) + "\n\n"


def test_texts_a_line_each(tmp_path, capsys):
    path = save_checkpoint(trained_classifier(), tmp_path / "tiny.ckpt")
    examples = texts(9, "test")
    lines = [" ".join(example.sentence.words) for example in examples]
    labels = trained_classifier().predict([example.sentence for example in examples])
    rows = [json.dumps({"id": at, "review": line}) for at, line in enumerate(lines)]
    (tmp_path / "raw.txt").write_text("\n".join(lines))
    (tmp_path / "named.jsonl").write_text("\n".join(rows))
    named = ["--columns", "[review, stars]", "--out", f"{tmp_path}/out.jsonl"]
    main(["predict", "--checkpoint", str(path), "--data", f"{tmp_path}/raw.txt"])
    expected = "".join(f"{line}\t{label}\n" for line, label in zip(lines, labels, strict=True))
    assert capsys.readouterr().out == expected
    main(["predict", "--checkpoint", str(path), "--data", f"{tmp_path}/named.jsonl", *named])
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["stars"] for row in written] == labels
    assert [(row["id"], row["review"]) for row in written] == list(enumerate(lines))


def test_a_table_is_told_by_its_content_and_its_format(tmp_path, capsys):
    path = save_checkpoint(trained_classifier(), tmp_path / "tiny.ckpt")
    lines = [" ".join(example.sentence.words) for example in texts(9, "test")]
    Dataset.from_dict({"text": lines}).to_parquet(tmp_path / "packed")
    model = ["predict", "--checkpoint", str(path)]
    main([*model, "--data", f"{tmp_path}/packed", "--out", f"{tmp_path}/out.jsonl"])
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["text"] for row in written] == lines
    assert ".jsonl" not in capsys.readouterr().err
    for name in ("out.csv", "out.parquet"):
        main([*model, "--data", f"{tmp_path}/packed", "--out", f"{tmp_path}/{name}"])
        assert "format .jsonl" in capsys.readouterr().err  # commands would read it as named
    (tmp_path / "raw.txt").write_text("\n".join(lines))
    error = mistake(capsys, *model, "--data", tmp_path / "raw.txt", "--format", "xlsx")
    assert "--format: got 'xlsx'" in error


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("out.conllu", True),
        ("out.CONLLU", True),
        ("out", True),
        ("out.conllx", False),
        ("out.conllu.gz", False),
        ("out.tsv", False),  # belongs to the classifiers
    ],
)
def test_a_name_of_another_format_is_reported(name, fits, made, gold, tmp_path, capsys):
    write_treebank(tmp_path / "gold.conllu", [block_of(gold[0].sentence, gold[0].gold)])
    arguments = [
        "predict",
        "--checkpoint",
        f"{made}/tiny.ckpt",
        "--data",
        f"{tmp_path}/gold.conllu",
    ]
    main(arguments)
    answers, warnings = capsys.readouterr()
    main([*arguments, "--out", str(tmp_path / name)])
    assert (capsys.readouterr().err == warnings) == fits
    assert (tmp_path / name).read_text() == answers


MISTAKES = [
    ("raw.conllu", "1\tA\n", "raw.conllu:1: 2 columns"),
    ("raw.conllu", "1\tA" + "\t_" * 8 + "\n\n1\tB\n", "raw.conllu:3: 2 columns"),
    ("raw.txt", "a b\n\n" + "a " * 30, "raw.txt:3: 30 words"),
    ("raw.txt", "", "raw.txt: the file is empty"),
    ("raw.txt", "1\tA" + "\t_" * 8 + "\n", "raw.txt:1: 10 columns in every line"),
    ("raw", "a b\tpos\na c\tneg\n", "raw:1: 2 columns in every line, such as 'a b"),
    ("raw.txt", '{"text": "a"}\n{"text": "b"}\n', "raw.txt:1: the file holds JSON"),
    ("raw.txt", None, "raw.txt: no such file"),
]


@pytest.mark.parametrize(("name", "content", "says"), MISTAKES)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_mistakes_name_the_line(size, name, content, says, made, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(text_pieces, "PIECE", size)
    if content is not None:
        (tmp_path / name).write_text(content)
    given = ["--data", tmp_path / name, "--out", tmp_path / "out", "--max_length", 9]
    assert says in mistake(capsys, "predict", "--checkpoint", made / "tiny.ckpt", *given)
    assert not (tmp_path / "out").exists()


def test_lines_of_words_and_tags_are_not_raw_text(made, tmp_path, capsys):
    raw = tmp_path / "raw.txt"
    raw.write_text("-DOCSTART- -X- O O\n\nSome DT O O\ncats NN O B-x\n\n")
    given = ["--data", raw, "--out", tmp_path / "out", "--checkpoint", made / "tiny.ckpt"]
    assert "raw.txt:1: 4 columns in every line" in mistake(capsys, "predict", *given)
    raw.write_text("Vitamin O\nan apple\n")  # not every word at the end is a tag
    main(["predict", *map(str, given)])
    raw.write_text("His blood type is O\n")
    main(["predict", *map(str, given)])


@pytest.mark.parametrize("status", [2, 141])
def test_standard_output_may_fail(status, made, monkeypatch, capsys):
    """A full disk is said in one message; a reader that has gone, as `head` has, is no mistake."""
    reader, writer = os.pipe()
    os.close(reader)
    output = os.open("/dev/full", os.O_WRONLY) if status == 2 else writer
    with os.fdopen(output, "w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with pytest.raises(SystemExit) as end:
            main(["predict", "--checkpoint", f"{made}/tiny.ckpt", "--data", f"{made}/test.conllu"])
    assert end.value.code == status
    assert capsys.readouterr().err.startswith("robustparse: standard output: ") == (status == 2)


class Unreadable(io.RawIOBase):
    """A file whose disk fails after the first line."""

    def __iter__(self):
        yield b"The dog barks .\n"
        raise OSError(5, "Input/output error")


def test_what_fails_is_named(made, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out.conllu"
    arguments = ["predict", "--checkpoint", f"{made}/tiny.ckpt", "--out", str(out)]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Unreadable()))
    assert "standard input: --data: cannot be read: Input/output error" in mistake(
        capsys, *arguments
    )
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"The dog barks .\n")))

    whole = Path.open

    def full(self: Path, *args: Any, **more: Any) -> Any:
        if self.name == "piece.txt":
            raise OSError(28, "No space left on device")
        return whole(self, *args, **more)

    monkeypatch.setattr(Path, "open", full)
    found = mistake(capsys, *arguments)
    assert "piece.txt: cannot be written (No space left on device)" in found
    assert not out.exists()


def test_answers_never_replace_what_is_read(made, tmp_path, capsys):
    model = tmp_path / "run" / "last.ckpt"
    model.parent.mkdir()
    model.write_bytes((made / "tiny.ckpt").read_bytes())
    data = tmp_path / "test.conllu"
    data.write_bytes((made / "test.conllu").read_bytes())
    before = model.read_bytes(), data.read_bytes()
    for checkpoint, out in ((model, model), (model.parent, model), (model, data)):
        options = ["--checkpoint", checkpoint, "--data", data, "--out", out]
        assert f"{out}: --out: is also an input" in mistake(capsys, "predict", *options)
    assert (model.read_bytes(), data.read_bytes()) == before
