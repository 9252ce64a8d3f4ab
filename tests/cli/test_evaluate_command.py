"""``robustparse evaluate``: figures, files, and every broken file refused by name."""

import json
import re
from pathlib import Path

import pytest
import torch
from command_runs import checkpoint, mistake, table

from robustparse import __version__
from robustparse.api import victim_sources
from robustparse.api.evaluate import evaluate
from robustparse.api.inputs import Paths
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.load import load
from robustparse.options.operations import with_operations
from sample_runs import sentences, write_sample


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint and a data file."""
    folder = tmp_path_factory.mktemp("made")
    checkpoint(folder)
    write_sample(folder / "test.conllu", sentences(25, "test"))
    return folder


def test_scores_are_printed_and_written_and_the_parses_give_them(made, tmp_path, capsys):
    path, data = made / "tiny.ckpt", made / "test.conllu"
    main(["evaluate", f"--checkpoint={path}", f"--data={data}", f"--out={tmp_path}"])
    report = json.loads((tmp_path / "scores.json").read_text())
    expected = evaluate(load(path), read_treebank(data))
    assert {name: report[name] for name in expected} == pytest.approx(expected)
    assert report["task"] == "dependency"
    assert (report["checkpoints"], report["data"]) == ([str(path)], str(data))
    assert (report["n_sentences"], report["punctuation"]) == (25, "none")
    gold, parses = read_treebank(data), read_treebank(tmp_path / "predictions.conllu")
    assert report["n_words"] == sum(len(example.sentence) for example in gold)
    assert [example.sentence for example in parses] == [example.sentence for example in gold]
    right = [
        head == other
        for example, parse in zip(gold, parses, strict=True)
        for head, other in zip(example.gold.heads, parse.gold.heads, strict=True)
    ]
    assert report["uas"] == pytest.approx(100 * sum(right) / len(right))
    shown = [f"{expected[name]:.2f}" for name in ("uas", "las", "ucm", "lcm")]
    assert table(capsys.readouterr().out)["tiny"] == shown


def test_conllx_is_scored_like_conllu_and_written_as_conllx(made, tmp_path):
    data = made / "test.conllu"
    other = tmp_path / "test.conllx"
    other.write_text(re.sub(r"^#.*\n", "", data.read_text(), flags=re.MULTILINE))
    reports = {}
    for path in (data, other):
        out = tmp_path / path.suffix
        main(["evaluate", f"--checkpoint={made / 'tiny.ckpt'}", f"--data={path}", f"--out={out}"])
        reports[path] = json.loads((out / "scores.json").read_text())
        written = {each.name for each in out.iterdir()}
        assert written == {f"predictions{path.suffix}", "answers.jsonl", "scores.json"}
    assert reports[other] == {**reports[data], "data": str(other)}
    one, two = (tmp_path / f".conll{last}" / f"predictions.conll{last}" for last in "ux")
    assert [each.gold for each in read_treebank(one)] == [each.gold for each in read_treebank(two)]


def test_every_sentence_is_parsed_once(made, tmp_path, monkeypatch):
    parsed: list[int] = []
    parse = BiaffineParser.decode

    def counting(self, members, states, batches):
        parsed.append(len(batches[0]))
        return parse(self, members, states, batches)

    monkeypatch.setattr(BiaffineParser, "decode", counting)
    options = ["--checkpoint", str(made / "tiny.ckpt"), "--data", str(made / "test.conllu")]
    main(["evaluate", *options, "--out", str(tmp_path)])
    assert sum(parsed) == 25
    main(["evaluate", *options, "--limit", "4"])
    assert sum(parsed) == 29


def test_options_change_what_is_scored(made, tmp_path, capsys):
    config = tmp_path / "options.yaml"
    data = made / "test.conllu"
    config.write_text(f"checkpoint: {made / 'tiny.ckpt'}\ndata: {data}\npunctuation: penn\n")
    out = tmp_path / "out"
    main(["evaluate", "--config", str(config), "--limit", "4", "--out", str(out)])
    report = json.loads((out / "scores.json").read_text())
    expected = evaluate(load(made / "tiny.ckpt"), read_treebank(data)[:4], punctuation="penn")
    assert {name: report[name] for name in expected} == pytest.approx(expected)
    assert report["n_sentences"] == 4
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_precision_is_that_of_the_passes(made, tmp_path, monkeypatch, precision):
    mixed: list[bool] = []
    parse = BiaffineParser.decode

    def noting(self, words, tags, lengths):
        mixed.append(torch.is_autocast_enabled("cpu"))
        return parse(self, words, tags, lengths)

    monkeypatch.setattr(BiaffineParser, "decode", noting)
    options = ["--checkpoint", str(made / "tiny.ckpt"), "--data", str(made / "test.conllu")]
    main(["evaluate", *options, "--precision", precision, "--out", str(tmp_path)])
    assert set(mixed) == {precision == "bf16-mixed"}
    assert not torch.is_autocast_enabled("cpu")
    assert json.loads((tmp_path / "scores.json").read_text())["precision"] == precision


def test_the_sample_is_data_too(made, tmp_path):
    path = made / "tiny.ckpt"
    options = ["--data", "sample", "--limit", "30", "--out", str(tmp_path)]
    main(["evaluate", "--checkpoint", str(path), *options])
    report = json.loads((tmp_path / "scores.json").read_text())
    assert report["las"] == pytest.approx(evaluate(load(path), sentences(30, "test"))["las"])


def test_a_value_that_does_not_exist_is_null(made, tmp_path, capsys):
    label = sentences(1)[0].gold.labels[0]
    data = tmp_path / "marks.conllu"
    data.write_text(f"1\t!\t_\tPUNCT\t.\t_\t0\t{label}\t_\t_\n\n")
    options = ["--data", str(data), "--punctuation", "unicode", "--out", str(tmp_path)]
    main(["evaluate", "--checkpoint", str(made / "tiny.ckpt"), *options])
    text = (tmp_path / "scores.json").read_text()
    report = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (report["uas"], report["las"]) == (None, None)
    assert table(capsys.readouterr().out)["tiny"][:2] == ["-", "-"]


def test_several_checkpoints_are_one_ensemble(tmp_path, monkeypatch, capsys):
    given: list[list[str]] = []

    def noted(checkpoints: Paths, *_: object) -> None:
        given.append(list(checkpoints))
        raise InputError("seen")

    monkeypatch.setattr(victim_sources, "load_models", noted)
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(name).touch()
    (tmp_path / "options.yaml").write_text("checkpoint: [a, b]\n")
    for options in (
        ["--checkpoint", "a", "b"],
        ["--checkpoint", "a", "--checkpoint", "b"],
        ["--checkpoint=a", "--checkpoint=b"],
        ["--checkpoint", '["a", "b"]'],
        ["--config", tmp_path / "options.yaml"],
    ):
        assert "seen" in mistake(capsys, "evaluate", *options, "--data", "sample")
        assert given.pop() == ["a", "b"]


def test_the_help(capsys):
    for arguments in ([], ["--help"], ["evaluate", "--help"]):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code in (0, None)
        assert "evaluate" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"robustparse {__version__}\n"


def test_scores_under_operations_are_those_of_their_copies(made, tmp_path, capsys):
    """Written by `augment` with the same seed and scored as a file of its own."""
    data, checkpoint = str(made / "test.conllu"), str(made / "tiny.ckpt")
    options = ["evaluate", "--checkpoint", checkpoint, "--seed", "4"]
    names = "typos,final_stop,casing"
    main([*options, "--data", data, "--perturbed", names, "--out", str(tmp_path / "out")])
    shown = table(capsys.readouterr().out)
    report = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert list(report["perturbed"]) == names.split(",")
    clean = {name: report[name] for name in ("uas", "las", "ucm", "lcm")}
    assert shown["tiny"] == [*(f"{value:.2f}" for value in clean.values()), "-", "-"]
    for name, scores in report["perturbed"].items():
        assert shown[name] == [f"{value:.2f}" for value in scores.values()]
        copies = tmp_path / f"{name}.conllu"
        copied = ["--data", data, "--out", str(copies), "--seed", "4", "--keep", "all"]
        main(["augment", "--operations", name, *copied])
        main([*options, "--data", str(copies), "--out", str(tmp_path / name)])
        again = json.loads((tmp_path / name / "scores.json").read_text())
        assert {score: scores[score] for score in clean} == pytest.approx(
            {score: again[score] for score in clean}
        )
        counts = json.loads(copies.with_name(f"{copies.name}.summary.json").read_text())
        assert scores["changed_sentences"] == pytest.approx(100 * counts["n_changed"] / 25)
    pairs = [
        (old, new)
        for one, other in zip(
            read_treebank(data), read_treebank(tmp_path / "typos.conllu"), strict=True
        )
        for old, new in zip(one.sentence.words, other.sentence.words, strict=True)
    ]
    changed = sum(old != new for old, new in pairs)
    assert report["perturbed"]["typos"]["changed_words"] == pytest.approx(
        100 * changed / len(pairs)
    )
    dropped = read_treebank(tmp_path / "final_stop.conllu")
    assert all(example.sentence.words[-1] != "." for example in dropped)


def test_operations_may_change_nothing_or_have_settings(made, capsys):
    options = ["evaluate", "--checkpoint", str(made / "tiny.ckpt"), "--data"]
    options += [str(made / "test.conllu"), "--limit", "3"]
    main([*options, "--perturbed", "[{class_path: Casing, init_args: {to: upper}}, Contractions]"])
    shown = table(capsys.readouterr().out)
    assert shown["casing(to=upper)"][-1] == "100.00"
    assert shown["contractions"] == [*shown["tiny"][:4], "0.00", "0.00"]


def test_an_unknown_operation_is_refused(made, capsys):
    options = ["evaluate", "--checkpoint", str(made / "tiny.ckpt"), "--data", "sample"]
    message = mistake(capsys, *options, "--perturbed", "typos,typoss")
    assert "--perturbed" in message
    assert "'typoss'" in message
    assert "back_translation, casing, contractions, deletion" in message


def test_lists_of_operations_are_no_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though they are long, or hold a slash."""
    listed = json.dumps([{"class_path": "Typos", "init_args": {"table": "tables/t.json"}}] * 9)
    for value in (listed, ",".join(["typos"] * 60)):
        (found,) = with_operations(["--perturbed", value])[-1:]
        assert "perturbed_files" not in found
    assert with_operations(["--perturbed", "a/b"]) == ["--perturbed_files=a/b"]
    monkeypatch.chdir(tmp_path)
    Path("insertion.tsv").touch()
    found = with_operations(["--perturbed", "insertion.tsv"])
    assert found == ["--perturbed_files=insertion.tsv"]
    with_operations(["--perturbed", "typos", "--perturbed", "a/b"])
    for other in ("final_stop", listed):
        with pytest.raises(InputError) as error:
            with_operations(["--perturbed", "typos", "--perturbed", other])
        assert error.value.key == "--perturbed"
    for value in ("typos(fraction=1.0)", "Typos(edits=[swap])"):  # as the pages write settings
        with pytest.raises(InputError) as error:
            with_operations(["--operations", value])
        assert "init_args" in str(error.value.remedy)
