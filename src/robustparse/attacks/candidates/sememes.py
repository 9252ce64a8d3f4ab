"""Candidates with the same sememes in HowNet (Qi et al. 2019), as in Wang et al. 2021.

A sense is annotated with sememes, HowNet's smallest units of meaning. Two words are substitutes if
some sense of the one and some sense of the other have the same part of speech and the same set of
sememes; both are uninflected, or both carry the same inflected tag.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.wordnet import base_form, load_wordnet, part_of
from robustparse.attacks.tagged import check_tags, tag_dictionary
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice
from robustparse.files import read_text
from robustparse.types import Example

_PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_UNINFLECTED = frozenset(["NN", "NNP", "VB", "VBP", "JJ", "RB"])
# In a definition such as {human|人:HostOf={Occupation|职位}} a sememe follows { or a quote.
_SEMEME = re.compile(r'(?<=[{"])[^{}":|]*\|[^}":]*')


class Sememes(CandidateGenerator):
    """Proposes words of identical sememes.

    The dictionary is a UTF-8 JSON list of senses, or an object whose values are senses. A sense is
    an object of which these keys are read, named as in OpenHowNet's own dictionary (which is
    distributed as a pickle; `json.dump` what it holds): `en_word`, the English word; `en_grammar`,
    of which noun, verb, adj and adv count; `Def`, the definition in HowNet's markup, whose sememes
    are the `english|chinese` names after `{` or `"`, up to a remark `RMK=`. A key `sememes`, a
    list of names, is read in place of `Def` where it is there. Senses without sememes, and English
    words of several words, are left out.

    Base forms are found by WordNet's rules from the word and its tag, as in the released code.

    Args:
        dictionary: path of the JSON file.
        words: `training` proposes words of the victim's training data with their most frequent tag
            there, the most frequent first (Wang et al. 2021); `dictionary` proposes the
            dictionary's words, in its order, in place of uninflected ones only.

    Raises:
        InputError: an unknown option; when first used: the file or a sense in it is malformed,
            NLTK's WordNet is missing.
    """

    def __init__(
        self, dictionary: str, *, words: Literal["training", "dictionary"] = "training"
    ) -> None:
        check_choice("sememes: words", words, ("training", "dictionary"))
        self.dictionary = dictionary
        self.words = words
        self._training: Mapping[str, str] = {}
        self._read = _Dictionary(dictionary)
        self._bound: Sememes | None = None

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`.

        The dictionary is read once. While training, a victim comes again with every batch: the
        generator made for it is kept.

        Raises:
            InputError: words of the training data are asked for, and the victim knows no tags.
        """
        if self.words == "dictionary":
            return self
        training = tag_dictionary(victim, "sememes")
        if self._bound is None or self._bound._training is not training:
            self._bound = Sememes(self.dictionary, words=self.words)
            self._bound._training = training
            self._bound._read = self._read
        return self._bound

    def check(self, examples: Sequence[Example]) -> None:
        """See `CandidateGenerator.check`."""
        check_tags(examples)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        known: dict[tuple[str, str], list[str]] = {}
        proposals = []
        for slot in slots:
            key = (slot.word.lower(), slot.tag)
            if key not in known:
                known[key] = self._look_up(*key)
            proposals.append(list(known[key]))
        return proposals

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return self._fingerprint

    def draws(self) -> bool:
        """See `CandidateGenerator.draws`."""
        return False

    def is_model(self) -> bool:
        """See `CandidateGenerator.is_model`."""
        return False

    def _look_up(self, word: str, tag: str) -> list[str]:
        part = part_of(tag)
        if not part:
            return []
        base = base_form(load_wordnet(), word, part)
        alike = {
            other: None
            for sememes in self._read.senses[0].get((base, part), ())
            for other in self._read.senses[1][part, sememes]
            if other != base
        }
        if self.words == "training":
            forms = self._forms.get((part, _inflection(tag)), ())
            return [form for form, its_base in forms if its_base in alike]
        return list(alike) if tag in _UNINFLECTED else []

    @cached_property
    def _forms(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """Part of speech and inflection to the training words that have them, and their bases."""
        wordnet = load_wordnet()
        forms: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for word, tag in self._training.items():
            if part := part_of(tag):
                key = (part, _inflection(tag))
                forms[key].append((word, base_form(wordnet, word, part)))
        return forms

    @cached_property
    def _fingerprint(self) -> str:
        training = json.dumps(list(self._training.items()))
        content = f"{self._read.content} {training} {load_wordnet().get_version()}"
        return f"Sememes {hashlib.sha256(content.encode()).hexdigest()} {self.words}"


class _Dictionary:
    """A dictionary, read when first used.

    Args:
        path: of the JSON file.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    @cached_property
    def content(self) -> str:
        """The text of the file."""
        return read_text(Path(self.path).expanduser())

    @cached_property
    def senses(
        self,
    ) -> tuple[
        dict[tuple[str, str], list[frozenset[str]]], dict[tuple[str, frozenset[str]], list[str]]
    ]:
        """Word and part of speech to the sememe sets of its senses; and back to the words."""
        sets: dict[tuple[str, str], list[frozenset[str]]] = defaultdict(list)
        words: dict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
        for word, part, sememes in _read_senses(self.content, self.path):
            if sememes not in sets[word, part]:
                sets[word, part].append(sememes)
                words[part, sememes].append(word)
        return sets, words


def _inflection(tag: str) -> str:
    """Return the tag where it names an inflected form, else nothing."""
    return "" if tag in _UNINFLECTED else tag


def _read_senses(content: str, path: str) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Lower-cased word, part of speech and sememes of each sense that can be used."""
    try:
        raw: object = json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(
            f"sememe dictionary {path}:{error.lineno}: not JSON ({error.msg}); expected a list of "
            "senses"
        ) from error
    if isinstance(raw, dict):
        raw = list(raw.values())
    if not isinstance(raw, list):
        raise InputError(
            f"sememe dictionary {path}: found {type(raw).__name__}, expected a JSON list of senses"
        )
    for number, sense in enumerate(raw):
        where = f"sememe dictionary {path}, sense {number}"
        if not isinstance(sense, dict):
            raise InputError(f"{where}: found {type(sense).__name__}, expected an object")
        for key in ("en_word", "en_grammar"):
            if not isinstance(sense.get(key), str):
                raise InputError(f"{where}: key {key!r} is {sense.get(key)!r}, expected text")
        sememes = _sememes_of(sense, where)
        part = _PARTS.get(sense["en_grammar"].strip().lower())
        word = sense["en_word"].strip().lower()
        if part and sememes and word.split() == [word]:
            yield word, part, sememes


def _sememes_of(sense: Mapping[str, object], where: str) -> frozenset[str]:
    names = sense.get("sememes")
    if names is None:
        definition = sense.get("Def")
        if not isinstance(definition, str):
            raise InputError(f"{where}: neither `sememes`, a list, nor `Def`, text, is there")
        return frozenset(_SEMEME.findall(definition.partition("RMK=")[0]))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{where}: key 'sememes' is {names!r}, expected a list of names")
    return frozenset(names)
