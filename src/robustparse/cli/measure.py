"""``robustparse measure``: measure an attack's sentences by models, into its folder."""

from pathlib import Path
from typing import Any

from rich.table import Table

from robustparse.api.printed_tables import plain_table, print_table, rounded
from robustparse.api.progress import progress_bar
from robustparse.attacks.constraints.language_model import LanguageModel
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.attacks.constraints.vector_cosine import WordVectorCosine
from robustparse.devices import chosen_device
from robustparse.errors import InputError
from robustparse.evaluation.measure import measure as measure_folder
from robustparse.evaluation.records import WHEN
from robustparse.pretrained.loaded_model import Kind

GROUPS = {"all": "all sentences", "changed": "changed", "success": "successful"}


def measure(
    folder: str,
    language_model: str | None = None,
    kind: Kind = "causal",
    vectors: str | None = None,
    sentence_encoder: str | None = None,
    device: str = "auto",
    download: bool = False,
) -> None:
    """Measure the sentences of an attack by models: writes quality.json, adds to summary.json.

    Args:
        folder: the output folder (--out) of a finished attack.
        language_model: folder or cached name of a language model, for perplexity.
        kind: of the language model: causal, or masked (pseudo-perplexity, Salazar et al. 2020).
        vectors: file of word vectors, for the cosine of changed words.
        sentence_encoder: folder or cached name of a sentence-transformers model, for the cosine of
            sentences.
        device: where models compute: auto, cpu or cuda.
        download: fetch models that are not in the local cache.
    """
    if language_model is None and vectors is None and sentence_encoder is None:
        raise InputError(
            "nothing to measure by",
            remedy="give --language_model, --vectors or --sentence_encoder",
        )
    device = chosen_device("--device", device)
    model = encoder = cosine = None
    if language_model is not None:
        model = LanguageModel(language_model, kind, device=device, download=download)
    if vectors is not None:
        cosine = WordVectorCosine(vectors)
    if sentence_encoder is not None:
        encoder = SentenceSimilarity(
            sentence_encoder, measure="cosine", device=device, download=download
        )
    with progress_bar(
        "sentences read", None, lambda done, of: {"completed": done, "total": of}
    ) as on_texts:
        quality = measure_folder(Path(folder), model, cosine, encoder, on_texts)
    print_table(_table(quality))


def _table(quality: dict[str, Any]) -> Table:
    table = plain_table("", ("measure", "of"), ("number", "mean", "median"))
    perplexity = quality.get("perplexity", {})
    name = "pseudo-perplexity" if perplexity.get("kind") == "masked" else "perplexity"
    rows = [
        (f"{name}, {when}", unit, perplexity[group]["sentences"], perplexity[group][when], 1)
        for group, unit in GROUPS.items()
        for when in WHEN
        if group in perplexity
    ]
    for key, unit in (("word_similarity", "words"), ("sentence_similarity", "sentences")):
        for group in ("changed", "success") if key in quality else ():
            values = quality[key][group]
            number = values[unit] - values.get("without_vector", 0)
            rows.append((f"{unit}, cosine", GROUPS[group], number, values, 3))
    for name, unit, number, means, digits in rows:
        cells = (rounded(means[each], digits) for each in ("mean", "median"))
        table.add_row(name, unit, str(number), *cells)
    return table
