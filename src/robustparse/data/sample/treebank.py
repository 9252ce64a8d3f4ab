"""The built-in sample treebank: about 2,000 English sentences from a grammar.

The lexical class of a word decides every attachment (a tool after "with" modifies the verb, a part
the noun). Classes have a few frequent words and a long tail of rare words. A parser learns the
frequent words and parses new sentences well. It cannot learn the classes of the rare words, which
appear where their class does not matter. Replacing words by rare words of their class, the attack
of Zheng et al. (2020), therefore costs it much; adversarial training teaches it the classes. The
seed chooses the words of each class, the frequent ones among them, and the sentences.
"""

from dataclasses import replace
from functools import lru_cache

from robustparse.data.sample.generator import (
    SPLITS,
    Generator,
    Lexicon,
    Phrase,
    Sample,
    read_rules,
    read_words,
)
from robustparse.data.sample.rules import RULES
from robustparse.types import DependencyTree, Example, Sentence, TagSequence

# Substitutes come from the same class of content words; function words are never substituted.
CONTENT = read_words("content_words.txt")
FUNCTION = read_words("function_words.txt")


@lru_cache(maxsize=4)
def sample_treebank(seed: int = 0) -> Sample:
    """Generate the sample treebank; the seed chooses the grammar and the sentences."""
    generator = Generator(seed, read_rules(RULES), CONTENT, FUNCTION)
    return Sample.of(lambda id_: _example(id_, generator.text()))


def _example(id_: int, text: Phrase) -> Example:
    heads, labels = [0] * len(text.words), ["root"] * len(text.words)
    for dependent, head, label in text.arcs:
        heads[dependent], labels[dependent] = head + 1, label
    upos, xpos = zip(*map(_tags, text.classes), strict=True)
    return Example(
        id_, Sentence(text.words, upos, xpos), DependencyTree(tuple(heads), tuple(labels))
    )


def _tags(word_class: str) -> tuple[str, str]:
    """Return both tags of a class; a rule chooses between two pairs by `.TAG`."""
    name, _, tag = word_class.partition(".")
    pairs = (CONTENT.get(name) or FUNCTION[name]).tags
    return next(pair for pair in pairs if tag in ("", pair[1]))


def treebank_lexicon(seed: int = 0) -> dict[str, list[str]]:
    """List the substitutes that keep the tree, by `word/TAG` in the lexicon's casing.

    Returns:
        For each content word and each of its Penn tags, the other words of its lexical class, in
        a fixed order drawn from the seed. All of them occur at least twice in the training split,
        so that parsers know them. Any number of words of a sentence may be replaced.
    """
    known = Lexicon(seed, CONTENT, FUNCTION).substitutes(sample_treebank(seed).train)
    return {
        f"{word}/{tag}": [other for other in words if other != word]
        for word_class, words in known.items()
        for word in words
        for _, tag in CONTENT[word_class].tags
    }


@lru_cache(maxsize=4)
def sample_tags(seed: int = 0) -> Sample:
    """Return the sample treebank of a seed with each word's dependency label as its tag.

    As in the treebank, the lexical class of a word decides some labels.
    """
    treebank = sample_treebank(seed)
    return Sample(**{split: [*map(_tagged, treebank.split(split))] for split in SPLITS})


def _tagged(example: Example) -> Example:
    return replace(example, gold=TagSequence(example.gold.labels))
