"""``--engine ray``: a cluster writes the files of one process, whatever dies on the way."""

import json
import os
import random
import secrets
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import fsspec
import pytest
from command_runs import mistake
from kinds_of_data import COMMANDS, arguments, make, output, written
from ray_faults import LOG

from forks import Forked
from robustparse.api import victim_sources
from robustparse.api.merge import merge
from robustparse.cli import ray_blocks
from robustparse.cli.main import _parsed, main, run
from robustparse.cli.options import ShardOptions
from robustparse.cli.ray_blocks import BlockActor
from robustparse.errors import InputError
from robustparse.files.output_folders import make_folder
from robustparse.ray import run as run_on_ray
from sample_runs import save_checkpoint, sentences, trained_parser, write_sample

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")
TASKS = ("trees", "texts", "forms")
FOLDER = Path(__file__).parent
RECIPE = """
candidates:
  class_path: robustparse.attacks.TableCandidates
  init_args: {table: table.jsonl}
search: {class_path: ray_faults.FaultySearch}
live: 1
"""


@pytest.fixture(scope="module", autouse=True)
def _environment() -> Iterator[None]:
    """Clusters send nothing, and take calls with a token only; Ray reads this when imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{FOLDER}{os.pathsep}{FOLDER.parent}", prepend=os.pathsep)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # other tests would leave them no time
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(16))
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with one CPU each."""
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80_000_000}
    started = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    started.add_node(**node)
    yield started
    ray.shutdown()
    started.shutdown()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each task, a folder with a model and data, see `make`."""
    return {task: make(task, tmp_path_factory.mktemp(task)) for task in TASKS}


def on(cluster: Any, *more: str) -> list[str]:
    return ["--engine=ray", f"--address={cluster.address}", *more]


@pytest.mark.parametrize(
    ("command", "task"), [*product(COMMANDS, TASKS), ("augment --attack", "trees")]
)
def test_an_actor_writes_blocks_as_one_process_does(command, task, made, tmp_path, monkeypatch):
    """It loads the model once, also if it works on several blocks."""
    opened = []
    loads = victim_sources.load_models
    monkeypatch.setattr(
        victim_sources, "load_models", lambda *given: opened.append(1) or loads(*given)
    )
    main(arguments(command, made[task], tmp_path / "whole"))
    given = arguments(command, made[task], tmp_path / "merged")
    parse = partial(_parsed, given[0], given[1:])
    actor = BlockActor(parse, str(Path.cwd()), ShardOptions(engine="ray"))
    name, blocks = Path(output(given)).name, []
    for number in (1, 2):
        blocks.append(tmp_path / str(number) / name)
        assert actor.finish(f"{number}/2", str(blocks[-1]))[0] is None
    merge(Path(output(given)), blocks)
    assert written(tmp_path / "merged") == written(tmp_path / "whole")
    assert len(opened) == (0 if command == "augment" else 2)  # one process, and the actor


# Options of an attack that cannot be used, and the option that the error names.
UNFIT = {
    "a shard": (["--engine=ray", "--shard=1/2"], "--shard"),
    "no engine": (["--blocks=3"], "--blocks"),
    "no GPU without an engine": (["--gpus_per_actor=0.5"], "--gpus_per_actor"),
    "no actor": (["--engine=ray", "--actors=0"], "--actors"),
    "fewer than no GPU": (["--engine=ray", "--gpus_per_actor=-1"], "--gpus_per_actor"),
    "processes": (["--engine=ray", "--devices=2"], "--devices"),
    "a GPU": (["--engine=ray", "--device=cuda"], "--gpus_per_actor"),
    "one and a half GPUs": (["--engine=ray", "--gpus_per_actor=1.5"], "--gpus_per_actor"),
    "no output": (["--engine=ray", "--out=.."], "--out"),
    "an input": (["--engine=ray", "--out=test.conllu"], "--out"),
    "an input of a pattern": (["--engine=ray", "--data=*.conllu", "--out=test.conllu"], "--out"),
    "standard input": (["--engine=ray", "--data=-"], "--data"),
    "no cluster": (["--engine=ray", "--address=nonsense"], "--address"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_options_that_do_not_fit(case, made, tmp_path, monkeypatch):
    options, key = UNFIT[case]
    monkeypatch.chdir(shutil.copytree(made["trees"], tmp_path / "trees"))
    data = Path("test.conllu").read_bytes()
    given = ["--attack=recipe.yaml", "--checkpoint=tiny.ckpt", "--device=cpu", "--out=out"]
    given += [] if any(each.startswith("--data") for each in options) else ["--data=test.conllu"]
    with pytest.raises(InputError) as error:
        run("attack", [*given, *options])
    assert error.value.key == key
    assert Path("test.conllu").read_bytes() == data
    assert not [*Path().glob("out*")]


@pytest.mark.parametrize(
    ("command", "out", "taken"),
    [
        ("attack", "out", "out/certificates.jsonl"),
        ("certify", "out", "out/examples.jsonl"),
        ("evaluate", "out", "out"),
        ("predict", "out.conllu", "out.conllu/a"),
        ("augment --attack", "out.conllu", "out.attack/examples.jsonl"),
    ],
)
def test_an_output_that_is_taken_is_refused_before_the_cluster_starts(
    command, out, taken, made, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path(taken).parent.mkdir(exist_ok=True)
    Path(taken).touch()
    name, *given = arguments(command, made["trees"], tmp_path / "unused")
    given = [each for each in given if not each.startswith("--out=")]
    with pytest.raises(InputError) as error:
        run(name, [*given, f"--out={out}", "--engine=ray", "--address=nonsense"])
    assert str(error.value.path) == (taken if taken == out else str(Path(taken).parent))
    assert not Path(f"{out}.blocks").exists()


def identity(*given: str) -> dict[str, Any]:
    parsed = _parsed(given[0], [*given[1:], "--out=out", "--engine=ray"])
    return ray_blocks._identity(parsed, parsed.group(ShardOptions))


ENDPOINT = ("--victim=Endpoint", "--victim.url=http://127.0.0.1:1", "--victim.model=m")
# A victim, one more option, and whether the run stays the same.
SAME = {
    "more requests": (ENDPOINT, "--victim.max_requests=5", True),
    "another model": (ENDPOINT, "--victim.model=n", False),
    "an argument named as an option": (
        ("--trust=ray_faults", "--victim=ray_faults.Counted", "--victim.address=a"),
        "--victim.address=b",
        False,
    ),
    "another device": (ENDPOINT, "--device=cpu", True),
    "another seed": (ENDPOINT, "--seed=1", False),
}


@pytest.mark.parametrize("case", SAME)
def test_options_that_may_change_when_a_run_is_resumed(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.tsv").write_text("a text\tgood\n")
    victim, option, same = SAME[case]
    given = ("evaluate", "--data=data.tsv", *victim)
    assert (identity(*given) == identity(*given, option)) is same


def test_only_inputs_are_compared(made, tmp_path, monkeypatch):
    """A folder may have the name of a task, and the output may be in it."""
    monkeypatch.chdir(tmp_path)
    Path("tags").mkdir()
    given = ["augment", "--operations=typos", "--task=tags", f"--data={made['trees']}/t*.conllu"]
    first = identity(*given)
    Path("tags/copies.conll").touch()
    assert identity(*given) == first
    assert [*first["sha256"]] == [str(made["trees"] / "test.conllu")]


def test_files_of_others_stay_next_to_blocks(tmp_path):
    folder = make_folder(tmp_path / "out.blocks")
    make_folder(folder / "1")
    for name in ("run.json", "notes.txt"):
        (folder / name).touch()
    with pytest.raises(InputError), ray_blocks._removed_if_unused(folder):
        raise InputError("no block was begun")
    assert [each.name for each in folder.iterdir()] == ["notes.txt"]


def test_ray_is_missing(made, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    name, *given = arguments("evaluate", made["trees"], tmp_path / "out", "--engine=ray")
    with pytest.raises(InputError) as error:
        run(name, given)
    assert error.value.key == "--engine"
    assert "robustparse[ray]" in str(error.value.remedy)


def test_a_service_is_asked_by_one_actor(made, tmp_path):
    given = ["--victim=Endpoint", "--victim.url=http://127.0.0.1:1", "--victim.model=m"]
    given += [f"--data={made['texts'] / 'test.csv'}", f"--out={tmp_path / 'out'}", "--engine=ray"]
    with pytest.raises(InputError) as error:
        run("evaluate", given)
    assert error.value.key == "--actors"


def test_a_victim_is_made_once_and_its_counts_are_those_of_each_block(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.tsv").write_text("".join(f"text {n}\tgood\n" for n in range(6)))
    options = ["--trust=ray_faults", "--victim=ray_faults.Counted", "--data=data.tsv", "--out=out"]
    parse = partial(_parsed, "evaluate", options)
    actor = BlockActor(parse, str(tmp_path), ShardOptions(engine="ray"))
    made = set()
    for number in (1, 2, 3):
        assert actor.finish(f"{number}/3", f"{number}")[0] is None
        made.add(Path("made").read_text())
        record = json.loads(Path(f"{number}/shard.json").read_text())
        assert record["sums"]["service"]["requests"] == 2
    assert len(made) == 1


# What changes after all blocks were finished, while the output is removed.
STALE = {
    "another option": lambda: ["--seed=1"],
    "another number": lambda: ["--blocks=1"],
    "another file": lambda: shutil.copy("test.conllu", "test2.conllu") and [],
    "other data": lambda: write_sample(Path("test.conllu"), sentences(9, "test")) and [],
    "another model": lambda: save_checkpoint(trained_parser(), Path("tiny.ckpt")) and [],
}


def test_blocks_of_another_run_are_refused(made, tmp_path, monkeypatch):
    """`merge` cannot detect that all are outdated. Those of the same run are not made again."""
    monkeypatch.chdir(shutil.copytree(made["trees"], tmp_path / "trees"))
    given = ["evaluate", "--checkpoint=tiny.ckpt", "--data=test*.conllu", "--device=cpu"]
    given += ["--out=out", "--engine=ray", "--blocks=2"]
    parsed = _parsed(given[0], given[1:])
    run_of = ray_blocks._identity(parsed, parsed.group(ShardOptions))
    ray_blocks._claim(make_folder(Path("out.blocks")), run_of)
    actor = BlockActor(lambda: parsed, str(Path.cwd()), ShardOptions(engine="ray"))
    for number in (1, 2):
        assert actor.finish(f"{number}/2", f"out.blocks/{number}/out")[0] is None
    shutil.copytree(".", tmp_path / "kept")
    main([*given, "--device=auto", "--actors=3"])  # there is nothing to do for a cluster
    assert Path("out/scores.json").exists()
    for name, change in STALE.items():
        monkeypatch.chdir(shutil.copytree(tmp_path / "kept", tmp_path / name))
        with pytest.raises(InputError) as error:
            run(given[0], [*given[1:], *change()])
        assert error.value.path == "out.blocks", name
        assert not Path("out").exists()


def test_python_runs_a_command_on_a_cluster(made, cluster, tmp_path, monkeypatch):
    """Into a bucket, without the blocks."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    main(arguments("predict", made["forms"], tmp_path / "whole"))
    name, *given = arguments("predict", made["forms"], tmp_path / "merged")
    options = dict(each.removeprefix("--").split("=", 1) for each in given if "=" in each)
    options["out"] = "memory://results/test.json"
    options["data"] = [str(made["forms"] / "test.json")]
    run_on_ray(name, **options, address=cluster.address, blocks=3, actors=1)
    memory = fsspec.filesystem("memory")
    assert memory.find("/results") == ["/results/test.json"]
    assert memory.cat_file("/results/test.json") == (tmp_path / "whole/test.json").read_bytes()
    assert not [*(tmp_path / "home").rglob("test.json*")]


