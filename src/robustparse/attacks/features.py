"""Morphological features: a substitute must occur with the features of the original word.

Universal tags do not distinguish inflected forms: "copying", "copies" and "copied" are all VERB,
but they cannot replace each other. Column 6 (FEATS) of a data file distinguishes them. The analysis
of a word is its universal tag with its set of features. A word may replace another one if it occurs
with the same analysis somewhere in training; "put", for example, occurs as past and as present
tense.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from robustparse.attacks.component import Component
from robustparse.attacks.victim import MorphologicalVictim, Victim
from robustparse.data.features import features_in
from robustparse.data.vocab import Analysis
from robustparse.types import Example

TrainingFeatures = Mapping[str, Collection[Analysis]]
"""Maps each lower-cased word to its analyses in training."""


def training_features(victim: Victim, component: Component) -> TrainingFeatures:
    """Return the analyses that a component compares; empty if it compares only tags, or if the
    victim has no analyses.

    Raises:
        InputError: the file that the component names cannot be read.
    """
    if isinstance(component.features, str):
        return features_in(component.features)
    if component.features and isinstance(victim, MorphologicalVictim):
        return victim.training_features
    return {}


def feature_warnings(
    components: Sequence[Component], examples: Sequence[Example], victim: Victim | None
) -> Iterator[str]:
    """Yield at most one warning: a component asks for features, but only tags can be compared."""
    settings = [component.features for component in components if component.features]
    if not settings:
        return
    if lacking := sum(not example.sentence.feats for example in examples):
        yield (
            f"{lacking} of {len(examples)} sentences have no features in column 6 (FEATS); only "
            "tags are compared in them"
        )
    elif victim is not None and True in settings and not _known(victim):
        yield (
            "the victim has no features of its training words, so only tags are compared; to "
            "compare features too, name its training file in the recipe (`features: FILE`), or "
            "train it again on data with features"
        )


def _known(victim: Victim) -> bool:
    return isinstance(victim, MorphologicalVictim) and bool(victim.training_features)
