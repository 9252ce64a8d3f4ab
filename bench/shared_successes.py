"""How well sentences read that every one of several attacks has changed with success.

Attacks that succeed more often change more difficult sentences, too, so their means over all
successes cannot be compared (Yoo et al. 2020, Table 4).
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean

from robustparse.attacks.constraints.language_model import LanguageModel
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.evaluation.finished_folders import read_finished
from robustparse.evaluation.records import ExampleRecord

LEAST = 10  # sentences, of which a mean says something

Figures = dict[str, float | int | None]


def quality(
    folders: Mapping[str, Path], language_model: LanguageModel, encoder: SentenceSimilarity
) -> dict[str, Figures]:
    """Return the means over the sentences on which all attacks succeed.

    Args:
        folders: of finished attacks on the same sentences, by name.
        language_model: measures perplexity.
        encoder: measures the similarity of sentences.

    Returns:
        By name: the number of ``sentences``, the percentage of words ``changed``, the
        ``similarity`` to the original, and the ``rise`` of the perplexity in percent, each the mean
        over the sentences, None if there are fewer than `LEAST`.
    """
    found = {name: _successes(folder) for name, folder in folders.items()}
    shared = sorted(set.intersection(*(set(pairs) for pairs in found.values())))
    chosen = {name: [pairs[number] for number in shared] for name, pairs in found.items()}
    every = [pair for pairs in chosen.values() for pair in pairs]
    texts = sorted({text for pair in every for text in _texts(pair)})
    perplexities = language_model.perplexities(texts).tolist()
    perplexity = dict(zip(texts, perplexities, strict=True))
    figures: dict[str, Figures] = {}
    for name, pairs in chosen.items():
        after = [" ".join(pair["adversarial_tokens"]) for pair in pairs]
        before = [" ".join(pair["tokens"]) for pair in pairs]
        figures[name] = {
            "sentences": len(pairs),
            "changed": _mean(100 * len(pair["edited"]) / len(pair["tokens"]) for pair in pairs),
            "similarity": _mean(encoder.between(after, before)),
            "rise": _mean(
                100 * (perplexity[new] / perplexity[old] - 1) for old, new in map(_texts, pairs)
            ),
        }
    return figures


def _successes(folder: Path) -> dict[int, ExampleRecord]:
    """Return the sentences on which an attack has succeeded, by number."""
    return {each["id"]: each for each in read_finished(folder)[1] if each["success"]}


def _texts(record: ExampleRecord) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words before and after the attack."""
    return tuple(record["tokens"]), tuple(record["adversarial_tokens"])


def _mean(values: Iterable[float]) -> float | None:
    every = [float(value) for value in values]
    return mean(every) if len(every) >= LEAST else None
