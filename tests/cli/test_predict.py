"""``predict``: what it reads and writes."""

from pathlib import Path

import conllu
import pytest
import yaml
from tiny_runs import contents

from robustparse import load
from robustparse.cli.main import main
from robustparse.data.conllu import block_of, read_treebank, write_treebank
from robustparse.data.sample.treebank import sample_treebank


def test_predict_writes_conllu(finished: tuple[Path, Path]) -> None:
    config, run = finished
    before = contents(run)
    options = ["--config", str(config), "--trainer.default_root_dir", str(run)]
    main(["predict", *options, "--ckpt_path", "best"])
    after = contents(run)
    written = conllu.parse(after.pop("predictions.conllu").decode())
    (run / "predictions.conllu").unlink()
    assert after == before
    gold = sample_treebank(0).test
    assert len(written) == len(gold)
    for tokens, example in zip(written, gold, strict=True):
        assert tuple(token["form"] for token in tokens) == example.sentence.words
        assert sum(token["head"] == 0 for token in tokens) == 1
    heads = [[token["head"] for token in tokens] for tokens in written]
    assert heads != [list(example.gold.heads) for example in gold]


def unparsed(block: str) -> str:
    """The lines of a sentence as they stand in text that nobody has parsed."""
    columns = [line.split("\t") for line in block.split("\n")]
    return "\n".join("\t".join([*row[:3], *["_"] * 7]) for row in columns)


def test_predict_parses_text_alone(
    finished: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the training file, and where there is nothing but words, under any policy."""
    config, run = finished
    settings = yaml.safe_load(config.read_text())
    settings["data"]["init_args"] = {"punctuation": "penn"}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings))
    gold = sample_treebank(0).test[:6]
    blocks = [block_of(example.sentence, example.gold) for example in gold]
    write_treebank(tmp_path / "raw.conllu", [*map(unparsed, blocks[:5]), blocks[5]])
    options = ["--config", str(tmp_path / "run.yaml"), "--trainer.default_root_dir", str(tmp_path)]
    data = ["--data.init_args.test_file", str(tmp_path / "raw.conllu")]
    start = ["--model.init_args.init_from", str(run / "best.ckpt")]
    main(["predict", *options, *data, *start])
    parser = load(run / "best.ckpt")
    trees = parser.predict([example.sentence for example in gold])
    written = read_treebank(tmp_path / "predictions.conllu")
    assert [example.gold for example in written] == trees
    assert [example.sentence.words for example in written] == [
        example.sentence.words for example in gold
    ]
    with pytest.raises(SystemExit):  # scores need parses
        main(["test", *options, *data, *start])
    assert "raw.conllu:1: head '_'; expected" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["fit", *options])
    assert "no training data to take the vocabulary from" in capsys.readouterr().err


def test_predict_keeps_what_a_conllx_file_has_beside_parses(
    finished: tuple[Path, Path], tmp_path: Path
) -> None:
    """Two roots and a second parse are allowed there; the second parse would contradict ours."""
    config, run = finished
    rows = [["1", "No", "no", "DT", "DT", "_"], ["2", "!", "!", ".", ".", "x|y"]]
    given = [[*row, "0", "root", "1", "dep"] for row in rows]
    path = tmp_path / "text.conllx"
    path.write_text("\n".join(map("\t".join, given)) + "\n\n")
    options = ["--config", str(config), "--trainer.default_root_dir", str(tmp_path / "parsed")]
    data = ["--data.init_args.test_file", str(path)]
    main(["predict", *options, *data, "--ckpt_path", str(run / "best.ckpt")])
    (tree,) = load(run / "best.ckpt").predict([[row[1] for row in rows]])
    expected = [
        "\t".join([*row, str(head), label, "_", "_"])
        for row, head, label in zip(rows, tree.heads, tree.labels, strict=True)
    ]
    written = tmp_path / "parsed" / "predictions.conllx"
    assert written.read_text() == "\n".join(expected) + "\n\n"
    assert not written.with_suffix(".conllu").exists()


def test_predict_says_how_many_sentences_it_left_out(
    finished: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, run = finished
    options = ["--config", str(config), "--trainer.default_root_dir", str(tmp_path)]
    few = ["--ckpt_path", str(run / "best.ckpt"), "--data.init_args.eval_batch_words", "150"]
    main(["predict", *options, *few, "--trainer.limit_predict_batches", "2"])
    written = read_treebank(tmp_path / "predictions.conllu")
    words = [example.sentence.words for example in sample_treebank(0).test]
    kept = [example.sentence.words for example in written]
    assert 0 < len(kept) < len(words)
    assert kept == [one for one in words if one in kept][: len(kept)]  # in the order of the file
    left_out = f"{len(words) - len(kept)} of {len(words)} sentences were not parsed and are left"
    assert left_out in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["predict", *options, *few, "--trainer.limit_predict_batches", "0"])
    assert end.value.code == 2
    assert "limit_predict_batches: is 0" in capsys.readouterr().err
