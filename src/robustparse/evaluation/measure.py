"""How fluent and how close adversarial sentences are, measured by models, in an attack's folder.

Perplexity before and after (Wang et al. 2021, Table 3; Yoo et al. 2020), the similarity of changed
words to those they replaced, and of whole sentences (Jin et al. 2020, Table 3).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse import __version__
from robustparse.attacks.constraints.language_model import LanguageModel
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.attacks.constraints.vector_cosine import WordVectorCosine
from robustparse.errors import InputError
from robustparse.evaluation.breakdown import NOT_MEASURED
from robustparse.evaluation.lines import EXAMPLES, SUMMARY, Pair, read_pairs, read_summary
from robustparse.evaluation.tally import WHEN
from robustparse.files import file_digest, read_json, write_text

QUALITY = "quality.json"
_TEXTS_AT_ONCE = 256

Measures = dict[str, dict[str, Any]]


def measure(
    folder: Path,
    language_model: LanguageModel | None = None,
    vectors: WordVectorCosine | None = None,
    encoder: SentenceSimilarity | None = None,
    on_texts: Callable[[int, int], None] = lambda _done, _of: None,
) -> dict[str, Any]:
    """Measure an attack's folder by the models given; write ``quality.json`` and the summary.

    Both are written after each measure, the language model's last, which takes the longest. Earlier
    measures of the same examples stay.

    Args:
        folder: of a finished attack.
        language_model: gives perplexities.
        vectors: gives the cosine of changed words.
        encoder: gives the similarity of sentences, by its measure.
        on_texts: called with the number of texts the language model has read, and of all.

    Returns:
        The content of ``quality.json``.

    Raises:
        InputError: the folder holds no finished attack, or a model cannot be loaded.
    """
    pairs, summary = read_pairs(folder), read_summary(folder)
    measures = _held(folder)
    due: dict[str, Callable[[], dict[str, Any]]] = {}
    if vectors is not None:
        due["word_similarity"] = partial(word_similarity, pairs, vectors)
    if encoder is not None:
        due["sentence_similarity"] = partial(sentence_similarity, pairs, encoder)
    if language_model is not None:
        due["perplexity"] = partial(perplexity, pairs, language_model, on_texts)
    quality: dict[str, Any] = {}
    for name, taken in due.items():
        measures[name] = taken()
        kept = {name: measures[name] for name in NOT_MEASURED if name in measures}
        versions = {"robustparse": __version__}
        quality = {"examples": file_digest(folder / EXAMPLES), **kept, "versions": versions}
        write_text(folder / QUALITY, json.dumps(quality, indent=2) + "\n")
        written = {**summary, **NOT_MEASURED, **in_summary(measures)}
        write_text(folder / SUMMARY, json.dumps(written, indent=2) + "\n")
    return quality


def perplexity(
    pairs: Sequence[Pair],
    model: LanguageModel,
    on_texts: Callable[[int, int], None] = lambda _done, _of: None,
) -> dict[str, Any]:
    """Compute perplexities before and after; each distinct text is read once."""
    texts = sorted(
        {words for pair in pairs for words in (pair.before, pair.after)},
        key=lambda words: (len(words), words),
    )
    of: dict[tuple[str, ...], float] = {}
    for begin in range(0, len(texts), _TEXTS_AT_ONCE):
        some = texts[begin : begin + _TEXTS_AT_ONCE]
        of.update(zip(some, model.perplexities(some).tolist(), strict=True))
        on_texts(len(of), len(texts))
    groups = {"all": list(pairs), **_groups(pairs)}
    return {
        "model": model.model,
        "kind": model.kind,
        **{
            name: {
                "sentences": len(group),
                "clean": _middle([of[pair.before] for pair in group]),
                "attacked": _middle([of[pair.after] for pair in group]),
            }
            for name, group in groups.items()
        },
    }


def word_similarity(pairs: Sequence[Pair], vectors: WordVectorCosine) -> dict[str, Any]:
    """Compute cosines of changed words with those they replaced, lower-cased, if both are known."""
    found: dict[str, Any] = {}
    for name, group in _groups(pairs).items():
        words = [(pair.before[at], pair.after[at]) for pair in group for at in pair.changed]
        cosines = vectors.cosines([old for old, _ in words], [new for _, new in words])
        known = cosines[~np.isnan(cosines)]
        left_out = len(words) - len(known)
        found[name] = {"words": len(words), "without_vector": left_out, **_middle(known)}
    return {"vectors": vectors.vectors, "measure": "cosine", **found}


def sentence_similarity(pairs: Sequence[Pair], encoder: SentenceSimilarity) -> dict[str, Any]:
    """Compute similarities of changed sentences to the originals; unchanged ones are left out."""
    found: dict[str, Any] = {}
    for name, group in _groups(pairs).items():
        texts = [" ".join(pair.after) for pair in group]
        others = [" ".join(pair.before) for pair in group]
        found[name] = {"sentences": len(group), **_middle(encoder.between(texts, others))}
    return {"model": encoder.model, "measure": encoder.measure, **found}


def in_summary(measures: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Choose the means that ``summary.json`` repeats: perplexity over all sentences, similarities
    over the changed ones.
    """
    short: dict[str, Any] = {}
    if found := measures.get("perplexity"):
        means = {when: found["all"][when]["mean"] for when in WHEN}
        short["perplexity"] = {**means, "model": found["model"], "kind": found["kind"]}
    for name, source in (("word_similarity", "vectors"), ("sentence_similarity", "model")):
        if found := measures.get(name):
            means = {group: found[group]["mean"] for group in ("changed", "success")}
            short[name] = {**means, "measure": found["measure"], source: found[source]}
    return short


def _groups(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    changed = [pair for pair in pairs if pair.changed]
    return {"changed": changed, "success": [pair for pair in changed if pair.success]}


def _middle(values: Sequence[float] | NDArray[np.float64]) -> dict[str, float | None]:
    """Compute mean and median, None of nothing; a few absurd perplexities lift only the mean."""
    if not len(values):
        return {"mean": None, "median": None}
    return {"mean": float(np.mean(values)), "median": float(np.median(values))}


def _held(folder: Path) -> Measures:
    """Read earlier measures of the same examples."""
    path = folder / QUALITY
    if not path.exists():
        return {}
    remedy = "delete the file"
    held = read_json(path, dict, remedy)
    if held.get("examples") != file_digest(folder / EXAMPLES):
        return {}
    measures = {name: held[name] for name in NOT_MEASURED if name in held}
    try:
        in_summary(measures)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"not what `measure` writes: {error}", path=path, remedy=remedy) from None
    return measures
