"""What is wrong with a sentence is said with file and line, by every command that reads it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_runs import RECIPE, checkpoint, mistake
from tiny_runs import write_config

from robustparse.cli.main import main
from robustparse.data.conllu import block_of, read_treebank, write_treebank
from robustparse.data.datamodule import MAX_LENGTH
from robustparse.types import DependencyTree, Example
from sample_runs import sentences

TRAIN = 60  # sentences of each file


def without_tags(example: Example) -> Example:
    return replace(example, sentence=replace(example.sentence, upos=(), xpos=()))


def strangely_labelled(example: Example) -> Example:
    labels = ("weird", *example.gold.labels[1:])
    return replace(example, gold=DependencyTree(example.gold.heads, labels))


def weird(example: Example) -> Example:
    heads = example.gold.heads
    return replace(example, gold=DependencyTree(heads, ("weird",) * len(heads)))


def write(path: Path, examples: list[Example]) -> Path:
    write_treebank(path, [block_of(example.sentence, example.gold) for example in examples])
    return path


def line_of(examples: list[Example], index: int) -> int:
    """Where a sentence of a written file starts."""
    return 1 + sum(len(example.sentence) + 1 for example in examples[:index])


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """The arguments of a command on files of which one has a spoilt sentence."""

    def made(split: str, spoil: Any, index: int = 3, command: str = "fit", **encoder: int) -> Any:
        config = yaml.safe_load(write_config(tmp_path / "run.yaml", max_steps=1).read_text())
        config["trainer"]["default_root_dir"] = str(tmp_path / "run")
        config["model"]["init_args"]["encoder"]["init_args"] |= encoder
        clean = {name: sentences(TRAIN) for name in ("train", "dev", "test", "copies")}
        spoilt = [spoil(one) if i == index else one for i, one in enumerate(clean[split])]
        files = {
            name: str(write(tmp_path / f"{name}.conllu", clean[name] if name != split else spoilt))
            for name in clean
        }
        copies = {"augmentation": {"files": [files.pop("copies")]}}
        data = {f"{name}_file": path for name, path in files.items()}
        config["data"]["init_args"] = {"batches": {"words": 400}, **data, **copies}
        (tmp_path / "run.yaml").write_text(yaml.safe_dump(config))
        arguments = [command, "--config", str(tmp_path / "run.yaml")]
        return arguments, f"{tmp_path / split}.conllu:{line_of(clean[split], index)}: "

    return made


@pytest.mark.parametrize("split", ["train", "dev", "copies"])
def test_fit_names_the_place_of_a_sentence_that_the_parser_cannot_read(split, run, capsys):
    arguments, place = run(split, without_tags, tag_dim=3)
    error = mistake(capsys, *arguments)
    assert f"robustparse: {place}sentence 4: the model reads part-of-speech tags" in error


@pytest.mark.parametrize("split", ["train", "dev", "copies"])
def test_fit_names_the_place_of_a_sentence_without_the_tags_of_punctuation(split, run, capsys):
    arguments, place = run(split, without_tags)
    error = mistake(capsys, *arguments, "--data.init_args.punctuation", "penn")
    assert f"robustparse: {place}punctuation: penn needs Penn tags" in error


@pytest.mark.parametrize("command", ["attack", "evaluate"])
def test_commands_name_the_place_of_a_sentence_without_the_tags_of_punctuation(
    command, tmp_path, capsys
):
    given = sentences(4)
    data = write(tmp_path / "data.conllu", [*given[:2], without_tags(given[2]), given[3]])
    out = tmp_path / "out"
    arguments = [command, "--checkpoint", checkpoint(tmp_path), "--data", data, "--out", out]
    option = ["--punctuation", "penn"]
    if command == "attack":
        (tmp_path / "recipe.yaml").write_text(RECIPE)
        option = ["--attack", tmp_path / "recipe.yaml", "--attack.goal.init_args.punctuation=penn"]
    error = mistake(capsys, *arguments, *option)
    assert f"{data}:{line_of(given, 2)}: punctuation: penn needs Penn tags" in error
    assert not out.exists()


def test_the_place_of_a_sentence_with_too_many_word_pieces(run, capsys, monkeypatch):
    """What the encoder complains of is its own affair."""
    from robustparse.errors import InputError
    from robustparse.models.encoders.bilstm import LSTMEncoder

    def check(_: object, sentence: Any) -> None:
        if not sentence.tags:
            raise InputError("300 word pieces")

    monkeypatch.setattr(LSTMEncoder, "check", check)
    arguments, place = run("copies", without_tags, index=TRAIN - 1)
    assert f"{place}sentence {TRAIN}: 300 word pieces" in mistake(capsys, *arguments)


def too_long(example: Example) -> Example:
    """Longer than the limit: N words that hang from one another."""
    words, count = example.sentence.words, MAX_LENGTH + 1
    label = example.gold.labels[0]
    return replace(
        example,
        sentence=replace(example.sentence, words=words[:1] * count, upos=(), xpos=("NN",) * count),
        gold=DependencyTree(tuple(range(count)), (label,) * count),
    )


@pytest.mark.parametrize("split", ["train", "dev", "copies"])
def test_fit_names_its_setting_for_sentences_that_are_too_long(split, run, capsys):
    arguments, place = run(split, too_long)
    error = mistake(capsys, *arguments)
    assert place in error
    assert "data.init_args.max_length" in error


@pytest.mark.parametrize("command", ["attack", "augment", "evaluate"])
def test_commands_have_an_option_for_sentences_that_are_too_long(command, tmp_path, capsys):
    parser = checkpoint(tmp_path)
    data = write(tmp_path / "data.conllu", [*sentences(2), too_long(sentences(1)[0])])
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    arguments = [command, "--checkpoint", parser, "--data", data]
    if command != "evaluate":
        arguments += ["--attack", tmp_path / "recipe.yaml", "--out", tmp_path / "out.conllu"]
    error = mistake(capsys, *arguments)
    assert "--max_length" in error
    assert "--max_length must be >= 1, got 0" in mistake(capsys, *arguments, "--max_length", 0)
    few = [] if command == "evaluate" else ["--attack.budget", "30"]
    main([*map(str, arguments), "--max_length", "251", *few])


@pytest.fixture
def trained(run: Any, tmp_path: Path) -> Path:
    """A checkpoint of a parser that reads tags."""
    arguments, _ = run("test", without_tags, tag_dim=3)
    main(arguments)
    return tmp_path / "run" / "last.ckpt"


def test_other_commands_name_it_too(trained, run, tmp_path, capsys):
    arguments, place = run("test", without_tags, command="test", tag_dim=3)
    assert place in mistake(capsys, *arguments, "--ckpt_path", trained)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    given = ["--checkpoint", trained, "--data", tmp_path / "test.conllu", "--out", tmp_path / "out"]
    assert place in mistake(capsys, "evaluate", *given)
    assert place in mistake(capsys, "attack", "--attack", tmp_path / "recipe.yaml", *given)


def tagged_otherwise(example: Example) -> Example:
    sentence = example.sentence
    return replace(example, sentence=replace(sentence, xpos=tuple("X" + t for t in sentence.upos)))


@pytest.mark.slow
def test_a_file_of_unknown_tags_gives_one_warning(trained, run, tmp_path, capsys, caplog):
    def remarks() -> list[str]:
        lines = capsys.readouterr().err.splitlines()
        told = [one for one in [*lines, *caplog.messages] if "none of these sentences' tags" in one]
        caplog.clear()
        return told

    (tmp_path / "recipe.yaml").write_text(RECIPE)
    given = ["--checkpoint", str(trained), "--data", str(tmp_path / "test.conllu")]
    attack = ["attack", "--attack", str(tmp_path / "recipe.yaml"), "--limit", "4"]
    clean = sentences(TRAIN)
    for known in (0, 1):
        write(tmp_path / "test.conllu", [*clean[:known], *map(tagged_otherwise, clean[known:])])
        attacked = [*given, "--out", str(tmp_path / f"attacked{known}")]
        remarks()
        predict = ["predict", *given, "--out", str(tmp_path / "parsed.conllu")]
        for arguments in (["evaluate", *given], [*attack, *attacked], predict):
            main(arguments)
            told = remarks()
            assert len(told) == 1 - known
            for remark in told:
                assert "tags: XADJ, " in remark
                assert "expected some of ,, ., " in remark


def test_tags_that_tell_no_punctuation_give_one_warning(run, tmp_path, capsys, caplog):
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    fit, _ = run("train", replace)
    data = tmp_path / "dev.conllu"
    given = ["--checkpoint", str(checkpoint(tmp_path)), "--data", str(data), "--limit", "4"]
    attack = ["attack", "--attack", str(tmp_path / "recipe.yaml"), *given]
    penn = {"evaluate": "--", "attack": "--attack.goal.init_args.", "fit": "--data.init_args."}
    for known in (False, True):
        write(data, [one if known else tagged_otherwise(one) for one in sentences(TRAIN)])
        for arguments in (
            ["evaluate", *given],
            [*attack, "--out", str(tmp_path / str(known))],
            fit,
        ):
            main([*arguments, f"{penn[arguments[0]]}punctuation=penn"])
            lines = [*capsys.readouterr().err.splitlines(), *caplog.messages]
            caplog.clear()
            assert sum("'penn' leaves out no word" in one for one in lines) == (not known)


def test_a_label_that_cannot_be_right_is_warned_of_once(run, tmp_path, caplog):
    def warnings() -> list[str]:
        told = [one.getMessage() for one in caplog.records if "label" in one.getMessage()]
        caplog.clear()
        return told

    expected = (
        "dependency label 'weird', which the parser never saw in training: words with this or "
        "other such labels, 1 in all, count as wrong in LAS"
    )
    arguments, place = run("dev", strangely_labelled)
    twice = ["--trainer.max_steps", "12", "--trainer.reload_dataloaders_every_n_epochs", "1"]
    main([*arguments, *twice])
    assert warnings() == [place + expected]
    last = ["--ckpt_path", str(tmp_path / "run" / "last.ckpt")]
    for command, spoilt in (("validate", "dev"), ("test", "test")):
        arguments, place = run(spoilt, strangely_labelled, command=command)
        main([*arguments, *last])
        assert warnings() == [place + expected]
    data = ["--data", str(tmp_path / "test.conllu"), "--out", str(tmp_path / "parsed.conllu")]
    main(["predict", "--checkpoint", last[1], *data])
    assert warnings() == []


@pytest.mark.slow
def test_other_commands_warn_of_labels_too(trained, tmp_path, capsys):
    """The words lose their place in LAS, and nothing else changes."""
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    data = tmp_path / "test.conllu"
    given = ["--checkpoint", str(trained), "--data", str(data)]
    attack = ["--attack", str(tmp_path / "recipe.yaml"), *given, "--limit", "4"]

    def scored(out: Path, strange: bool) -> dict[str, Any]:
        for arguments in (
            ["evaluate", *given, "--out", str(out / "scores")],
            ["attack", *attack, "--out", str(out / "attacked")],
            ["augment", *attack, "--keep", "all", "--out", str(out / "copies.conllu")],
        ):
            main(arguments)
            told = capsys.readouterr().err.count("dependency label 'weird', which the parser")
            assert told == strange
        scores: dict[str, Any] = json.loads((out / "scores" / "scores.json").read_text())
        return scores

    write(data, sentences(TRAIN))
    known = scored(tmp_path / "known", strange=False)
    write(data, [*map(weird, sentences(TRAIN))])
    strange = scored(tmp_path / "strange", strange=True)
    assert strange["uas"] == known["uas"]
    assert known["las"] > strange["las"] == 0
    copies = read_treebank(tmp_path / "strange" / "copies.conllu")
    assert {label for copy in copies for label in copy.gold.labels} == {"weird"}


def test_fine_tuning_says_once_which_labels_it_does_not_learn(run, tmp_path, caplog):
    """The parser starts from a checkpoint, whose labels stay its own."""
    arguments, _ = run("test", without_tags)
    main(arguments)
    (tmp_path / "run" / "last.ckpt").rename(tmp_path / "clean.ckpt")
    caplog.clear()
    for split, expected in (("train", 1), ("copies", 0)):
        arguments, place = run(split, strangely_labelled if expected else replace)
        main([*arguments, "--model.init_args.init_from", str(tmp_path / "clean.ckpt")])
        told = [one.getMessage() for one in caplog.records if "label" in one.getMessage()]
        message = "dependency label 'weird', which the parser never saw in training: words with "
        message += "this or other such labels, 1 in all, train heads only"
        assert told == [place + message] * expected
        caplog.clear()
