"""One attack, not interrupted, with which others are compared."""

from pathlib import Path

import pytest
from attack_folders import attack, some


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an uninterrupted run over twelve sentences, which nobody changes."""
    folder = tmp_path_factory.mktemp("whole")
    attack(folder, some(12))
    return folder
