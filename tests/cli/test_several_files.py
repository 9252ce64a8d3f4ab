"""``--data`` of several files: what a command writes for one file that joins them."""

import json
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas
import pytest
import torch
from command_runs import mistake
from kinds_of_data import COMMANDS, TASKS, arguments, make, written
from tiny_runs import fit, write_config

import robustparse
from robustparse.api.data_sources import DataFile
from robustparse.cli.main import main, run
from robustparse.data.shard import Shard
from robustparse.errors import InputError
from robustparse.models.load import load
from robustparse.reports.entry import read_entry
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.tags import TAGS
from robustparse.tasks.task import Task
from robustparse.types import Example
from sample_runs import SPEED, sentences, write_sample

# Every kind for the commands that read it in their own way; two kinds for those that read alike.
LAWS = [
    (command, kind, more)
    for command, kinds in (
        *((command, ("trees", "texts")) for command in ("attack", "certify")),
        *((command, tuple(TASKS)) for command in ("evaluate", "predict", "augment")),
    )
    for kind in kinds
    for more in ((), ("--shard=2/2",))
]
assert {command for command, *_ in LAWS} == {*COMMANDS}
HALF = {"attack": ("--fraction=0.7",), "certify": ("--fraction=0.7",), "augment": ("--keep=all",)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each kind, with its data in one file and in three."""
    folders = {}
    for kind, (_, examples, name, write) in TASKS.items():
        folders[kind] = make(kind, tmp_path_factory.mktemp(kind))
        for first, end in pairwise((0, 1, 5, len(examples))):
            write(folders[kind] / f"part-{end}{Path(name).suffix}", examples[first:end])
    return folders


def compared(value: Any) -> Any:
    """A record without the names and digests of the data, and without times."""
    if isinstance(value, dict):
        left_out = SPEED | {"data", "victim_seconds", "process_seconds"}
        return {key: compared(each) for key, each in value.items() if key not in left_out}
    return value


def content(folder: Path) -> dict[str, Any]:
    files = written(folder)
    for name in files:
        if name.endswith(".json") and name != "test.json":
            files[name] = compared(json.loads(files[name]))
    return files


@pytest.mark.parametrize(("command", "kind", "more"), LAWS)
def test_several_files_are_read_as_one(command, kind, more, made, tmp_path):
    more = (*more, *HALF.get(command, ()))
    files = sorted(made[kind].glob("part-*"))
    main(arguments(command, made[kind], tmp_path / "one", *more))
    main(arguments(command, made[kind], tmp_path / "several", *more, files=files))
    several = content(tmp_path / "several")
    assert several == content(tmp_path / "one")
    assert several


def test_patterns_and_lists_name_files_in_their_order(made, tmp_path, monkeypatch):
    monkeypatch.chdir(made["trees"])
    nested = tmp_path / "a" / "b" / "test.conllu"
    nested.parent.mkdir(parents=True)
    write_sample(nested, sentences(1, "test"))
    config = tmp_path / "data.yaml"
    config.write_text("data: [part-8.conllu, 'part-[15].conllu']\n")
    names = ["part-1.conllu", "part-5.conllu", "part-8.conllu"]
    for given, recorded in (
        (["--data", "part-*.conllu"], names),
        (["--data", "part-8.conllu", "part-[15].conllu"], [names[2], *names[:2]]),
        (["--data", "[p]art-*.conllu"], names),
        (["--data", "[part-8.conllu, part-1.conllu]"], [names[2], names[0]]),
        (["--config", str(config)], [names[2], *names[:2]]),
        (["--data", f"{tmp_path}/**/b/*.conllu"], str(nested)),  # one file has no list
    ):
        model = ("--checkpoint", "tiny.ckpt", "--device", "cpu", "--out", str(tmp_path / "out"))
        main(["evaluate", *given, *model])
        assert json.loads((tmp_path / "out" / "scores.json").read_text())["data"] == recorded


@pytest.mark.usefixtures("_forks")
@pytest.mark.parametrize("more", [("--shard=1/2", "--shard=2/2"), ("--devices=2",)])
def test_attacks_on_several_files_are_divided(more, made, tmp_path):
    files = sorted(made["trees"].glob("part-*"))
    main(arguments("attack", made["trees"], tmp_path / "out", files=files))
    divided = [str(tmp_path / str(number)) for number, _ in enumerate(more)]
    for out, option in zip(divided, more, strict=True):
        main(arguments("attack", made["trees"], Path(out), option, files=files))
    if len(divided) > 1:
        main(["merge", str(tmp_path / "merged"), *divided])
        divided = [str(tmp_path / "merged")]
    assert content(Path(divided[0])) == content(tmp_path / "out")


def test_results_on_several_files_are_shared_verified_and_drawn(made, tmp_path, monkeypatch):
    monkeypatch.chdir(made["trees"])
    files = sorted(Path.cwd().glob("part-*"))
    for command in ("attack", "certify", "evaluate"):
        main(arguments(command, Path.cwd(), tmp_path / command, files=files))
    monkeypatch.chdir(tmp_path)
    model = ("--checkpoint", str(made["trees"] / "tiny.ckpt"))
    main(["share", "shared", *model, "--results", "attack", "certify", "evaluate"])
    entry = read_entry(Path("shared"))
    assert entry["data"]["name"] == ", ".join(each.name for each in files)
    assert entry["data"]["sha256"] == DataFile([*map(str, files)]).digest()
    main(["verify", "shared", "--sentences=3", "--tolerance=0"])
    main(["verify", "--sentences=3", "--data", f"{files[0].parent}/part-*", "shared"])
    with pytest.raises(InputError) as error:
        run("verify", ["shared", f"--data={json.dumps([*map(str, reversed(files))])}"])
    assert error.value.key == "--data"
    main(["transfer", "attack", *model, "--device=cpu", "--out=transferred"])
    main(["report", "attack", "transferred", "--out=page.html"])
    main(["report", "--leaderboard", "shared", "--out=leaderboard.html"])


def test_fit_reads_the_files_of_a_pattern_as_one(tmp_path):
    """Training files are named by patterns, and so are copies."""
    written = sentences(12, "train")
    for name, part in (("whole", written), ("part-1", written[:5]), ("part-2", written[5:])):
        write_sample(tmp_path / f"{name}.conllu", part)
    config, weights = write_config(tmp_path / "run.yaml", max_steps=2), []
    for run_, name in (("one", "whole"), ("two", "part-*")):
        file = str(tmp_path / f"{name}.conllu")
        files = [f"--data.{split}_file={file}" for split in ("train", "dev")]
        files += [f"--data.augmentation.files+={file}"]
        main(fit(config, tmp_path / run_, "--data.folder", "null", *files))
        weights.append(load(tmp_path / run_ / "last.ckpt").state_dict())
    assert all(torch.equal(one, weights[1][name]) for name, one in weights[0].items())


def test_functions_take_several_files(made, tmp_path):
    model = made["trees"] / "tiny.ckpt"
    files, whole = sorted(made["trees"].glob("part-*")), made["trees"] / "test.conllu"
    assert robustparse.read(files) == robustparse.read(whole)
    assert robustparse.read(made["trees"] / "part-*") == robustparse.read(whole)
    assert str(robustparse.evaluate(model, files)) == str(robustparse.evaluate(model, whole))
    table = str(made["trees"] / "table.jsonl")
    both = [robustparse.certify(model, each, table, cap=2).records for each in (files, whole)]
    assert both[0] == both[1]
    recipe = str(made["trees"] / "recipe.yaml")
    attacked = [robustparse.attack(model, each, recipe, limit=6) for each in (files, whole)]
    assert attacked[0].to_pandas().equals(attacked[1].to_pandas())
    codes = [robustparse.encode(table, each).clusters for each in (files, whole)]
    assert codes[0] == codes[1]


@pytest.mark.parametrize("kind", ["number", "table", "names in a dict"])
def test_other_objects_are_no_data(kind, made):
    (path,) = made["trees"].glob("test.*")
    table = pandas.DataFrame({"text": ["a b"], "label": ["yes"]})
    given: Any = {"number": 5, "table": table, "names in a dict": {str(path): 1}}[kind]
    for function in (
        partial(robustparse.evaluate, made["trees"] / "tiny.ckpt"),
        partial(robustparse.encode, str(made["trees"] / "table.jsonl")),
        robustparse.read,
    ):
        with pytest.raises(InputError) as error:
            function(given)
        assert error.value.key in ("examples", "data", "path")


def tags(*lines: str) -> str:
    return "".join(f"{word}\n" for line in lines for word in (*line.split(" "), ""))


def treebank(*entities: str) -> str:
    row = "{}\tw\t_\tNOUN\tNN\t_\t{}\troot\t_\t{}"
    words = (row.format(at, at - 1, entity) for at, entity in enumerate(entities, start=1))
    return "\n".join(words) + "\n\n"


SEMANTIC = semantic_task()
LAMBDA = "( lambda $0 e ( a:t $0 ) )"
Files = dict[str, str]
# What no file shows alone: the task, the files, and the columns.
TOGETHER: dict[str, tuple[Task, Files, list[str] | None]] = {
    # Without a tenth of the rows, -1 would be no class in the second file.
    "classes": (CLASSIFICATION, {"a.tsv": "a b\t0\na c\t-1\n", "b.tsv": "x y\t1\n" * 3}, None),
    "missing labels": (
        CLASSIFICATION,
        {"a.tsv": "a b\tyes\na c\t-\n", "b.tsv": "x y\tno\nx z\t-\nu v\tyes\n"},
        None,
    ),
    "headers": (
        CLASSIFICATION,
        {"a.csv": "x,y\na b,1\n" + "c,2\n" * 9, "b.csv": "x,y\nd e,2\nf,1\n"},
        None,
    ),
    "scheme": (TAGS, {"a.conll": tags("a\tO"), "b.conll": tags("a\tI-X b\tI-X", "c\tI-X")}, None),
    "outside": (
        TAGS,
        {"a.conllu": treebank("_", "_"), "b.conllu": treebank("_", "Entity=B-X")},
        ["misc:Entity"],
    ),
    "language": (
        SEMANTIC,
        {"a.tsv": "a b\t( lambda $0 e ( a:t $0 ) )\n", "b.tsv": "c\tx:y\n"},
        None,
    ),
}


def numbered(examples: list[Example]) -> list[Example]:
    """Examples without the lines of their rows."""
    return [
        each if each.row is None else replace(each, row=replace(each.row, line=0))
        for each in examples
    ]


@pytest.mark.parametrize("case", TOGETHER)
def test_formats_are_inferred_from_all_files_together(case, tmp_path, monkeypatch):
    task, files, columns = TOGETHER[case]
    monkeypatch.chdir(tmp_path)
    contents = [*files.values()]
    if case == "headers":
        contents[1] = contents[1].partition("\n")[2]
    joined = f"joined{Path(next(iter(files))).suffix}"
    for name, content in {**files, joined: "".join(contents)}.items():
        Path(name).write_text(content)
    several = DataFile([*files], columns=columns).read(task)
    assert numbered(several) == numbered(DataFile(joined, columns=columns).read(task))
    assert [each.path for each in several] == sorted(each.path for each in several)
    assert {each.path for each in several} == {*files}


PAIR = "a b\tc d\tyes\n"
# The task, the files, what is named, and the file and the line of the error.
MISTAKES: dict[str, tuple[Task, Files, list[str], str | None, int | None]] = {
    "no match": (DEPENDENCY, {}, ["a*.conllu"], "a*.conllu", None),
    "twice": (DEPENDENCY, {"a.conllu": treebank("_")}, ["a.conllu", "./*"], "./a.conllu", None),
    "sample": (DEPENDENCY, {"a.conllu": treebank("_")}, ["a.conllu", "sample"], None, None),
    "none": (DEPENDENCY, {}, [], None, None),
    "endings": (
        CLASSIFICATION,
        {"a.tsv": "a b\tyes\n", "b.csv": "a b,yes\n"},
        ["*"],
        "b.csv",
        None,
    ),
    "second of three": (
        CLASSIFICATION,
        {"a.csv": "a b,yes\n", "b.tsv": "a b\tyes\n", "c.csv": "a b,yes\n"},
        ["*"],
        "b.tsv",
        None,
    ),
    "no sentence": (TAGS, {"a.conll": "-DOCSTART- O\n\n"}, ["a.conll"], "a.conll", None),
    "pairs": (CLASSIFICATION, {"a.tsv": "a b\tyes\n", "b.tsv": PAIR}, ["*"], "b.tsv", None),
    "names": (
        CLASSIFICATION,
        {"a.tsv": "text\tlabel\na b\tyes\n", "b.tsv": "a b\tyes\n"},
        ["*"],
        "b.tsv",
        None,
    ),
    "order": (
        CLASSIFICATION,
        {"a.csv": "text,label\na b,yes\n", "b.csv": "label,text\nyes,a b\n"},
        ["*"],
        "b.csv",
        None,
    ),
    "row": (CLASSIFICATION, {"a.tsv": "a b\tyes\n", "b.tsv": "a\tno\n\tno"}, ["*"], "b.tsv", 2),
    "form": (SEMANTIC, {"a.tsv": "a\t( a )\n", "b.tsv": "b\t( a\n"}, ["*"], "b.tsv", 1),
    "kinds": (TAGS, {"a.tsv": tags("a\tO"), "b.tsv": treebank("_")}, ["*"], "b.tsv", None),
    "word": (TAGS, {"a.conll": tags("a\tO"), "b.conll": tags("a\tO", "a")}, ["*"], "b.conll", 3),
    "tree": (
        DEPENDENCY,
        {"a.conllu": treebank("_"), "b.conllu": treebank("_") + "x"},
        ["*"],
        "b.conllu",
        3,
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_in_one_of_several_files_are_located(case, tmp_path, monkeypatch):
    task, files, names, path, line = MISTAKES[case]
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        Path(name).write_text(content)
    with pytest.raises(InputError) as error:
        DataFile(names).read(task)
    assert (error.value.path, error.value.line) == (path, line)
    with pytest.raises(InputError) as of_function:
        robustparse.read(names, task)
    assert str(of_function.value) == str(error.value)
    if case in ("pairs", "names", "order", "kinds", "endings"):
        assert "a." in str(error.value.expected)  # the other file


def test_a_shard_reads_its_sentences_of_each_treebank_only(tmp_path):
    files = [tmp_path / f"{number}.conllu" for number in range(3)]
    for file, (first, end) in zip(files, pairwise((0, 2, 5, 6)), strict=True):
        write_sample(file, sentences(6, "test")[first:end])
    names = [*map(str, files)]
    whole = DataFile(names).read(DEPENDENCY)
    damaged = files[0].read_text().replace("1\t", "one\t", 1)
    files[0].write_text(damaged)
    files[2].write_text(files[2].read_text().replace("1\t", "one\t", 1))
    assert DataFile(names, shard=Shard(2, 3)).read(DEPENDENCY) == whole[2:4]
    with pytest.raises(InputError) as error:
        DataFile(names, shard=Shard(3, 3)).read(DEPENDENCY)
    assert error.value.path == names[2]


def test_sentences_that_the_victim_cannot_read_are_located(made, tmp_path):
    second = tmp_path / "second.tsv"
    second.write_text("a b\tc d\tyes\n" + "a\tpos\n")
    first = made["pairs"] / "test.tsv"
    with pytest.raises(InputError) as error:
        robustparse.evaluate(made["pairs"] / "tiny.ckpt", [first, second])
    assert (error.value.path, error.value.line) == (str(second), 2)


@pytest.mark.parametrize("shard", ["1/3", "2/3", "3/3", None])
def test_raw_texts_of_several_files_are_answered(shard, made, tmp_path, capsys):
    lines = [" ".join(each.sentence.words) for each in sentences(6, "test")]
    parts = [f"\n{lines[0]}\n\n", "\n".join(lines[1:2]), "\n".join(lines[2:]) + "\n", "\n"]
    for number, part in enumerate(parts):
        (tmp_path / f"{number}.txt").write_text(part)
    (tmp_path / "joined").write_text("\n".join(lines))
    more = () if shard is None else ("--shard", shard)
    model = ("predict", "--checkpoint", str(made["trees"] / "tiny.ckpt"), *more)
    main([*model, "--data", str(tmp_path / "joined"), "--out", str(tmp_path / "one")])
    main([*model, "--data", f"{tmp_path}/*.txt", "--out", str(tmp_path / "several")])
    assert (tmp_path / "several").read_bytes() == (tmp_path / "one").read_bytes()
    (tmp_path / "2.txt").write_text(f"{lines[0]}\n{'a ' * 2000}")
    empty = [tmp_path / f"empty-{number}.txt" for number in range(2)]
    for path in empty:
        path.touch()
    assert mistake(capsys, *model, "--data", *map(str, empty), "--out", "out")
    if shard in (None, "3/3"):
        located = mistake(capsys, *model, "--data", f"{tmp_path}/*.txt", "--out", "out")
        assert str(tmp_path / "2.txt:2") in located
