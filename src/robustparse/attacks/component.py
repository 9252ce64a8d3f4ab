"""The common base of candidate generators and constraints: which tags they read, whether they are
models.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import ClassVar

from robustparse.attacks.victim import Victim
from robustparse.data.features import features_in
from robustparse.errors import InputError, UntaggedError
from robustparse.tagsets import Tagset
from robustparse.types import Example

_NAMES = {
    "xpos": ("XPOS tag", "them in column 5 of the data file"),
    "upos": ("universal tag", "them in column 4 (UPOS) of the data file"),
    None: ("tag", "Penn tags in column 5 (XPOS) of the data file, or universal ones in column 4"),
}


TrainingTags = Mapping[str, Mapping[str, str]]
"""Map each tagset to {lower-cased training word: most frequent tag} (`Victim.training_tags`)."""


class Component:
    """A candidate generator or a constraint; settings out of range raise an InputError.

    Attributes:
        is_model: whether it runs a model, whose time is reported separately from the victim's.
        reads_tags: whether it needs tags. A sentence without them is rejected, since the attack
            would silently leave it unchanged.
        takes_untagged: whether it also works on sentences that have no tags at all.
        tagset: which tags it reads; None: each sentence's own (`Sentence.tagset`).
        without_tags: how to change a recipe so that it needs no tags, as an imperative.
        features: whether morphological features are compared in addition to tags
            (`attacks.features`): true takes the victim's training words, a path a treebank file.
        loads: attributes that load a model, a file or a library when they are first read.
        needs: what the user must give or install for it, such as word vectors.
        tasks: the only tasks (`Task.name`) for whose sentences it works; empty: all.
    """

    is_model: bool = False
    reads_tags: bool = False
    takes_untagged: bool = False
    tagset: Tagset | None = None
    without_tags: str = "leave it out of the recipe"
    features: bool | str | None = None
    loads: tuple[str, ...] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    tasks: ClassVar[tuple[str, ...]] = ()

    def prepare(self, victim: Victim) -> None:
        """Prepare for a victim, and load what the component needs, before the attack begins.

        Raises:
            InputError: something is not installed or cannot be read.
        """
        for name in self.loads:
            getattr(self, name)
        if isinstance(self.features, str):
            features_in(self.features)

    @property
    def looked_at(self) -> Tagset | None:
        """The tagset that a sentence must have; None: its own."""
        return self.tagset

    def check(self, examples: Sequence[Example]) -> None:
        """Reject sentences without the tags that the component reads.

        Raises:
            UntaggedError: names the first such sentence, counted from 1, and the missing tags.
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
        """Yield warnings about the data; here, that universal tags replace missing Penn tags.

        There is no warning if `tagset` is set or all sentences have Penn tags.
        """
        if self.reads_tags and self.looked_at is None:
            sentences = [example.sentence for example in examples]
            universal = sum(each.tagset == "upos" and bool(each.upos) for each in sentences)
            if universal:
                yield (
                    f"{universal} of {len(examples)} sentences have no Penn tags in column 5; "
                    "their universal tags in column 4 are read instead (`tagset: upos`)"
                )


def training_words(victim: Victim, component: Component) -> Set[str]:
    """Return the victim's training words.

    Raises:
        InputError: none are known, as of a third-party victim without its training data.
    """
    if not victim.training_words:
        raise InputError(
            "needs words of the victim's training data, which are unknown or too few",
            key=type(component).__name__,
            remedy="give the victim its training data (`training`), or change the component",
        )
    return victim.training_words


def training_tags(victim: Victim, component: Component) -> TrainingTags:
    """Return the victim's training words with their tags.

    Raises:
        InputError: the victim was trained without the tags that the component needs.
    """
    known = victim.training_tags
    tagsets = [component.tagset] if component.tagset else known
    if not any(known.get(tagset) for tagset in tagsets):
        raise _no_training_tags(component.tagset, component)
    return known


def tags_of(known: TrainingTags, tagset: Tagset, component: Component) -> Mapping[str, str]:
    """Return the training words with their tags in one tagset.

    Raises:
        InputError: the victim was trained without tags of this tagset.
    """
    if not known.get(tagset):
        raise _no_training_tags(tagset, component)
    return known[tagset]


def _no_training_tags(tagset: Tagset | None, component: Component) -> InputError:
    return InputError(
        f"the victim was trained without {_NAMES[tagset][0]}s, so there would be no candidates",
        key=type(component).__name__,
        remedy="leave it out, set its `tagset`, or replace it by a component that needs no tags",
    )
