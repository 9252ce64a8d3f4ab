"""``--engine ray``: a cluster writes the files of one process, whatever dies on the way."""

import os
import secrets
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from ray_faults import LOG
from test_merge_command import COMMANDS, arguments, make, output, written

from forks import Forked
from robustparse.api import sources
from robustparse.api.merge import merge
from robustparse.cli.main import _parsed, main, run
from robustparse.cli.options import ShardOptions
from robustparse.cli.ray_blocks import BlockActor
from robustparse.errors import InputError
from robustparse.ray import run as run_on_ray
from sample_runs import sentences, write_sample

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


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with one CPU each, which take calls with a token only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{FOLDER}{os.pathsep}{FOLDER.parent}", prepend=os.pathsep)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(16))
        import ray  # which reads the environment
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
    loads = sources.load_models
    monkeypatch.setattr(sources, "load_models", lambda *given: opened.append(1) or loads(*given))
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


def without_blocks(folder: Path) -> dict[str, Any]:
    files = written(folder)
    return {name: content for name, content in files.items() if ".blocks/" not in name}


def test_python_runs_a_command_on_a_cluster(made, cluster, tmp_path):
    main(arguments("predict", made["forms"], tmp_path / "whole"))
    name, *given = arguments("predict", made["forms"], tmp_path / "merged")
    options = dict(each.removeprefix("--").split("=", 1) for each in given)
    run_on_ray(name, **options, address=cluster.address, blocks=3, actors=1)
    assert without_blocks(tmp_path / "merged") == written(tmp_path / "whole")


def test_a_mistake_in_a_block_ends_the_run(made, cluster, tmp_path, capsys):
    """Blocks that are not begun do not bind a later run to their number."""
    given = arguments("evaluate", made["texts"], tmp_path / "out", *on(cluster, "--actors=1"))
    main(arguments("evaluate", made["texts"], tmp_path / "whole"))
    with pytest.raises(InputError) as error:
        run(given[0], [*given[1:], "--blocks=9"])
    assert error.value.key == "--blocks"
    main([*given, "--blocks=2"])
    assert written(tmp_path / "out") == written(tmp_path / "whole")


def wait_for(path: Path) -> None:
    end = time.monotonic() + 300
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.02)


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
    wait_for(Path("held"))
    driver.kill()
    driver.communicate()
    assert driver.poll() == -signal.SIGKILL

    def remove_node() -> None:
        wait_for(Path("held"))
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
