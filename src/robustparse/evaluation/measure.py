"""Fluency and similarity of adversarial sentences, measured by models.

Perplexity before and after (Wang et al. 2021, Table 3; Yoo et al. 2020), the similarity of changed
words to those they replaced, and of whole sentences (Jin et al. 2020, Table 3).
"""

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
from robustparse.evaluation.attack_details import NOT_MEASURED
from robustparse.evaluation.finished_folders import read_finished
from robustparse.evaluation.records import EXAMPLES, SUMMARY, WHEN, ExampleRecord
from robustparse.files.digests import file_digest
from robustparse.files.json_text import read_json
from robustparse.files.writing import write_json

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
    """Measure the sentences of an attack; write ``quality.json`` and add to the summary.

    Both are written after each measure; perplexity, which takes longest, is the last. Earlier
    measures of the same examples are kept.

    Args:
        folder: the folder of a finished attack.
        language_model: measures perplexity.
        vectors: measure the cosine of changed words.
        encoder: measures the similarity of sentences.
        on_texts: called with the number of texts that the language model has read, and of all.

    Returns:
        The content of ``quality.json``.

    Raises:
        InputError: the folder holds no finished attack, or a model cannot be loaded.
    """
    summary, records = read_finished(folder)
    digest = file_digest(folder / EXAMPLES)
    measures = _stored_measures(folder, digest)
    due: dict[str, Callable[[], dict[str, Any]]] = {}
    if vectors is not None:
        due["word_similarity"] = partial(word_similarity, records, vectors)
    if encoder is not None:
        due["sentence_similarity"] = partial(sentence_similarity, records, encoder)
    if language_model is not None:
        due["perplexity"] = partial(perplexity, records, language_model, on_texts)
    quality: dict[str, Any] = {}
    for name, taken in due.items():
        measures[name] = taken()
        kept = {name: measures[name] for name in NOT_MEASURED if name in measures}
        versions = {"robustparse": __version__}
        quality = {"examples": digest, **kept, "versions": versions}
        write_json(folder / QUALITY, quality)
        written = {**summary, **NOT_MEASURED, **in_summary(measures)}
        write_json(folder / SUMMARY, written)
    return quality


def perplexity(
    records: Sequence[ExampleRecord],
    model: LanguageModel,
    on_texts: Callable[[int, int], None] = lambda _done, _of: None,
) -> dict[str, Any]:
    """Compute perplexities before and after; each distinct text is read once."""
    texts = sorted(
        {
            tuple(words)
            for record in records
            for words in (record["tokens"], record["adversarial_tokens"])
        },
        key=lambda words: (len(words), words),
    )
    values: dict[tuple[str, ...], float] = {}
    for begin in range(0, len(texts), _TEXTS_AT_ONCE):
        chunk = texts[begin : begin + _TEXTS_AT_ONCE]
        values.update(zip(chunk, model.perplexities(chunk).tolist(), strict=True))
        on_texts(len(values), len(texts))
    groups = {"all": records, **_groups(records)}
    return {
        "model": model.model,
        "kind": model.kind,
        **{
            name: {
                "sentences": len(group),
                "clean": _middle([values[tuple(record["tokens"])] for record in group]),
                "attacked": _middle(
                    [values[tuple(record["adversarial_tokens"])] for record in group]
                ),
            }
            for name, group in groups.items()
        },
    }


def word_similarity(records: Sequence[ExampleRecord], vectors: WordVectorCosine) -> dict[str, Any]:
    """Compute cosines of changed words and their originals, lower-cased, if both have vectors."""
    groups: dict[str, Any] = {}
    for name, group in _groups(records).items():
        old = [record["tokens"][at] for record in group for at in record["edited"]]
        new = [record["adversarial_tokens"][at] for record in group for at in record["edited"]]
        cosines = vectors.cosines(old, new)
        known = cosines[~np.isnan(cosines)]
        left_out = len(old) - len(known)
        groups[name] = {"words": len(old), "without_vector": left_out, **_middle(known)}
    return {"vectors": vectors.vectors, "measure": "cosine", **groups}


def sentence_similarity(
    records: Sequence[ExampleRecord], encoder: SentenceSimilarity
) -> dict[str, Any]:
    """Compute similarities of changed sentences to the originals; unchanged ones are left out."""
    groups: dict[str, Any] = {}
    for name, group in _groups(records).items():
        texts = [" ".join(record["adversarial_tokens"]) for record in group]
        others = [" ".join(record["tokens"]) for record in group]
        groups[name] = {"sentences": len(group), **_middle(encoder.between(texts, others))}
    return {"model": encoder.model, "measure": encoder.measure, **groups}


def in_summary(measures: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the means for ``summary.json``: perplexity of all, similarity of changed sentences."""
    short: dict[str, Any] = {}
    if values := measures.get("perplexity"):
        means: dict[str, Any] = {when: values["all"][when]["mean"] for when in WHEN}
        short["perplexity"] = {**means, "model": values["model"], "kind": values["kind"]}
    for name, source in (("word_similarity", "vectors"), ("sentence_similarity", "model")):
        if values := measures.get(name):
            means = {group: values[group]["mean"] for group in ("changed", "success")}
            short[name] = {**means, "measure": values["measure"], source: values[source]}
    return short


def _groups(records: Sequence[ExampleRecord]) -> dict[str, Sequence[ExampleRecord]]:
    changed = [record for record in records if record["edited"]]
    return {"changed": changed, "success": [record for record in changed if record["success"]]}


def _middle(values: Sequence[float] | NDArray[np.float64]) -> dict[str, float | None]:
    """Compute mean and median, None without values; the median resists a few huge perplexities."""
    if not len(values):
        return {"mean": None, "median": None}
    return {"mean": float(np.mean(values)), "median": float(np.median(values))}


def _stored_measures(folder: Path, digest: str) -> Measures:
    """Read earlier measures of the examples with a digest."""
    path = folder / QUALITY
    if not path.exists():
        return {}
    remedy = "delete the file"
    stored = read_json(path, dict, remedy)
    if stored.get("examples") != digest:
        return {}
    measures = {name: stored[name] for name in NOT_MEASURED if name in stored}
    try:
        in_summary(measures)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"not what `measure` writes: {error}", path=path, remedy=remedy) from None
    return measures
