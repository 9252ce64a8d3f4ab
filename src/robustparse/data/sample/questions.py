"""The built-in sample of questions: about 2,000 questions with logical forms, from a grammar.

A form says what guests think, and where something is. Each opinion is a word of a class of similar
words, and its predicate is the class, so that another word of the class never changes the form. As
in the reviews, questions contain mostly frequent opinions; the rare ones appear in what somebody
says before the question, which is not in the form. Rare opinions in a question therefore fool a
parser until adversarial training teaches it the classes.
"""

from collections.abc import Sequence
from functools import lru_cache
from types import MappingProxyType

from robustparse.data.sample.generator import (
    Generator,
    Lexicon,
    Phrase,
    Sample,
    read_rules,
    read_words,
)
from robustparse.types import Example, LogicalForm, Sentence

OPINIONS = ("good", "bad", "liked", "hated", "person")
CONTENT = MappingProxyType({name: read_words("review_words.txt")[name] for name in OPINIONS})
FUNCTION = read_words("question_function_words.txt")
RULES = read_rules("""
QUESTION 4: list every DESCRIBED stop
QUESTION 2: list the cheapest DESCRIBED stop
QUESTION 2: list the largest DESCRIBED stop
QUESTION 2: which kind is PROPERTY mark
QUESTION 3: which kind is PROPERTY and PROPERTY mark
QUESTION 3: count every DESCRIBED stop
QUESTION 3: is there a DESCRIBED mark
QUESTION 4: THEIRS comma so list every DESCRIBED stop
QUESTION 3: THEIRS comma so is there a DESCRIBED mark
QUESTION 3: THEIRS comma so count every DESCRIBED stop

DESCRIBED 4: JUDGED kind
DESCRIBED 3: JUDGED kind WHERE
DESCRIBED 2: kind WHERE
DESCRIBED 4: kind that guests OPINED
DESCRIBED 2: kind WHERE that guests OPINED
JUDGED 1: good!
JUDGED 1: bad!
OPINED 1: liked!
OPINED 1: hated!
PROPERTY 2: good!
PROPERTY 2: bad!
PROPERTY 1: not good!
PROPERTY 1: not bad!
PROPERTY 2: WHERE
WHERE 2: near the site
WHERE 1: in the part
THEIRS 1: our person called it good
THEIRS 1: our person called it bad
THEIRS 1: our person liked it
THEIRS 1: our person hated it
""")
# The predicates of opinions, and the beginnings of logical forms.
_PREDICATES = {"good": "good:t", "bad": "bad:t", "liked": "popular:t", "hated": "unpopular:t"}
_ASKED = {"count": "count $0", "there": "exists $0"}
_MEASURES = {"largest": ("argmax $0", "size:i"), "cheapest": ("argmin $0", "price:i")}


@lru_cache(maxsize=4)
def sample_questions(seed: int = 0) -> Sample:
    """Generate the sample; the seed chooses which words are frequent, and the questions."""
    generator = Generator(seed, RULES, CONTENT, FUNCTION)

    def draw(id_: int) -> Example:
        phrase = generator.text("QUESTION")
        return Example(id_, Sentence(phrase.words), LogicalForm(form_of(phrase), "lambda"))

    return Sample.of(draw)


def form_of(phrase: Phrase) -> str:
    """Return the logical form of a question from the classes of its words after the comma."""
    start = phrase.classes.index("comma") + 1 if "comma" in phrase.classes else 0
    classes = phrase.classes[start:]
    conjuncts = _conjuncts(phrase.words[start:], classes)
    body = conjuncts[0] if len(conjuncts) == 1 else f"( and {' '.join(conjuncts)} )"
    for name, (operator, measure) in _MEASURES.items():
        if name in classes:
            return f"( {operator} {body} ( {measure} $0 ) )"
    asked = [_ASKED[name] for name in classes if name in _ASKED]
    return f"( {asked[0] if asked else 'lambda $0 e'} {body} )"


def _conjuncts(words: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Return the predicates of a question in their order."""
    predicates: list[str] = []
    relation, negated = "", False
    kind = classes.index("kind")
    for word, name in [(words[kind], "kind"), *zip(words, classes, strict=True)]:
        if name == "kind" and not predicates:
            predicates.append(f"( {word}:t $0 )")
        elif name in _PREDICATES:
            opinion = f"( {_PREDICATES[name]} $0 )"
            predicates.append(f"( not {opinion} )" if negated else opinion)
        elif name in ("site", "part"):
            predicates.append(f"( {relation}:t $0 {word} )")
        relation = name if name in ("near", "in") else relation
        negated = name == "not"
    return predicates


def question_lexicon(seed: int = 0) -> dict[str, list[str]]:
    """List the substitutes that keep the logical form, by word; see `review_lexicon`."""
    return Lexicon(seed, CONTENT, FUNCTION).by_word(sample_questions(seed).train)
