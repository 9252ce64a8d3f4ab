"""The Penn tags that a part of an attack goes by: those of sentences, and those of a victim."""

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
                f"sentence {example.id + 1}: no Penn tag for every word, which this attack needs; "
                "expected them in the XPOS column (the fifth) of the data file"
            )


def tag_dictionary(victim: Victim, part: str) -> Mapping[str, str]:
    """Return the victim's words and their Penn tags, without which a part would leave no candidate.

    Args:
        victim: as it was trained.
        part: what goes by them, for errors.

    Raises:
        InputError: the victim knows no word's tag.
    """
    if not victim.training_tags:
        raise InputError(
            f"{part}: the parser knows the Penn tag of no word from training, so that there would "
            "be no candidate; leave it out, or take what needs no tags in its place"
        )
    return victim.training_tags
