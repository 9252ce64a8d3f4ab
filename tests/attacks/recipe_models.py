"""Small stand-ins for the models and files that recipes name, and recipes that use them."""

import json
import sys
import zlib
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from jsonargparse import ArgumentParser, Namespace

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates import sememes, wordnet
from robustparse.attacks.candidates.wordnet import part_of
from robustparse.attacks.constraints.grammar import GrammarChecker
from robustparse.attacks.constraints.tagging import same_tag as tag_filter
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.options.arguments import checked
from tiny_language_models import save_bert, save_gpt2

FOLDER = Path(__file__).parents[2] / "configs" / "attack"
_GROUP = 8  # words whose vectors are near each other
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def code(*texts: str) -> int:
    """A number that follows from texts only."""
    return zlib.crc32(" ".join(texts).encode())


@cache
def groups() -> list[tuple[str, list[str]]]:
    """Penn tag and lower-cased words of small groups that cover the sample's open classes.

    Word vectors hold a group together; a synset or a set of sememes is half of one.
    """
    by_class: dict[tuple[str, frozenset[str]], list[str]] = {}
    for key, others in treebank_lexicon(0).items():
        word, tag = key.rsplit("/", 1)
        by_class.setdefault((tag, frozenset([word, *others])), []).append(word.lower())
    return [
        (tag, words[begin : begin + _GROUP])
        for (tag, _), words in by_class.items()
        for begin in range(0, len(words), _GROUP)
    ]


@cache
def halves() -> list[tuple[str, list[str]]]:
    """The same with the halves of the groups."""
    middle = _GROUP // 2
    return [(tag, half) for tag, words in groups() for half in (words[:middle], words[middle:])]


@cache
def tags() -> dict[str, str]:
    """The Penn tag of each word of a group."""
    return {word: tag for tag, group in groups() for word in group}


def tag_in(words: Sequence[str], position: int) -> str:
    """The stand-in for a tagger: looks at a word and its neighbours."""
    odd = code(*words[max(0, position - 1) : position + 2]) % 5 == 0
    return "FW" if odd else tags().get(words[position].lower(), "FW")


class Tagger:
    """Tags changed sentences with `tag_in`."""

    def substituted(
        self, places: Sequence[tuple[tuple[str, ...], int]], candidates: Sequence[Sequence[str]]
    ) -> list[list[str]]:
        return [
            [tag_in((*words[:at], word, *words[at + 1 :]), at) for word in some]
            for (words, at), some in zip(places, candidates, strict=True)
        ]


class Sense:
    def __init__(self, words: list[str]) -> None:
        self.words = words

    def lemma_names(self, lang: str) -> list[str]:
        return self.words


class WordNet:
    """One sense for half a group."""

    def __init__(self, language: str = "eng") -> None:
        assert language == "eng"

    def _morphy(self, word: str, part: str) -> list[str]:
        return []

    def synsets(self, word: str, part: str, lang: str) -> list[Sense]:
        return [Sense(words) for tag, words in halves() if part_of(tag) == part and word in words]

    def get_version(self) -> str:
        return "made for tests"


class Checker(GrammarChecker):
    """Counts errors by a hash of the text."""

    def errors(self, texts: Sequence[str]) -> list[int]:
        return [code(text) % 4 for text in texts]


class Encoder:
    """Stands in for a sentence encoder: the sum of a random vector for each word."""

    def to(self, dtype: torch.dtype) -> "Encoder":
        return self

    def eval(self) -> "Encoder":
        return self

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        return np.stack([sum(map(_vector, text.split()), np.zeros(16)) for text in texts])


@cache
def _vector(word: str) -> np.ndarray:
    return np.random.default_rng(code(word)).normal(size=16)


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """No installed data or library decides what recipes do."""
    for module in (wordnet, sememes):
        monkeypatch.setattr(module, "load_wordnet", WordNet)
    monkeypatch.setattr(tag_filter.PerceptronTags, "load", lambda: Tagger())
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = lambda *_, **__: Encoder()
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)


def write_models(folder: Path) -> None:
    """Vectors, stop words, a sememe dictionary, BERT and GPT-2 with random weights."""
    words = list(dict.fromkeys(word for _, group in groups() for word in group))
    stop = ["the", "of", *(word for word in words if code(word) % 3 == 0)]
    (folder / "stop.txt").write_text("\n".join(stop))
    entities = (f"{word} B-x\n{other} I-x\n\n{word} B-x\n" for word, other in pairwise(words))
    (folder / "entities.conll").write_text("\n".join(entities))
    senses = [
        {"en_word": word, "en_grammar": _PARTS[part_of(tag)], "Def": f"{{{tag} {number}|}}"}
        for number, (tag, words) in enumerate(halves())
        for word in words
    ]
    (folder / "sememes.json").write_text(json.dumps(senses))
    _write_vectors(folder / "vectors.txt")
    vocabulary = {piece: number for number, piece in enumerate([*_SPECIAL, ".", ",", *words])}
    torch.manual_seed(0)
    save_bert(folder / "bert", vocabulary, positions=64, layers=1, inner=16)
    save_gpt2(folder / "gpt2", vocabulary, positions=64, layers=1, spread=0.2)


_PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


