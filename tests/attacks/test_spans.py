"""Candidates of several words, of none, and for two words, against edits of plain lists."""

import zlib
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import pipeline

import robustparse as rp
from robustparse.api.attack import recipe
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import CandidateGenerator, Merged, Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.masked_lm import MaskedInsertion, MaskedLM, MaskedMerge
from robustparse.attacks.candidates.omission import Omission
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.constraints.edits import LevenshteinDistance
from robustparse.attacks.constraints.words import ProtectedPositions
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.engine.victim_input import texts_of
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.problem import DELETED, UNKNOWN
from robustparse.attacks.search.beam import Beam, Greedy
from robustparse.attacks.search.genetic import Genetic
from robustparse.attacks.search.importance import PWWS, GreedyByImportance
from robustparse.attacks.search.particle_swarm import ParticleSwarm
from robustparse.attacks.search.rankings import DeletedWord, UnknownWord
from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.evaluation.attack_log import write_log
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.transfer import read_source, transfer
from robustparse.types import DependencyTree, Example, Sentence
from robustparse.victims import FunctionVictim
from tiny_language_models import VOCABULARY, WORDS, save_bert

LABELS = ["neg", "pos"]
TABLE: dict[str, list[str]] = {
    "a": ["x", "a big", "", Merged("ab")],
    "b": ["", "very b", Merged("b")],
    "c": ["c too", "y"],
    "d": ["", Merged("z z")],
}


def candidates(words: Sequence[str], at: int) -> list[str]:
    """Those of the table; the last word cannot be merged with the next one."""
    last = at + 1 == len(words)
    return [each for each in TABLE.get(words[at], ()) if not (last and isinstance(each, Merged))]


class Spans(CandidateGenerator):
    """The candidates of the table."""

    verbatim = spans = True
    draws = False

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        return [candidates(slot.sentence.words, slot.position) for slot in slots]

    def fingerprint(self) -> str:
        return "Spans"


def share(words: Sequence[str]) -> float:
    """A probability that depends on every word and on their order."""
    return zlib.crc32(" ".join(words).encode()) % 997 / 1000


def classify(texts: list[Any]) -> list[tuple[str, list[float]]]:
    shares = map(share, texts)
    return [(LABELS[each > 0.5], [1 - each, each]) for each in shares]


def victim() -> FunctionVictim:
    return FunctionVictim(classify, "classification", labels=LABELS)


def examples(*texts: str) -> list[Example]:
    words = [tuple(text.split()) for text in texts]
    return [
        Example(row, Sentence(each), LABELS[share(each) > 0.5]) for row, each in enumerate(words)
    ]


TEXTS = ("a b c", "b a d", "d d a b", "c", "b", "e a b c d", "a a")


def edited(words: Sequence[str], state: Sequence[int]) -> list[str] | None:
    """The text of a state, written down literally; None if a merged word is changed itself."""
    text: list[str] = []
    gone = False
    for word, choice in zip(words, state, strict=True):
        candidate = TABLE.get(word, [])[choice - 1] if choice > 0 else None
        if gone:
            if choice > 0:
                return None
            gone = False
            continue
        if choice != DELETED:
            text += {0: [word], UNKNOWN: ["[UNK]"]}.get(choice, (candidate or "").split())
        gone = isinstance(candidate, Merged)
    return text


def choices(words: Sequence[str], at: int, *more: int) -> list[int]:
    return [*more, *range(len(candidates(words, at)) + 1)]


def test_every_state_reads_as_its_edits() -> None:
    model = victim()
    built = ProblemBuilder(model, Spans(), [], LabelFlip(), 0, Statistics())
    problems = built.build(examples(*TEXTS))
    problems = built.extend(problems, [np.arange(len(each)) for each in problems])
    batch, expected = [], []
    for problem in problems:
        words = problem.sentence.words
        options = [choices(words, at, DELETED, UNKNOWN) for at in range(len(words))]
        states = np.array(list(product(*options)), dtype=np.int16)
        texts = [edited(words, state) for state in states.tolist()]
        chosen = [text is not None for text in texts]
        batch.append((problem, states[chosen]))
        expected += [text or ["[UNK]"] for text in texts if text is not None]
        whole = (states >= 0).all(axis=1)
        literal = [bool(text) for text in texts]
        assert (problem.spelt(states[whole]) == np.array(literal)[whole]).all()
        for state, text in zip(states[whole].tolist(), np.array(texts, object)[whole], strict=True):
            if text:
                now = problem.text(np.array(state, np.int16))
                assert " ".join(now).split() == text
                assert len(now) == len(words)
                differ = [at for at in range(len(words)) if now[at] != words[at]]
                assert problem.changed(np.array(state, np.int16)) == differ
    read = texts_of(batch, model.unknown)
    assert model.as_words(read) == expected


