"""``--shard`` and ``robustparse merge``: the files of one process, and shards that do not fit."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from command_runs import mistake, stop_after
from kinds_of_data import COMMANDS, arguments, make, output, written

from forks import Forked
from robustparse.api.data_sources import DataFile
from robustparse.api.merge import merge
from robustparse.cli.main import main
from robustparse.data.sample.treebank import sample_tags
from robustparse.data.shard import Shard
from robustparse.data.tables import table_text
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.evaluation.shards import record_file, write_shard
from robustparse.files.writing import write_pieces
from robustparse.models import BiLSTMTagger, LSTMEncoder
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Layout, Row
from sample_runs import save_checkpoint, sentences, write_sample

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=("trees", "texts", "forms"))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each task, see `make`."""
    return make(request.param, tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def made_trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for trees."""
    return make("trees", tmp_path_factory.mktemp("made"))


@pytest.mark.parametrize("command", COMMANDS)
def test_merged_shards_are_the_files_of_one_process(command, made, tmp_path, capsys):
    compare(command, made, tmp_path, capsys)


def test_copies_by_an_attack_are_merged_with_its_folders(made_trees, tmp_path, capsys):
    compare("augment --attack", made_trees, tmp_path, capsys)


def listing(shard: Path) -> list[Path]:
    """A shard, or a file with what stands next to it, as a shell lists it for ``*``."""
    return [shard] if shard.is_dir() else sorted(shard.parent.iterdir())


def compare(command: str, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments(command, made, tmp_path / "whole"))
    shards = []
    for number in (1, 2):
        given = arguments(command, made, tmp_path / str(number), f"--shard={number}/2")
        main(given)
        shards.append(output(given))
    merged = arguments(command, made, tmp_path / "merged")
    listed = [str(path) for shard in shards for path in listing(Path(shard))]
    capsys.readouterr()
    main(["merge", output(merged), *reversed(listed)])
    assert capsys.readouterr().out.startswith("2 shards ")
    files = written(tmp_path / "merged")
    assert files == written(tmp_path / "whole")
    assert len(files) >= (1 if command == "predict" else 2)


def copies(shard: str, *more: str) -> None:
    """Three shards of `augment` need no model."""
    out = f"{shard.partition('/')[0]}.conllu"
    given = ("--operations=casing", "--data=test.conllu", f"--out={out}", f"--shard={shard}")
    main(["augment", *given, *more])


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of three shards."""
    folder = tmp_path_factory.mktemp("shards")
    write_sample(folder / "test.conllu", sentences(8, "test"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for number in (1, 2, 3):
            copies(f"{number}/3")
    return folder


def other_data() -> None:
    write_sample(Path("test.conllu"), sentences(9, "test"))
    copies("2/3")


def renamed(name: str) -> None:
    """The record names another file."""
    record = json.loads(RECORD.read_text())
    record["files"] = {name: record["files"][""]}
    RECORD.write_text(json.dumps(record))


def as_folders(command: str) -> None:
    """The records are those of folders, of a command that writes files."""
    for number in (1, 2, 3):
        path = Path(f"{number}.conllu")
        record = json.loads(Path(f"{path}.shard.json").read_text())
        path.rename("moved")
        path.mkdir()
        Path("moved").rename(path / "rows")
        record |= {"command": command, "files": {"rows": record["files"][""]}}
        (path / "shard.json").write_text(json.dumps(record))


def blocked(block: int, *numbers: int) -> None:
    """The records say that their files have blocks."""
    for number in numbers:
        path = Path(f"{number}.conllu.shard.json")
        record = json.loads(path.read_text())
        record["files"][""]["block"] = block
        path.write_text(json.dumps(record))


SECOND, RECORD = Path("2.conllu"), Path("2.conllu.shard.json")
# What is done to the second shard, the shards that are given, the file that the error names, and a
# part of the message.
UNFIT: dict[str, tuple[Callable[[], object], str, Path | None, str]] = {
    "missing": (lambda: None, "13", None, "2/3"),
    "doubled": (lambda: None, "1232", SECOND, "2.conllu"),
    "not there": (lambda: None, "1234", Path("4.conllu"), ""),
    "unfinished": (RECORD.unlink, "123", SECOND, RECORD.name),
    "cut off": (lambda: SECOND.write_text("1"), "123", SECOND, "1 bytes"),
    "gone": (SECOND.unlink, "123", SECOND, ""),
    "damaged": (lambda: RECORD.write_text("{}"), "123", RECORD, ""),
    "another seed": (lambda: copies("2/3", "--seed=1"), "123", SECOND, "seed: 0 there, 1 here"),
    "of another count": (lambda: copies("2/4"), "123", SECOND, "3 there, 4 here"),
    "of other data": (other_data, "123", SECOND, "content of data"),
    "file above": (lambda: renamed("../x"), "123", RECORD, "../x"),
    "folder above": (lambda: renamed(".."), "123", RECORD, ".."),
    "whole path": (lambda: renamed("/x"), "123", RECORD, "/x"),
    "folders": (lambda: as_folders("predict"), "123", Path("1.conllu/shard.json"), "files"),
    "empty blocks": (lambda: blocked(0, 1, 2, 3), "123", Path("1.conllu.shard.json"), "1"),
    "blocks in one": (lambda: blocked(1, 2), "123", SECOND, "blocks"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_shards_that_do_not_fit_are_named(case, shards, tmp_path, monkeypatch):
    change, numbers, path, found = UNFIT[case]
    monkeypatch.chdir(shutil.copytree(shards, tmp_path / "shards"))
    change()
    with pytest.raises(InputError) as error:
        merge(Path("merged.conllu"), [Path(f"{number}.conllu") for number in numbers])
    assert error.value.path == (None if path is None else str(path))
    assert found in error.value.found
    assert not Path("merged.conllu").exists()


def test_a_shard_that_is_interrupted_resumes(tmp_path, made_trees, monkeypatch, capsys):
    """It takes no other shard's folder, and no other limit."""
    given = arguments("attack", made_trees, tmp_path / "out", "--shard=2/2")
    main(arguments("attack", made_trees, tmp_path / "whole", "--shard=2/2"))
    with monkeypatch.context() as patch:
        stop_after(2, [], patch)
        with pytest.raises(SystemExit):
            main(given)
    assert not (tmp_path / "out" / "shard.json").exists()
    capsys.readouterr()
    assert "shard" in mistake(capsys, *given, "--shard=1/2")
    assert "limit" in mistake(capsys, *given, "--limit=8")
    main(given)
    resumed, whole = written(tmp_path / "out"), written(tmp_path / "whole")
    assert resumed.keys() == whole.keys()
    assert all(resumed[name] == whole[name] for name in whole if name != "shard.json")
    records = [json.loads(each["shard.json"]) for each in (resumed, whole)]
    assert records[0]["sums"]["attack"] == records[1]["sums"]["attack"]
    (tmp_path / "out" / "shard.json").unlink()  # killed after the summary
    main(given)
    assert (tmp_path / "out" / "shard.json").exists()


# More of them in the long profile, as of examples in fuzz tests.
KILLS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 4


@pytest.mark.slow
def test_killed_shards_lose_no_sentence_and_double_none(made_trees, tmp_path):
    """SIGKILL at random moments of a random shard; then each shard runs to its end."""
    count, dice = 8, random.Random(0)
    trees = made_trees / "many"
    shutil.copytree(made_trees, trees)
    write_sample(trees / "test.conllu", sentences(3 * count, "test"))

    def command(out: Path, *shard: str) -> list[str]:
        limit = f"--limit={3 * count}"
        return arguments("attack", trees, out, "--attack.live=1", limit, *shard)

    def shard(number: int) -> list[str]:
        return command(tmp_path / str(number), f"--shard={number}/{count}")

    main(command(tmp_path / "whole"))
    killed = []
    for _ in range(KILLS):
        number, lines = dice.randint(1, count), dice.randint(0, 2)
        examples = tmp_path / str(number) / "examples.jsonl"
        process = Forked(main, shard(number), OMP_NUM_THREADS="1")
        while process.poll() is None:
            if examples.exists() and examples.read_bytes().count(b"\n") >= lines:
                process.kill()
            time.sleep(0.001)
        killed.append(process.poll())
    assert -signal.SIGKILL in killed
    for number in range(1, count + 1):
        main(shard(number))
    merge(tmp_path / "merged", [tmp_path / str(number) for number in range(1, count + 1)])
    for name in ("examples.jsonl", "adversarial.conllu"):
        merged = (tmp_path / "merged" / name).read_bytes()
        assert merged == (tmp_path / "whole" / name).read_bytes()


def test_shards_under_other_operations_do_not_fit(made_trees, tmp_path):
    shards = [tmp_path / "1", tmp_path / "2"]
    for shard, operation in zip(shards, ("typos", "casing"), strict=True):
        given = arguments("evaluate", made_trees, shard, f"--shard={shard.name}/2")
        main([each.replace("typos,casing", operation) for each in given])
    with pytest.raises(InputError) as error:
        merge(tmp_path / "merged", shards)
    assert "operations" in error.value.found


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", "1/9"])
def test_a_shard_that_cannot_be(shard, shards, monkeypatch):
    monkeypatch.chdir(shards)
    with pytest.raises(InputError) as error:
        DataFile("test.conllu", shard=Shard.parse(shard)).read(DEPENDENCY)
    assert error.value.key == "--shard"


@pytest.mark.parametrize(("count", "total"), [(1, 1), (3, 3), (3, 8), (7, 100)])
def test_each_item_is_in_one_shard_and_shards_are_equal_but_for_one(count, total):
    parts = [Shard(number, count).select(range(total)) for number in range(1, count + 1)]
    assert [item for part in parts for item in part] == [*range(total)]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_shard_of_a_treebank_does_not_read_the_others(tmp_path):
    data = write_sample(tmp_path / "test.conllu", sentences(8, "test"))
    whole = DataFile(str(data), limit=7).read(DEPENDENCY)
    data.write_text(data.read_text().replace("1\t", "one\t", 1))
    second = DataFile(str(data), limit=7, shard=Shard(2, 2)).read(DEPENDENCY)
    assert second == whole[3:]  # with the ids of the whole file
    with pytest.raises(InputError):
        DataFile(str(data), limit=7, shard=Shard(1, 2)).read(DEPENDENCY)


def scripts() -> dict[str, str]:
    """The scripts of the guide that start the shards, by what starts them."""
    guide = (ROOT / "docs" / "guides" / "scale.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    (job,) = (yaml.safe_load(block) for block in blocks if "kind: Job" in block)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (script,) = container["args"]
    (slurm,) = (block for block in blocks if "#SBATCH" in block)
    return {"SLURM_ARRAY_TASK_ID": slurm, "JOB_COMPLETION_INDEX": script}


@pytest.mark.parametrize(
    ("variable", "values"), [("SLURM_ARRAY_TASK_ID", "1 200"), ("JOB_COMPLETION_INDEX", "0 199")]
)
def test_the_scripts_of_the_guide_start_every_shard(variable, values, tmp_path):
    """By a stand-in for the program."""
    program = tmp_path / "robustparse"
    program.write_text('#!/bin/sh\necho "$@" >>started\n')
    program.chmod(0o755)
    for value in values.split():
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", variable: value}
        script = scripts()[variable]
        subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=True)
    first, last = (tmp_path / "started").read_text().splitlines()
    assert first.endswith("--shard 1/200 --out shards/1")
    assert last.endswith("--shard 200/200 --out shards/200")


# Rows of a shard may be none, where no sentence has a copy.
@pytest.mark.parametrize("kind", ["tsv", "csv", "json lines", "json list"])
@pytest.mark.parametrize("ends", [(0, 2, 2, 5), (3, 5), (0, 0), (5, 5)])
def test_tables_of_any_kind_are_joined_as_one(kind, ends, tmp_path):
    layout = Layout(kind, ("te\nxt",), "label", ",", header=kind == "csv")
    rows = [Row(at, {"te\nxt": f"é\n{at}", "label": "[\n"}, layout) for at in range(5)]
    shards = []
    for number, (first, end) in enumerate(pairwise((0, *ends)), start=1):
        path = tmp_path / str(number)
        with path.open("w") as file:
            head = write_pieces(file, table_text(rows[first:end]))
        write_shard(path, "predict", f"{number}/{len(ends)}", DEPENDENCY, {}, {}, {"": head})
        shards.append(path)
    merge(tmp_path / "merged", shards)
    assert (tmp_path / "merged").read_text() == "".join(table_text(rows[: ends[-1]]))


def test_tags_in_json_lines_are_merged(tmp_path, capsys):
    examples = sample_tags(0).split("test")[:3]
    known = Vocabulary.from_examples(examples, min_count=1)
    save_checkpoint(
        BiLSTMTagger(LSTMEncoder(6, 0, 4, 6, 1), vocabulary=known), tmp_path / "tiny.ckpt"
    )
    rows = ({"tokens": each.sentence.words, "tags": each.gold.tags} for each in examples)
    (tmp_path / "test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "out").mkdir()
    compare("predict", tmp_path, tmp_path / "out", capsys)


def test_raw_texts_are_divided_between_their_lines(made_trees, tmp_path):
    lines = [" ".join(each.sentence.words) for each in sentences(5, "test")]
    data = tmp_path / "raw.txt"
    data.write_text("\n" + "\n\n \n".join(lines) + "\n\n")
    model = ["predict", f"--checkpoint={made_trees / 'tiny.ckpt'}", f"--data={data}"]
    main([*model, f"--out={tmp_path / 'whole'}"])
    shards = [tmp_path / str(number) for number in (1, 2)]
    for number, path in enumerate(shards, start=1):
        main([*model, f"--out={path}", f"--shard={number}/2"])
    beside = [record_file(path) for path in shards]  # as a shell lists them for `*`
    merge(tmp_path / "merged", [*beside, *shards])
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()
