"""The Penn tags that a part of an attack reads: those of sentences, and those of a victim."""

from collections.abc import Mapping, Sequence

from robustparse.attacks.victim import Victim
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
                f"sentence {example.id + 1}: no Penn tag for every word, which this attack needs",
                expected="them in the XPOS column (the fifth) of the data file",
            )


def tag_dictionary(victim: Victim, part: str) -> Mapping[str, str]:
    """Return the victim's training words with their Penn tags; there is at least one.

    Args:
        victim: a trained model.
        part: the class that needs them, for errors.

    Raises:
        InputError: the victim knows no word's tag.
    """
    if not victim.training_tags:
        raise InputError(
            "the victim was trained without Penn tags, so that there would be no candidate",
            key=part,
            remedy="leave it out, or replace it by a part that needs no tags",
        )
    return victim.training_tags
