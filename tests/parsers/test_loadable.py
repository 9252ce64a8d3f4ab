"""What can be trained can be loaded: a parser of which no checkpoint could be read is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robustparse.data.datamodule import TreebankDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.parsers.biaffine import BiaffineParser
from robustparse.parsers.encoders import LSTMEncoder
from robustparse.parsers.load import load
from sample_runs import save_checkpoint, trainer

SIZES = {"word_dim": 3, "character_dim": 0, "hidden": 3, "layers": 1}


class OwnEncoder(LSTMEncoder):
    """An encoder of a user's module."""


class OwnParser(BiaffineParser):
    """A parser of a user's module."""


@pytest.mark.parametrize(
    ("kind", "encoder", "settings", "message"),
    [
        (OwnParser, LSTMEncoder(**SIZES), {}, r"no checkpoint of a .*\.OwnParser could be loaded"),
        (BiaffineParser, OwnEncoder(**SIZES), {}, r"could hold its encoder, a .*\.OwnEncoder; exp"),
        (
            BiaffineParser,
            LSTMEncoder(**SIZES),
            {"seed": np.int64(3)},
            r"BiaffineParser: no checkpoint could hold its seed, a numpy\.int64",
        ),
        (
            BiaffineParser,
            LSTMEncoder(**SIZES, dropout=np.float64(0.1)),
            {},
            r"LSTMEncoder: no checkpoint could hold its dropout, a numpy\.float64",
        ),
    ],
)
def test_what_could_not_be_loaded_is_not_trained(
    kind: type[BiaffineParser],
    encoder: LSTMEncoder,
    settings: dict[str, Any],
    message: str,
    vocabulary: Vocabulary,
) -> None:
    parser = kind(encoder, arc_dim=3, label_dim=3, vocabulary=vocabulary, **settings)
    data = TreebankDataModule("sample")
    with pytest.raises(InputError, match=message):
        trainer(max_steps=1).fit(parser, datamodule=data)
    assert parser.trainer.global_step == 0


def test_paths_are_stored_as_strings(tmp_path: Path, vocabulary: Vocabulary) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 2 3\ncats 4 5 6\n")
    encoder = LSTMEncoder(**SIZES, vectors=tmp_path / "vectors.txt")
    parser = BiaffineParser(encoder, arc_dim=3, label_dim=3, vocabulary=vocabulary)
    loaded = load(save_checkpoint(parser, tmp_path / "a.ckpt"))
    assert loaded.encoder.vectors == str(tmp_path / "vectors.txt")
    assert torch.equal(loaded.encoder.static.weight, parser.encoder.static.weight)
