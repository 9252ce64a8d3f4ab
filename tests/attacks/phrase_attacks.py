"""A sentence of three phrases, and attacks on it."""

from typing import Any

from attack_fakes import example

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.goals.phrases import PhraseDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.requests import Search
from robustparse.types import Example

# Three phrases of two words hang from "v"; b, d and f are their roots.
HEADS = (2, 3, 0, 5, 3, 7, 3)
SENTENCE = example("a b v c d e f", "NN NN VB NN NN NN NN", HEADS)
LEXICON = {"a": ["a1", "a2"], "b": ["b1"], "c": ["c1"], "d": ["d1"], "e": ["e1", "e2"], "f": ["f1"]}


def attacked(search: Search, victim: Any, one: Example = SENTENCE, **settings: Any) -> AttackResult:
    goal = PhraseDrop(shortest=2, longest=2)
    (result,) = Attack(Lexicon(LEXICON), search, goal=goal, **settings).run([one], victim)
    return result
