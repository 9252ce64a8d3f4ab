"""What a user sees of the warnings of others."""

import logging
import warnings

import pytest

from robustparse.api.progress import quiet


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Checkpoint directory runs/a exists and is not empty.", False),
        ("The dirpath has changed from 'runs/a' to 'runs/b', therefore", False),
        ("Found 3 module(s) in eval mode at the start of training.", False),
        ("The 'train_dataloader' does not have many workers which may be a bottleneck.", False),
        ("`ModelCheckpoint(monitor='val/las')` could not find the monitored key", True),
    ],
)
def test_only_notices_that_nobody_can_help_are_hidden(message: str, shown: bool) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with quiet():
            warnings.warn(message, stacklevel=1)
    assert [str(warning.message) for warning in seen] == [message] * shown


def test_lightnings_tips_are_hidden_and_its_warnings_are_not() -> None:
    logger = logging.getLogger("pytorch_lightning")
    before = logger.level
    with quiet():
        assert not logger.isEnabledFor(logging.INFO)
        assert logger.isEnabledFor(logging.WARNING)
    assert logger.level == before
