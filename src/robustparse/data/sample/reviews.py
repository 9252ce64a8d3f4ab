"""The built-in sample of texts: about 2,000 short reviews of hotels, from a grammar.

The opinions of the writer make a review positive, negative or mixed; those of other guests
(`THEIRS`) do not count. Each opinion is a word of a class of similar words, so that another word of
the class never changes the label. As in the sample treebank, the writer uses mostly frequent words;
the rare ones appear in the opinions of others, where a classifier cannot learn their class. Rare
words of the writer therefore fool it until adversarial training teaches it the classes.
"""

from functools import lru_cache

from robustparse.data.sample.generator import Generator, Lexicon, Sample, read_rules, read_words
from robustparse.types import Example, Sentence

LABELS = ("positive", "negative", "mixed")
CONTENT = read_words("review_words.txt")
FUNCTION = read_words("review_function_words.txt")
RULES = read_rules("""
POSITIVE 3: PRO stop
POSITIVE 2: PRO and PRO stop
POSITIVE 4: THEIRS comma but PRO stop
POSITIVE 3: PRO comma though THEIRS stop
POSITIVE 1: VISIT and PRO stop
NEGATIVE 3: CON stop
NEGATIVE 2: CON and CON stop
NEGATIVE 4: THEIRS comma but CON stop
NEGATIVE 3: CON comma though THEIRS stop
NEGATIVE 1: VISIT and CON stop
MIXED 3: PRO but CON stop
MIXED 3: CON but PRO stop
MIXED 1: VISIT comma PRO but CON stop
MIXED 1: VISIT comma CON but PRO stop

PRO 4: the thing was good!
PRO 1: the thing was not bad!
PRO 3: we liked! the thing
PRO 2: we found the thing good!
CON 4: the thing was bad!
CON 1: the thing was not good!
CON 3: we hated! the thing
CON 2: we found the thing bad!
THEIRS 1: OTHER called the thing good
THEIRS 1: OTHER called the thing bad
THEIRS 1: OTHER liked it
THEIRS 1: OTHER hated it
OTHER 1: our person
VISIT 2: we went in month
VISIT 1: it is near the place
""")


@lru_cache(maxsize=4)
def sample_reviews(seed: int = 0) -> Sample:
    """Generate the sample; the seed chooses which words are frequent, and the texts."""
    generator = Generator(seed, RULES, CONTENT, FUNCTION)

    def draw(id_: int) -> Example:
        label = LABELS[generator.rng.integers(len(LABELS))]
        return Example(id_, Sentence(generator.text(label.upper()).words), label)

    return Sample.of(draw)


def review_lexicon(seed: int = 0) -> dict[str, list[str]]:
    """List the substitutes that keep the label, by word.

    Returns:
        For each content word the other words of its class, in a fixed order drawn from the seed.
        All of them occur at least twice in the training split, so that classifiers know them. Any
        number of words of a text may be replaced.
    """
    return Lexicon(seed, CONTENT, FUNCTION).by_word(sample_reviews(seed).train)
