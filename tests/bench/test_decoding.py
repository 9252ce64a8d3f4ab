"""The clock of the bench on decoding counts what it says, and leaves the parser as it was."""

import time

import pytest

from decoding import clocked, measured
from robustparse.models.dependency import biaffine
from sample_runs import sentences, trained_parser


def test_shares_of_parsing_time() -> None:
    parser, words = trained_parser(), [one.sentence for one in sentences(12, "test")]
    before, decode = parser.predict(words), biaffine.decode_heads
    for labelled in (False, True):
        parser.labelled = labelled
        figures = measured(parser, words)
        assert 0 < figures["decoding_percent"] < 100
        assert (figures["scoring_percent"] > 0) == labelled
    parser.labelled = False
    assert parser.predict(words) == before
    assert biaffine.decode_heads is decode


def test_every_call_is_clocked() -> None:
    class Sleeper:
        def rest(self) -> str:
            time.sleep(0.01)
            return "rested"

    with clocked(Sleeper, "rest") as seconds:
        assert [Sleeper().rest() for _ in range(3)] == ["rested"] * 3
    assert len(seconds) == 3
    assert min(seconds) >= 0.01
    assert Sleeper().rest() == "rested"
    assert len(seconds) == 3


def test_a_failing_call_leaves_no_clock() -> None:
    with pytest.raises(ZeroDivisionError), clocked(biaffine, "decode_heads"):
        _ = 1 / 0
    assert biaffine.decode_heads.__module__ == "robustparse.models.dependency.trees"
