"""The bench on labels of head 0: without the rule words contradict it, with it none does."""

from robustparse.models.dependency.stack_pointer import StackPointerParser
from root_labels import BEAMS, DECODERS, measured
from sample_runs import sentences


def test_rows_without_and_with_the_rule(parser, pointer: StackPointerParser) -> None:
    examples = sentences(6, "test")
    for model, ways in ((parser, DECODERS), (pointer, BEAMS)):
        rows = list(measured(model, examples, ("root",)))
        assert [row["decoder"] for row in rows] == [name for name in ways for _ in range(2)]
        assert [row["rule"] for row in rows] == ["no", "yes"] * len(ways)
        assert sum(row["contradictions"] for row in rows if row["rule"] == "no") > 3
        assert all(row["contradictions"] == 0 for row in rows if row["rule"] == "yes")
        assert all(0 <= float(row["uas"]) <= 100 for row in rows)
