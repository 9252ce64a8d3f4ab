"""Morphological features: a substitute must occur with the features of the original word.

Universal tags say little about forms: "copying", "copies" and "copied" are all VERB, and only one
of them fits where another stands. Column 6 (FEATS) of a data file tells them apart. Words are
compared by their analyses, the universal tag and the whole set of features: a word may replace
another one if it has the other's analysis somewhere in training, as "put" does in the past and in
the present tense.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from robustparse.attacks.tagged import Part
from robustparse.attacks.victim import MorphologicalVictim, Victim
from robustparse.data.features import features_in
from robustparse.data.vocab import Analysis
from robustparse.types import Example

TrainingFeatures = Mapping[str, Collection[Analysis]]
"""Lower-cased words and the analyses that they have in training."""


def training_features(victim: Victim, part: Part) -> TrainingFeatures:
    """Return the analyses that a part compares; none where it, or the victim, goes by tags only.

    Raises:
        InputError: the file that the part names cannot be read.
    """
    if isinstance(part.features, str):
        return features_in(part.features)
    if part.features and isinstance(victim, MorphologicalVictim):
        return victim.training_features
    return {}


def feature_warnings(
    parts: Sequence[Part], examples: Sequence[Example], victim: Victim | None
) -> Iterator[str]:
    """Yield where features were asked for and only tags can be compared, in one line at most."""
    settings = [part.features for part in parts if part.features]
    if not settings:
        return
    if lacking := sum(not example.sentence.feats for example in examples):
        yield (
            f"{lacking} of {len(examples)} sentences have no features in column 6 (FEATS), so that "
            "only tags are compared in them"
        )
    elif victim is not None and True in settings and not _known(victim):
        yield (
            "the victim knows no features of its training words, so that only tags are compared; "
            "to compare features too, name its training file in the recipe (`features: FILE`), or "
            "train it again on data with features"
        )


def _known(victim: Victim) -> bool:
    return isinstance(victim, MorphologicalVictim) and bool(victim.training_features)
