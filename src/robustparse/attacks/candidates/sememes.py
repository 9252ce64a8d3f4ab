"""Candidates with the same sememes in HowNet (Qi et al. 2019), as in Wang et al. 2021.

Each sense is annotated with sememes, HowNet's smallest units of meaning. Two words are substitutes
if they have senses with the same part of speech and the same set of sememes, and if both are
uninflected or have the same inflected tag. Universal tags do not show inflection, so with them any
form may replace any other. In a sentence without tags, every part of speech is considered, and a
word is uninflected if it is its own base form.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.wordnet import PARTS, base_form, load_wordnet, part_of
from robustparse.attacks.component import TrainingTags
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice
from robustparse.files.json_text import read_json
from robustparse.files.reading import read_text
from robustparse.tagsets import Tagset, check_tagset

_PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_UNINFLECTED = frozenset(
    ["NN", "NNP", "VB", "VBP", "JJ", "RB", "NOUN", "PROPN", "VERB", "ADJ", "ADV"]
)
_Forms = dict[tuple[str, str], list[tuple[str, str]]]
_Sets = dict[tuple[str, str], list[frozenset[str]]]
# In a definition such as {human|人:HostOf={Occupation|职位}} a sememe follows { or a quote.
_SEMEME = re.compile(r'(?<=[{"])[^{}":|]*\|[^}":]*')


class Sememes(CandidateGenerator):
    """Proposes words with the same sememes.

    The dictionary is a UTF-8 JSON list of senses, or an object whose values are senses. The keys of
    a sense are those of OpenHowNet's dictionary (a pickle; convert it with `json.dump`): `en_word`,
    the English word; `en_grammar`, the part of speech (only noun, verb, adj and adv are used);
    `Def`, the definition in HowNet's markup, whose sememes are the `english|chinese` names after
    `{` or `"`, up to a note `RMK=`. Senses without sememes and multi-word expressions are left out.

    Base forms follow from the word and its tag by WordNet's rules, as in the released code.

    Args:
        dictionary: path of the JSON file.
        words: `training` proposes training words of the victim, with their most frequent tag, most
            frequent word first (Wang et al. 2021). If the sentence or the training data have no
            tags, it proposes dictionary words that occur in training. `dictionary` proposes
            dictionary words, in the order of the dictionary, and only for uninflected words.
        tagset: which tags; None: a sentence's Penn tags, or its universal tags if it has none.

    Raises:
        InputError: before the first sentence is attacked: the file or a sense in it is malformed,
            or NLTK's WordNet is missing.
    """

    needs = ("sememe dictionary", "WordNet")
    draws, reads_tags, takes_untagged = False, True, True

    def __init__(
        self,
        dictionary: str,
        *,
        words: Literal["training", "dictionary"] = "training",
        tagset: Tagset | None = None,
    ) -> None:
        check_tagset("sememes", tagset)
        check_choice("sememes: words", words, ("training", "dictionary"))
        self.dictionary = dictionary
        self.words, self.tagset = words, tagset
        self._training: TrainingTags | None = None
        self._seen: Set[str] = frozenset()
        self._by_tagset: dict[Tagset, _Forms] = {}
        self._senses = _Senses(dictionary)
        self._bound: Sememes | None = None

    def prepare(self, victim: Victim) -> None:
        """See `Component.prepare`."""
        _ = self._senses._tables
        load_wordnet()

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """Return a generator of the victim's training words, if `words` is `training`.

        It is kept, because adversarial training calls this method for every batch.
        """
        if self.words == "dictionary":
            return self
        training = victim.training_tags
        if self._bound is None or self._bound._training is not training:
            self._bound = Sememes(self.dictionary, words=self.words, tagset=self.tagset)
            self._bound._training, self._bound._seen = training, victim.training_words
            self._bound._senses = self._senses
        return self._bound

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if self.words == "training" and self._training is None:
            raise self.without_victim("set `words: dictionary`")
        keys = [
            (slot.word.lower(), *(slot.tagged(self.tagset) if slot.sentence.tags else ()))
            for slot in slots
        ]
        known = {key: self._look_up(*key) for key in set(keys)}
        return [list(known[key]) for key in keys]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return self._fingerprint

    def _look_up(self, word: str, tagset: Tagset | None = None, tag: str = "") -> list[str]:
        if tagset is None:
            return self._untagged(word)
        part = part_of(tag)
        if not part:
            return []
        base = base_form(load_wordnet(), word, part)
        alike = {word: None for word in self._senses.alike(base, part) if word != base}
        if self.words == "dictionary" or not (self._training or {}).get(tagset):
            return self._seen_of(alike) if tag in _UNINFLECTED else []
        forms = self._forms(tagset).get((part, _inflection(tag)), ())
        return [form for form, its_base in forms if its_base in alike]

    def _untagged(self, word: str) -> list[str]:
        wordnet = load_wordnet()
        parts = [part for part in PARTS if base_form(wordnet, word, part) == word]
        alike = dict.fromkeys(chain.from_iterable(self._senses.alike(word, part) for part in parts))
        return self._seen_of(alike)

    def _seen_of(self, words: Iterable[str]) -> list[str]:
        """Return the words that may be proposed if no training word has a tag."""
        return [word for word in words if self.words == "dictionary" or word in self._seen]

    def _forms(self, tagset: Tagset) -> _Forms:
        """Return training words and their base forms, by part of speech and inflection."""
        if tagset not in self._by_tagset:
            forms: _Forms = defaultdict(list)
            wordnet = load_wordnet()
            for word, tag in (self._training or {}).get(tagset, {}).items():
                if part := part_of(tag):
                    key = (part, _inflection(tag))
                    forms[key].append((word, base_form(wordnet, word, part)))
            self._by_tagset[tagset] = forms
        return self._by_tagset[tagset]

    @cached_property
    def _fingerprint(self) -> str:
        tags = [list(some.items()) for some in (self._training or {}).values()]
        training = json.dumps([tags, sorted(self._seen)])
        content = f"{self._senses.digest} {training} {load_wordnet().get_version()}"
        return f"Sememes {hashlib.sha256(content.encode()).hexdigest()} {self.words} {self.tagset}"


class _Senses:
    """The senses of a dictionary, read when first used."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser()

    def alike(self, word: str, part: str) -> Iterator[str]:
        """Yield words that share the sememes of a sense, including the word itself; may repeat."""
        sets, words = self._tables
        for sememes in sets.get((word, part), ()):
            yield from words[part, sememes]

    @cached_property
    def digest(self) -> str:
        """A hash of the file's content."""
        return hashlib.sha256(read_text(self._path).encode()).hexdigest()

    @cached_property
    def _tables(self) -> tuple[_Sets, dict[tuple[str, frozenset[str]], list[str]]]:
        """Map (word, part of speech) to the sememe sets of its senses, and sets back to words."""
        sets: _Sets = defaultdict(list)
        words: dict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
        for word, part, sememes in _read_senses(self._path):
            if sememes not in sets[word, part]:
                sets[word, part].append(sememes)
                words[part, sememes].append(word)
        return sets, words


def _inflection(tag: str) -> str:
    """Return the tag if it names an inflected form, otherwise an empty string."""
    return "" if tag in _UNINFLECTED else tag


def _read_senses(path: Path) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield lower-cased word, part of speech and sememes of each sense that can be used."""
    raw = read_json(path, object)
    senses = list(raw.values()) if isinstance(raw, dict) else raw
    if not isinstance(senses, list):
        raise InputError(f"found {type(raw).__name__}", path=path, expected="a JSON list of senses")
    for number, sense in enumerate(senses):
        for key in ("en_word", "en_grammar", "Def"):
            value = sense.get(key) if isinstance(sense, dict) else None
            if not isinstance(value, str):
                key = f"sense {number}: {key}"
                raise InputError(f"found {value!r}", path=path, key=key, expected="text")
        sememes = frozenset(_SEMEME.findall(sense["Def"].partition("RMK=")[0]))
        part = _PARTS.get(sense["en_grammar"].strip().lower())
        word = sense["en_word"].strip().lower()
        if part and sememes and word.split() == [word]:
            yield word, part, sememes
