"""The sample of questions: another reading gives the same forms, whatever words are put in."""

import re

import pytest

from robustparse.data.sample.questions import (
    CONTENT,
    FUNCTION,
    RULES,
    question_lexicon,
    sample_questions,
)
from robustparse.grammars import exact_match

CLASSES = {word.lower(): name for name, (_, words) in CONTENT.items() for word in words}
KINDS, SITES = FUNCTION["kind"].words, FUNCTION["site"].words
SAYS = {"good": "good:t", "bad": "bad:t", "liked": "popular:t", "hated": "unpopular:t"}


def form_of(words: tuple[str, ...]) -> str:
    """The form of a question, read off its text by regular expressions."""
    text = re.sub(r"^.*, (so|but) ", "", " ".join(words).lower())
    text = " ".join(CLASSES.get(word, word) for word in text.split())
    kind = next(word for word in text.split() if word in KINDS)
    said = [f"( {kind}:t $0 )"]
    for negation, opinion in re.findall(r"(not )?\b(good|bad|liked|hated)\b", text):
        one = f"( {SAYS[opinion]} $0 )"
        said.append(f"( not {one} )" if negation else one)
    said += [f"( near:t $0 {site} )" for site in re.findall(r"(?:near|by) the (\w+)", text)]
    said += [f"( in:t $0 {part} )" for part in re.findall(r"in the (\w+)", text)]
    body = f"( and {' '.join(said)} )"
    for word, operator, measure in (("largest", "max", "size"), ("cheapest", "min", "price")):
        if word in text:
            return f"( arg{operator} $0 {body} ( {measure}:i $0 ) )"
    asked = "count" if text.startswith("count") else "exists" if "there" in text else "lambda"
    return f"( {asked} $0 {'e ' if asked == 'lambda' else ''}{body} )"


@pytest.mark.parametrize("seed", [0, 7])
def test_forms_by_another_reading_and_after_every_substitution(seed: int):
    sample, lexicon = sample_questions(seed), question_lexicon(seed)
    everything = [*sample.train, *sample.dev, *sample.test]
    assert len({example.sentence.words for example in everything}) == len(everything) == 2000
    assert len(lexicon) > 80
    tried = 0
    for example in everything:
        words = example.sentence.words
        assert exact_match(form_of(words), example.gold, "lambda"), (words, example.gold)
        for place, word in enumerate(words):
            for other in lexicon.get(word, [])[:2]:
                changed = (*words[:place], other, *words[place + 1 :])
                assert exact_match(form_of(changed), example.gold, "lambda")
                tried += 1
    assert tried > 2000


def test_every_phrase_and_class_is_used_and_no_word_has_two_classes():
    reached, front = {"QUESTION"}, ["QUESTION"]
    while front:
        for rule in RULES.get(front.pop(), ()):
            new = {child.symbol for child in rule.children} - reached
            reached |= new
            front += new
    assert reached == {*RULES, *CONTENT, *FUNCTION}
    assert len(CLASSES) == sum(len(words) for _, words in CONTENT.values())
    assert not CLASSES.keys() & {w.lower() for _, words in FUNCTION.values() for w in words}
    assert set(SITES) & {"station"}