def greedy(words: Sequence[str], gold: str) -> tuple[list[str], bool]:
    """The literal greedy search over states: the best single change per round."""
    state, best = [0] * len(words), (False, -1.0, [*words])
    start = (False, score(words, gold), [*words])
    best = start
    while not best[0]:
        tried = []
        for at, choice in enumerate(state):
            for new in choices(words, at)[1:] if not choice else ():
                changed = [*state[:at], new, *state[at + 1 :]]
                if text := edited(words, changed):
                    tried.append((score(text, gold) > 0.5, score(text, gold), changed, text))
        if not tried:
            break
        success = any(each[0] for each in tried)
        chosen = max(tried, key=lambda each: (each[0] == success, each[1]))
        state = chosen[2]
        if (chosen[0], chosen[1]) > best[:2]:
            best = (chosen[0], chosen[1], chosen[3])
    return best[2], best[0]


def score(words: Sequence[str], gold: str) -> float:
    return 1 - share(words) if gold == "pos" else share(words)


def test_greedy_finds_what_the_literal_search_finds() -> None:
    asked = examples(*TEXTS, "e")
    outcomes = set()
    for result in Attack(Spans(), Greedy()).run(asked, victim()):
        text, success = greedy(result.example.sentence.words, result.example.gold)
        assert (" ".join(result.words).split(), result.success) == (text, success)
        outcomes.add(success)
    assert outcomes == {True, False}


def clare(words: Sequence[str], gold: str) -> tuple[list[str], bool, int]:
    """Algorithm 1 of Li et al. (2021): the best edit of each word, the most harmful one first."""
    best_of_each: list[tuple[float, list[int], int]] = []
    tried: list[tuple[bool, float, list[str]]] = [(False, score(words, gold), [*words])]
    for at in range(len(words)):
        edits = []
        for choice in choices(words, at)[1:]:
            state = [choice if place == at else 0 for place in range(len(words))]
            if text := edited(words, state):
                edits.append((score(text, gold), state, at))
                tried.append((score(text, gold) > 0.5, score(text, gold), text))
        if edits:
            best_of_each.append(max(edits, key=lambda edit: edit[0]))
    queries = len(tried)
    state = [0] * len(words)
    for _, edit, at in sorted(best_of_each, key=lambda edit: -edit[0]):
        changed = [edit[at] if place == at else old for place, old in enumerate(state)]
        if not (text := edited(words, changed)):
            continue  # the edits overlap
        state, queries = changed, queries + 1
        tried.append((score(text, gold) > 0.5, score(text, gold), text))
        if tried[-1][0]:
            return text, True, queries
    best = max(tried, key=lambda each: each[:2])
    return best[2], best[0], queries


def test_clare_finds_what_its_algorithm_finds() -> None:
    search = recipe("clare").search
    asked = examples(*TEXTS, "e", "d a", "a c d", "c c")
    outcomes = set()
    for result in Attack(Spans(), search).run(asked, victim()):
        expected = clare(result.example.sentence.words, result.example.gold)
        assert (" ".join(result.words).split(), result.success, result.charged) == expected
        outcomes.add(result.success)
    assert outcomes == {True, False}


SEARCHES = [
    *(
        Greedy(),
        Beam(width=3),
        PWWS(),
        PWWS(saliency=False, outcome="last"),
        Genetic(),
        ParticleSwarm(),
    ),
    *(GreedyByImportance(DeletedWord()), GreedyByImportance(UnknownWord())),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda each: type(each).__name__)
