"""Whether sentences have the Penn tags that a part of an attack goes by."""

from collections.abc import Sequence

from robustparse.errors import InputError
from robustparse.types import Example


def check_tags(examples: Sequence[Example]) -> None:
    """Refuse sentences without Penn tags: the attack would silently leave them as they are.

    Raises:
        InputError: names the first such sentence, counted from 1.
    """
    for example in examples:
        if len(example.sentence.xpos) != len(example.sentence):
            raise InputError(
                f"sentence {example.id + 1}: no Penn tag for every word, which this attack needs; "
                "expected them in the XPOS column (the fifth) of the data file"
            )
