"""The sample of reviews: no word of the lexicon changes a label, and rare words tell nothing."""

from collections import Counter, defaultdict

import pytest

from robustparse.data.sample import reviews
from robustparse.data.sample.reviews import (
    CONTENT,
    FUNCTION,
    LABELS,
    RULES,
    review_lexicon,
    sample_reviews,
)

CLASSES = {word.lower(): name for name, (_, words) in CONTENT.items() for word in words}
OPINIONS = {"good": 1, "liked": 1, "bad": -1, "hated": -1}
SEEDS = (0, 7)


def label_of(words: tuple[str, ...]) -> str:
    """What the writer thinks, by a reading of our own: clauses, of which those of others go."""
    found = set()
    for clause in " ".join(words).lower().replace("although", "though").split(" though "):
        for part in clause.replace(" but ", " and ").split(" and "):
            said = part.split()
            signs = [OPINIONS[CLASSES[word]] for word in said if CLASSES.get(word) in OPINIONS]
            others = any(CLASSES.get(word) == "person" for word in said)
            if signs and not others:
                (sign,) = signs
                found.add(-sign if "not" in said else sign)
    return "mixed" if len(found) == 2 else {1: "positive", -1: "negative"}[found.pop()]


def test_every_phrase_and_class_is_used_and_no_word_has_two_classes():
    reached, front = {label.upper() for label in LABELS}, [label.upper() for label in LABELS]
    while front:
        for rule in RULES.get(front.pop(), ()):
            new = {child.symbol for child in rule.children} - reached
            reached |= new
            front += new
    assert reached == {*RULES, *CONTENT, *FUNCTION}
    words = [word for table in (CONTENT, FUNCTION) for _, some in table.values() for word in some]
    content = Counter(w.lower() for _, some in CONTENT.values() for w in some)
    assert max(content.values()) == 1
    assert not set(content) & {word.lower() for _, some in FUNCTION.values() for word in some}
    assert len(words) > 250


@pytest.mark.parametrize("seed", SEEDS)
def test_no_substitution_from_the_lexicon_changes_a_label(seed):
    sample, lexicon = sample_reviews(seed), review_lexicon(seed)
    everything = [*sample.train, *sample.dev, *sample.test]
    assert len({example.sentence.words for example in everything}) == len(everything) == 2000
    assert {example.gold for example in everything} == set(LABELS)
    tried = 0
    for example in everything:
        words = example.sentence.words
        assert label_of(words) == example.gold
        for place, word in enumerate(words):
            for other in lexicon.get(word, ()):
                assert label_of((*words[:place], other, *words[place + 1 :])) == example.gold
                tried += 1
    assert tried > 50_000
    # Any number of them: words of the lexicon are all of their originals' class.
    assert all(
        CLASSES[word.lower()] == CLASSES[one.lower()] for one in lexicon for word in lexicon[one]
    )


def test_rare_opinions_say_nothing_of_the_label_in_training_and_are_known():
    by_word = defaultdict(Counter)
    for example in sample_reviews(0).train:
        for word in example.sentence.words:
            by_word[word][example.gold] += 1
    rare = [word for word in CONTENT["good"].words if 2 <= by_word[word].total() <= 8]
    seen = sum((by_word[word] for word in rare), Counter())
    assert len(rare) >= 8
    assert seen["negative"] > 0.15 * seen.total()
    lexicon = review_lexicon(0)
    assert all(by_word[word].total() + by_word[word.capitalize()].total() >= 2 for word in lexicon)
    assert reviews.review_lexicon(1) != lexicon
