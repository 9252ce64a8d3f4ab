"""The victim's share of an attack's time, by the clock and at best."""

from argparse import Namespace
from pathlib import Path

from sample_runs import RECIPE, save_checkpoint, trained_parser
from victim_share import measure


def test_both_shares_are_of_the_same_texts(tmp_path: Path) -> None:
    (tmp_path / "words.yaml").write_text(RECIPE)
    checkpoint = save_checkpoint(trained_parser(), tmp_path / "parser.ckpt")
    options = {"attack": str(tmp_path / "words.yaml"), "checkpoint": str(checkpoint)}
    figures = measure(Namespace(**options, data="sample", limit=5, device="cpu"))
    assert figures["sentences"] == 5
    assert figures["texts"] > figures["forwards"] > 0
    assert 0 < figures["victim_share_of_seconds"] <= 1
    assert figures["victim_share_at_best"] > 0