def test_packing_changes_nothing_and_every_query_is_a_text(search: Any) -> None:
    outcomes = []
    for live, size in ((64, 256), (1, 3)):
        asked: list[Any] = []

        def answer(texts: list[Any], asked: list[Any] = asked) -> list[Any]:
            asked += texts
            return classify(texts)

        model = FunctionVictim(answer, "classification", labels=LABELS, batch_texts=size)
        results = Attack(Spans(), search, live=live).run(examples(*TEXTS), model)
        outcomes.append({each.id: (each.words, each.charged, each.success) for each in results})
        assert all(asked)
    assert outcomes[0] == outcomes[1]


def test_constraints_keep_words_from_being_merged_away() -> None:
    (example,) = examples("a b c")
    builder = ProblemBuilder(
        victim(), Spans(), [ProtectedPositions([1])], LabelFlip(), 0, Statistics()
    )
    (problem,) = builder.extend(builder.build([example]), [np.array([0, 2])])
    assert not any(isinstance(word, Merged) for word in problem.words)


def test_a_cache_returns_equal_candidates(tmp_path: Path) -> None:
    slots = [Slot(0, Sentence(("a", "b", "c")), at) for at in range(3)]
    cached = CachedCandidates(Spans(), str(tmp_path / "cache.sqlite"))
    for _ in range(2):
        (both, expected) = cached.propose(slots, 0), Spans().propose(slots, 0)
        assert both == expected
        kinds = [[type(word) for word in words] for words in both]
        assert kinds == [[type(word) for word in words] for words in expected]


def test_a_union_keeps_a_word_and_its_merged_form() -> None:
    slots = [Slot(0, Sentence(("a", "b")), 0)]
    (words,) = Union([Lexicon({"a": ["ab", "x"]}), Spans()]).propose(slots, 0)
    assert words == ["ab", "x", "a big", "", Merged("ab")]
    assert [type(word) for word in words] == [str, str, str, str, Merged]


def test_the_words_of_a_phrase_are_interned_and_not_the_phrase() -> None:
    model, asked = victim(), list[str]()
    intern = model.intern

    def noting(words: Sequence[str]) -> Any:
        asked.extend(words)
        return intern(words)

    model.intern = noting  # type: ignore[method-assign]
    builder = ProblemBuilder(model, Spans(), [], LabelFlip(), 0, Statistics())
    built = builder.build(examples("a b c d"))
    (whole,) = builder.extend(built, [np.arange(4)])
    assert not [word for word in asked if not word or " " in word]
    # Step by step, each phrase has the same rows, under a number of its own.
    problem = built[0]
    for at in (2, 0, 3, 1):
        (problem,) = builder.extend([problem], [np.array([at])])
    assert problem.words == whole.words
    both = [
        [each.phrases[-1 - row] if row < 0 else row for row in each.rows.tolist()]
        for each in (problem, whole)
    ]
    assert both[0] == both[1]
    assert len(problem.phrases) == len(whole.phrases) == (problem.rows < 0).sum()


class Following(Spans):
    """The word as the current sentence has it, with the word before it."""

    follows = True

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        before = [slot.sentence.words[max(0, slot.position - 1)] for slot in slots]
        return [[f"{new} {slot.word}"] for slot, new in zip(slots, before, strict=True)]


def test_candidates_that_follow_come_after_the_others() -> None:
    union = Union([Lexicon({"a": ["x", "y"], "b": ["z"]}), Following()])
    builder = ProblemBuilder(victim(), union, [], LabelFlip(), 0, Statistics())
    (problem,) = builder.extend(builder.build(examples("a b c")), [np.arange(3)])
    assert problem.words == ("x", "y", "z")
    state = np.array([2, 1, 0], dtype=np.int16)
    (first,) = builder.follow([problem], [(1, state)])
    assert first.words == ("x", "y", "z", "y z")
    (second,) = builder.follow([first], [(0, state)])
    assert second.words == ("x", "y", "y y", "z", "y z")
    assert second.text(np.array([3, 2, 0], np.int16)) == ("y y", "y z", "c")


def test_second_changes_are_judged_before_or_after_they_are_scored() -> None:
    asked = examples(*TEXTS, "a b b a", "b c a")
    outcomes = []
    for judged in ("before", "after"):
        search = GreedyByImportance(DeletedWord(), judged=judged)
        union = Union([Lexicon({"a": ["x", "y"], "b": ["z", "v"], "c": ["u"]}), Following()])
        attack = Attack(union, search, [LevenshteinDistance(3)])
        outcomes.append({r.id: (r.words, r.success) for r in attack.run(asked, victim())})
        changed = {word for words, _ in outcomes[-1].values() for word in words}
        assert any(" " in word for word in changed)
        for budget in (4, 6, 9):
            attack.budget = budget
            assert max(result.charged for result in attack.run(asked, victim())) <= budget
    assert outcomes[0] == outcomes[1]