def _write_vectors(path: Path) -> None:
    """The words of a group lie around one direction, every second one near it, at cosines of 0.9
    to each other, the others at cosines around 0.7 to all.
    """
    rng = np.random.default_rng(0)
    rows = {}
    for _, words in groups():
        centre = rng.normal(size=12)
        for number, word in enumerate(words):
            rows[word] = centre + rng.normal(scale=(0.15, 1.0)[number % 2], size=12)
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows.items()))


def _small(folder: Path) -> dict[str, dict[str, Any]]:
    """Arguments of the tests by class, over those of the recipe."""
    vectors, short = {"vectors": str(folder / "vectors.txt")}, {"precision": "float64"}
    stop = {"path": str(folder / "stop.txt"), "source": "nltk"}
    few = {"model": str(folder / "bert"), "top_k": 4, "sample": None, "least": 0.0, **short}
    return {
        "EmbeddingNeighbours": {**vectors, "k": 4, "cache": None},
        "WordVectorCosine": vectors,
        "MaskedLM": {"model": str(folder / "bert"), "top_k": 300, "sample": 150, **short},
        "MaskedInsertion": few,
        "UnmaskedLM": {"model": str(folder / "bert"), "top_k": 99, "combinations": 40, **short},
        "MaskedMerge": few,
        "CachedCandidates": {"path": str(folder / "cache.sqlite")},
        "Sememes": {"dictionary": str(folder / "sememes.json")},
        **dict.fromkeys(["StopWords", "StopWordCandidates"], stop),
        "SentenceSimilarity": {"window": 9, **short},
        "BERTScore": {"model": str(folder / "bert"), "minimum": 0.95, "layer": 1, **short},
        "LanguageModel": {"model": str(folder / "gpt2"), **short},
        "AttachmentDrop": {"least": 2},
        "Genetic": {"population": 4, "generations": 2},
        "ImprovedGenetic": {"population": 4, "generations": 2},
        "HotFlip": {"width": 3},
        "EntityWords": {"training": str(folder / "entities.conll")},
        "HardLabel": {"attempts": 5, "population": 4, "generations": 3},
        "LevenshteinDistance": {"most": 9},
        "LEAP": {"population": 4, "iterations": 2},
        "DifferentialEvolution": {"edits": 2, "population": 4, "generations": 2},
        "ThoughtVectors": vectors,
        "ParticleSwarm": {"population": 4, "iterations": 2},
        "Beam": {"width": 2},
        "Zheng2020": {"psi": 6},
        "Zheng2020WhiteBox": {"gamma": 1.0, "trials": 8, "drop": 1.0},
        "PhraseDrop": {"shortest": 2},
        "PhraseBlackBox": {"trials": 40},
        "PhraseWhiteBox": {"trials": 8, "pairs": 12},
    }


def _fewer_insertions(members: list[dict[str, Any]], folder: Path) -> None:
    """Take few candidates of each member of a union, if some of them insert words."""
    if any("MaskedInsertion" in member["class_path"] for member in members):
        for member in members:
            member["init_args"].update(_small(folder)["MaskedInsertion"])


def shrunk(spec: Any, folder: Path) -> Any:
    """A recipe's text with the stand-ins in the place of its models and files."""
    if isinstance(spec, list):
        return [shrunk(part, folder) for part in spec]
    if not isinstance(spec, dict):
        return spec
    spec = {key: shrunk(value, folder) for key, value in spec.items()}
    _fewer_insertions(spec.get("generators", []), folder)
    name = str(spec.get("class_path", "")).rpartition(".")[2]
    if name in ("LanguageTool", "LinkGrammar"):
        return {"class_path": "recipe_models.Checker"}
    if given := _small(folder).get(name):
        spec["init_args"] = {**spec.get("init_args", {}), **given}
    if name == "CharacterEdits":  # fewer misspellings
        spec["init_args"] = {"alphabet": "abc", **spec.get("init_args", {})}
    # One word of the window is about an angle of 0.15 of pi.
    measure = spec.get("init_args", {}).get("measure")
    if measure in ("angular", "textfooler", "cosine"):
        minima = {"angular": 0.85, "textfooler": 0.5, "cosine": 0.75}
        spec["init_args"]["minimum"] = minima[measure]
    if name == "EditBudget":  # two words of a short sentence
        spec["init_args"]["gamma"] = max(0.4, spec["init_args"]["gamma"])
    if spec.get("init_args", {}).get("kind") == "masked":
        spec["init_args"]["model"] = str(folder / "bert")
    return spec


@cache
def _parser() -> ArgumentParser:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(Attack, "attack")
    return parser


@cache
def _parsed(name: str, folder: Path, settings: str) -> Namespace:
    """A recipe's text and JSON settings, read once: that takes longer than a small attack."""
    spec = shrunk(yaml.safe_load((FOLDER / f"{name}.yaml").read_text()), folder)
    checked(["--trust", __name__])  # commands of other tests in this process may have named classes
    return _parser().parse_object({"attack": {**spec, **json.loads(settings)}})


def recipe(name: str, folder: Path, **settings: Any) -> Attack:
    """The attack of a recipe in configs/attack, made small."""
    read = {key: value for key, value in settings.items() if isinstance(value, dict | list)}
    parsed = _parsed(name, folder, json.dumps(read)).clone()
    for path in folder.glob("cache.sqlite*"):  # of an attack before this one
        path.unlink()
    for key in settings.keys() - read.keys():
        parsed.attack[key] = settings[key]
    attack: Attack = _parser().instantiate(parsed).attack
    return attack
