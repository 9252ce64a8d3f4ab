"""Candidates with the same sememes in HowNet (Qi et al. 2019), as in Wang et al. 2021.

A sense is annotated with sememes, HowNet's smallest units of meaning. Two words are substitutes if
some sense of the one and some sense of the other have the same part of speech and the same set of
sememes; both are uninflected, or both carry the same inflected tag. Universal tags do not tell
inflection: by them any form may replace any other. In a sentence without tags every part of speech
counts, and words are uninflected that are their own base forms.
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
from robustparse.attacks.tagged import TrainingTags
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice
from robustparse.files import read_json, read_text
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
    """Proposes words of identical sememes.

    The dictionary is a UTF-8 JSON list of senses, or an object whose values are senses. A sense is
    an object of which these keys are read, named as in OpenHowNet's own dictionary (which is
    distributed as a pickle; `json.dump` what it holds): `en_word`, the English word; `en_grammar`,
    of which noun, verb, adj and adv count; `Def`, the definition in HowNet's markup, whose sememes
    are the `english|chinese` names after `{` or `"`, up to a note `RMK=`. Senses without sememes,
    and English words of several words, are left out.

    Base forms are found by WordNet's rules from the word and its tag, as in the released code.

    Args:
        dictionary: path of the JSON file.
        words: `training` proposes words of the victim's training data with their most frequent tag
            there, the most frequent first (Wang et al. 2021); `dictionary` proposes the
            dictionary's words, in its order, and only in place of uninflected ones. Where the
            sentence or the training data have no tags, `training` proposes those of the dictionary
            that training has seen. Without tags a word is uninflected if it is its own base form.
        tagset: which tags; None: a sentence's Penn tags, or else its universal ones.

    Raises:
        InputError: when first used: the file or a sense in it is malformed,
            NLTK's WordNet is missing.
    """

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

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """Propose the victim's training words, if these are asked for.

        During training a victim comes again with every batch: the generator made for it is kept.
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
        alike = {other: None for other in self._senses.alike(base, part) if other != base}
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
        """Return the words that may be proposed where no training word has a tag."""
        return [one for one in words if self.words == "dictionary" or one in self._seen]

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
        """Yield words with a sense of the same sememes, the word itself too; they may repeat."""
        sets, words = self._tables
        for sememes in sets.get((word, part), ()):
            yield from words[part, sememes]

    @cached_property
    def digest(self) -> str:
        """A hash of the file's content."""
        return hashlib.sha256(read_text(self._path).encode()).hexdigest()

    @cached_property
    def _tables(self) -> tuple[_Sets, dict[tuple[str, frozenset[str]], list[str]]]:
        """Word and part of speech to the sememe sets of its senses; and back to the words."""
        sets: _Sets = defaultdict(list)
        words: dict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
        for word, part, sememes in _read_senses(self._path):
            if sememes not in sets[word, part]:
                sets[word, part].append(sememes)
                words[part, sememes].append(word)
        return sets, words


def _inflection(tag: str) -> str:
    """Return the tag where it names an inflected form, else nothing."""
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
                place = f"sense {number}: {key}"
                raise InputError(f"found {value!r}", path=path, key=place, expected="text")
        sememes = frozenset(_SEMEME.findall(sense["Def"].partition("RMK=")[0]))
        part = _PARTS.get(sense["en_grammar"].strip().lower())
        word = sense["en_word"].strip().lower()
        if part and sememes and word.split() == [word]:
            yield word, part, sememes
