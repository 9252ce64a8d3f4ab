"""What candidate generators and constraints share: they may go by tags, and be models."""

from collections.abc import Iterator, Mapping, Sequence

from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, UntaggedError
from robustparse.tagsets import Tagset
from robustparse.types import Example

_NAMES = {
    "xpos": ("XPOS tag", "them in column 5 of the data file"),
    "upos": ("universal tag", "them in column 4 (UPOS) of the data file"),
    None: ("tag", "Penn tags in column 5 (XPOS) of the data file, or universal ones in column 4"),
}


TrainingTags = Mapping[str, Mapping[str, str]]
"""By tagset, training words in lower case and their most frequent tag (`Victim.training_tags`)."""


class Part:
    """A candidate generator or a constraint; settings out of range raise an InputError.

    Attributes:
        is_model: whether a model decides; its seconds are then reported apart from the victim's.
        reads_tags: whether sentences need tags: without them the attack would silently leave them
            as they are.
        takes_untagged: whether it has an answer for sentences without any tags, too.
        tagset: the setting of which tags these are; None: each sentence's own (`Sentence.tagset`).
        without_tags: how a recipe does without these tags, as an imperative.
        features: the setting of whether morphological features are compared as well as tags
            (`attacks.features`): those of the victim's training words, or of a file of sentences.
    """

    is_model: bool = False
    reads_tags: bool = False
    takes_untagged: bool = False
    tagset: Tagset | None = None
    without_tags: str = "leave it out of the recipe"
    features: bool | str | None = None

    @property
    def looked_at(self) -> Tagset | None:
        """Which tags of a sentence are read; None reads its own."""
        return self.tagset

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that lack what the part reads.

        Raises:
            UntaggedError: names the first such sentence, counted from 1, and what it lacks.
        """
        for example in examples if self.reads_tags else ():
            sentence = example.sentence
            if self.takes_untagged and not sentence.tags:
                continue
            if len(sentence.tagged(self.looked_at)) != len(sentence):
                kind, expected = _NAMES[self.looked_at]
                raise UntaggedError(
                    f"sentence {example.id + 1}: no {kind} for every word, which "
                    f"{type(self).__name__} needs",
                    expected=expected,
                    without="leave out its `tagset`"
                    if self.looked_at and sentence.tagged()
                    else self.without_tags,
                )

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """Yield what a user should know of the data, first of all which tags the part goes by.

        Nothing where it is told by `tagset`, and where all sentences have Penn tags.
        """
        if self.reads_tags and self.looked_at is None:
            sentences = [example.sentence for example in examples]
            universal = sum(one.tagset == "upos" and bool(one.upos) for one in sentences)
            if universal:
                yield (
                    f"{universal} of {len(examples)} sentences have no Penn tags in column 5, so "
                    "that their universal tags in column 4 are read (`tagset: upos`)"
                )


def training_tags(victim: Victim, part: Part) -> TrainingTags:
    """Return the victim's training words with their tags, of which a part needs some.

    Raises:
        InputError: the victim was trained without such tags.
    """
    known = victim.training_tags
    if not any(known.get(one) for one in ([part.tagset] if part.tagset else known)):
        raise _untaught(part.tagset, part)
    return known


def tags_of(known: TrainingTags, tagset: Tagset, part: Part) -> Mapping[str, str]:
    """Return the training words with their tags of one set.

    Raises:
        InputError: they have none.
    """
    if not known.get(tagset):
        raise _untaught(tagset, part)
    return known[tagset]


def _untaught(tagset: Tagset | None, part: Part) -> InputError:
    return InputError(
        f"the victim was trained without {_NAMES[tagset][0]}s, so that there would be no candidate",
        key=type(part).__name__,
        remedy="leave it out, set its `tagset`, or replace it by a part that needs no tags",
    )
