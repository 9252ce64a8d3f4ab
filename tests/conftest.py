"""How the tests are run: without a network, with a cache of their own, the long ones first."""

import gc
import logging
import os
import re
import tempfile
from collections import Counter
from functools import cache
from typing import Any

import pytest

# Imports and tests make many objects, few of them in cycles.
gc.set_threshold(200_000, 20, 20)

# Before anything imports torch, transformers or wandb, which read these once.
_CACHE = tempfile.TemporaryDirectory(prefix="robustparse-tests-")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"  # of the commands that tests start, too
os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_DATA_DIR"] = _CACHE.name
os.environ["WANDB_X_SERVICE_WAIT"] = "300"  # seconds; a busy machine is no dead service
# Tests compare with what a CPU computes, and fork; those that need a GPU ask for one.
if not os.environ.get("ROBUSTPARSE_GPU"):
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


def pytest_configure(config: pytest.Config) -> None:
    """Import fixtures, and torch with them, but not in the process that only hands out tests."""
    if "PYTEST_XDIST_WORKER" in os.environ or not config.getoption("numprocesses", None):
        config.pluginmanager.import_plugin("every_test")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all files with forked processes to one worker: each fork server imports everything."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    @cache
    def forks(file: str) -> bool:
        names = r"from forks import|_forks\b|exact_runs|damaged_results|\b(held|ranks)\("
        return bool(re.search(names, (config.rootpath / file).read_text()))

    class OneForkServer(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "forks" if forks(file) else file

    return OneForkServer(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, so that at the end no worker waits for one of them."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


def pytest_collection_finish() -> None:
    """Exclude what is imported from garbage collection, which saves a tenth of the time.

    pytest visits each logger that does not propagate three times a test. torch has fifty, so they
    propagate.
    """
    gc.freeze()
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("torch.") and isinstance(logger, logging.Logger):
            logger.propagate = True