def test_searches_that_do_not_ask_for_them_are_refused() -> None:
    with pytest.raises(InputError) as error:
        Attack(Union([Spans(), Following()]), Greedy())
    assert error.value.key == "attack: search"
    Attack(Union([Spans(), Following()]), GreedyByImportance(DeletedWord()))


def test_trees_are_refused() -> None:
    tree = DependencyTree((0,), ("root",))
    parser = FunctionVictim(lambda texts: [tree for _ in texts])
    with pytest.raises(InputError) as error:
        list(Attack(Omission(), Greedy()).run([Example(0, Sentence(("a",)), tree)], parser))
    assert error.value.remedy


def test_files_hold_the_changed_texts(tmp_path: Path) -> None:
    asked = examples(*TEXTS)
    results = rp.attack(victim(), asked, Attack(Spans(), Greedy()), out=tmp_path)
    lines = list(read_records(tmp_path / "examples.jsonl"))
    assert any(
        len(" ".join(line["adversarial_tokens"]).split()) != len(line["tokens"]) for line in lines
    )
    for line in lines:
        both = enumerate(zip(line["tokens"], line["adversarial_tokens"], strict=True))
        assert line["edited"] == [at for at, (old, new) in both if old != new]
        text = " ".join(line["adversarial_tokens"]).split()
        assert line["attacked"]["label"] == classify([text])[0][0]
    written = (tmp_path / "adversarial.tsv").read_text().splitlines()
    texts = [row.split("\t")[0].split() for row in written[-len(lines) :]]
    assert texts == [" ".join(line["adversarial_tokens"]).split() for line in lines]
    # The same run resumes, and the texts fool the same victim again.
    again = rp.attack(victim(), asked, Attack(Spans(), Greedy()), out=tmp_path)
    assert repr(again) == repr(results)
    (rates,) = transfer(victim(), [read_source(tmp_path)])
    attacked = [line for line in lines if line["success"]]
    assert rates["accuracy"].rate.estimate == pytest.approx(100 * len(attacked) / len(lines))
    write_log(tmp_path, ["csv", "dataset"])
    main(["report", str(tmp_path), "--out", str(tmp_path / "report.html")])


PUT: dict[str, Any] = {
    "replace": MaskedLM,
    "insert_before": partial(MaskedInsertion, side="before"),
    "insert_after": MaskedInsertion,
    "merge": MaskedMerge,
}


@pytest.mark.parametrize("put", PUT)
def test_a_masked_lm_predicts_what_its_pipeline_predicts(put: Any, tmp_path: Path) -> None:
    save_bert(tmp_path / "bert", VOCABULARY)
    sentence = Sentence(("the", "dog", "eat", "a", "fox"))
    slots = [Slot(0, sentence, at) for at in range(len(sentence))]
    settings = {"top_k": 6, "sample": None, "precision": "float64", "least": 0.01}
    model = PUT[put](str(tmp_path / "bert"), **settings)
    fill = pipeline("fill-mask", str(tmp_path / "bert"), top_k=6, device="cpu")
    for slot, found in zip(slots, model.propose(slots, 0), strict=True):
        at, words = slot.position, list(sentence.words)
        if put == "merge" and at + 1 == len(words):
            assert not found
            continue
        begin, end = {
            "replace": (at, at + 1),
            "insert_before": (at, at),
            "insert_after": (at + 1, at + 1),
            "merge": (at, at + 2),
        }[put]
        masked = " ".join([*words[:begin], "[MASK]", *words[end:]])
        predicted = [row["token_str"] for row in fill(masked) if row["score"] >= 0.01]
        predicted = [word for word in predicted if word in WORDS]
        placed = {
            "replace": predicted,
            "insert_before": [f"{word} {words[at]}" for word in predicted],
            "insert_after": [f"{words[at]} {word}" for word in predicted],
            "merge": [*map(Merged, predicted)],
        }[put]
        assert found == placed
