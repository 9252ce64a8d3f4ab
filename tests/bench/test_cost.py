"""The bench of what adversaries cost: their order, their figures, that each does its work."""

import argparse

import pytest

import cost


@pytest.mark.slow
def test_a_step_with_two_passes_costs_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that counts the passes."""
    passes = [0.0]
    whole = cost.BiaffineParser.loss

    def counted(*arguments, **options):  # type: ignore[no-untyped-def]
        passes[0] += 1.0
        return whole(*arguments, **options)

    monkeypatch.setattr(cost.BiaffineParser, "loss", counted)
    monkeypatch.setattr(cost.time, "perf_counter", lambda: passes[0])
    sizes = {"folder": "sample", "hidden": 8, "layers": 1, "encoder": None, "precision": "32-true"}
    sizes["masked_lm"] = None
    rounds = {"batch_words": 200, "batches": 2, "rounds": 1}
    names = ["fgm", "pgd3", "freelb3", "substitution"]
    found = cost.measure(argparse.Namespace(**sizes, **rounds, adversaries=names))
    assert found["fgm"] == 2.0
    assert found["pgd3"] == 4.0  # the clean pass gives the first step's gradient
    assert found["freelb3"] == 3.0
    assert found["substitution_every_10th"] == pytest.approx((9 + found["substitution"]) / 10)
    assert found["clean_words_per_second"] > 0
