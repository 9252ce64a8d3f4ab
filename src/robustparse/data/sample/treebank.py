"""The embedded sample treebank: about 2,000 English sentences of a small grammar of our own.

Every attachment in it is decided by the lexical class of a word (a tool after "with" modifies the
verb, a part the noun), and classes have a few frequent words and a long rare tail. A parser learns
the frequent words, so it parses new sentences well, but not the classes of the rare ones, which it
meets where their class does not matter. Replacing words by rarer words of their class, the attack
of Zheng et al. (2020), therefore costs it much; adversarial training teaches it the classes.
The seed chooses the words of each class, which of them are frequent, and the sentences.
"""

from functools import lru_cache

from robustparse.data.sample.generator import Generator, Lexicon, Sample
from robustparse.data.sample.grammar import read, rules
from robustparse.data.sample.words import CLOSED, OPEN
from robustparse.types import Example, Sentence


@lru_cache(maxsize=4)
def sample_treebank(seed: int = 0) -> Sample:
    """Generate the sample treebank; the seed chooses the grammar and the sentences."""
    generator = Generator(seed, rules(), OPEN, CLOSED)
    return Sample.of(lambda id_: _example(id_, generator.text()))


def _example(id_: int, words: tuple[str, ...]) -> Example:
    reading = read(words)
    return Example(id_, Sentence(words, reading.upos, reading.xpos), reading.tree)


def attack_lexicon(seed: int = 0) -> dict[str, list[str]]:
    """List the substitutes that keep the tree, by `word/TAG` in the lexicon's casing.

    Returns:
        For each content word under each of its Penn tags, the other words of its lexical class,
        in a fixed order drawn from the seed. All are words that the training split holds twice or
        more, so none is unknown to a parser. Any number of words of a sentence may be replaced.
    """
    known = Lexicon(seed, OPEN, CLOSED).substitutes(sample_treebank(seed).train)
    return {
        f"{word}/{tag}": [other for other in words if other != word]
        for word_class, words in known.items()
        for word in words
        for _, tag in OPEN[word_class].tags
    }
