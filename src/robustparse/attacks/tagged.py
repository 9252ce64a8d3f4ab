"""What candidate generators and constraints share: they may read Penn tags, and be models."""

from collections.abc import Mapping, Sequence

from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.types import Example


class Part:
    """A candidate generator or a constraint; settings out of range raise an InputError.

    Attributes:
        is_model: whether a model decides; its seconds are then reported apart from the victim's.
        reads_tags: whether sentences need Penn tags: without them the attack would silently leave
            them as they are.
    """

    is_model: bool = False
    reads_tags: bool = False

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that lack what the part reads.

        Raises:
            InputError: names the first such sentence, counted from 1, and what it lacks.
        """
        for example in examples if self.reads_tags else ():
            if len(example.sentence.xpos) != len(example.sentence):
                raise InputError(
                    f"sentence {example.id + 1}: no Penn tag for every word, which this attack "
                    "needs",
                    expected="them in the XPOS column (the fifth) of the data file",
                )


def tag_dictionary(victim: Victim, part: str) -> Mapping[str, str]:
    """Return the victim's training words with their Penn tags, of which `part` needs some."""
    if not victim.training_tags:
        raise InputError(
            "the victim was trained without Penn tags, so that there would be no candidate",
            key=part,
            remedy="leave it out, or replace it by a part that needs no tags",
        )
    return victim.training_tags