def test_a_mistake_in_a_block_ends_the_run(made, cluster, tmp_path, capsys):
    """Without any block that was begun, it leaves nothing."""
    given = arguments("evaluate", made["texts"], tmp_path / "out", *on(cluster, "--actors=1"))
    assert "--blocks" in mistake(capsys, *given, "--blocks=9")
    assert not [*tmp_path.iterdir()]


def wait_until(true: Callable[[], bool], driver: Forked | None = None) -> None:
    end = time.monotonic() + 300
    while not true():
        assert driver is None or driver.poll() is None, driver.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def wait_for_more(sentences: int, driver: Forked) -> None:
    begun = len(LOG.read_text().split())
    wait_until(lambda: len(LOG.read_text().split()) >= begun + sentences, driver)


# More of them in the long profile, as of examples in fuzz tests.
KILLS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 2


@pytest.mark.slow
def test_random_kills_lose_no_sentence_and_double_none(made, cluster, tmp_path, monkeypatch):
    """SIGKILL of an actor at a random sentence, then of the driver, again and again."""
    monkeypatch.chdir(shutil.copytree(made["trees"], tmp_path / "trees"))
    count, dice = 16 * KILLS, random.Random(0)
    write_sample(Path("test.conllu"), sentences(count, "test"))
    Path("recipe.yaml").write_text(RECIPE)
    given = "attack --attack recipe.yaml --trust ray_faults --checkpoint tiny.ckpt --device cpu"
    given += " --data test.conllu --out"
    main([*given.split(), str(tmp_path / "whole")])
    LOG.write_text("")
    command = [*given.split(), str(tmp_path / "out"), *on(cluster, "--blocks=8", "--actors=2")]
    Path("pace").write_text("0.3")
    for _ in range(KILLS // 2):
        driver = Forked(main, command)
        wait_for_more(dice.randint(1, 4), driver)
        Path("kill").write_text("any")
        wait_until(lambda: not Path("kill").exists(), driver)
        wait_for_more(dice.randint(0, 3), driver)
        driver.kill()
        driver.communicate()
        assert driver.poll() == -signal.SIGKILL
    Path("pace").unlink()
    main(command)
    assert written(tmp_path / "out") == written(tmp_path / "whole")
    times = Counter(map(int, LOG.read_text().split()))
    assert set(times) == set(range(count))
    assert times.total() <= count + KILLS // 2 * (2 + 2)  # a kill may end both actors, too


@pytest.mark.slow
def test_whatever_dies_no_sentence_is_lost_or_doubled(made, cluster, tmp_path, monkeypatch):
    """The driver, a process of an actor in the middle of a block, and a node."""
    monkeypatch.chdir(shutil.copytree(made["trees"], tmp_path / "trees"))
    Path("recipe.yaml").write_text(RECIPE)
    given = "attack --attack recipe.yaml --trust ray_faults --checkpoint tiny.ckpt --device cpu"
    given += " --data test.conllu --out"
    main([*given.split(), str(tmp_path / "whole")])
    LOG.unlink()
    command = [*given.split(), str(tmp_path / "out"), *on(cluster, "--blocks=4")]

    # Blocks of two sentences, from 0; whatever dies does so at the second one.
    Path("hold").write_text("3")
    driver = Forked(main, [*command, "--actors=1"])
    wait_until(Path("held").exists)
    driver.kill()
    driver.communicate()
    assert driver.poll() == -signal.SIGKILL

    def remove_node() -> None:
        wait_until(Path("held").exists)
        cluster.remove_node(second, allow_graceful=False)

    (second,) = cluster.worker_nodes
    Path("held").unlink()
    Path("hold").write_text(second.node_id)
    Path("kill").write_text("5")
    Thread(target=remove_node, daemon=True).start()
    main(command)
    assert not Path("kill").exists()
    assert not cluster.worker_nodes
    assert written(tmp_path / "out") == written(tmp_path / "whole")
    begun = Counter(map(int, LOG.read_text().split()))
    assert [begun[even] for even in range(0, 8, 2)] == [1, 1, 1, 1]
    assert begun.total() == 8 + 3
