"""Exhaustion against naive enumeration of random small victims."""

import zlib
from itertools import product
from typing import Any

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.exhaustion import Certificate, Exhaustive
from robustparse.errors import InputError
from robustparse.evaluation.certificate_records import (
    CertificateRecord,
    certificate_record,
    check_certificate,
)
from robustparse.types import DependencyTree, Example, Sentence, TagSequence
from robustparse.victims import FunctionVictim
from small_victims import EDITS, KINDS, WORDS, Case, case

SEEDS = range(67)  # of each kind: 201 victims


def certified(small: Case, **settings: Any) -> Certificate:
    """The certificate of a case; its victim keeps what it was asked."""
    exhaustive = Exhaustive(small.table, EDITS, **settings)
    small.victim.asked.clear()
    (certificate,) = exhaustive.certificates([small.example], small.victim, Statistics())
    return certificate


def record_of(small: Case, certificate: Certificate) -> CertificateRecord:
    return certificate_record(small.victim.task, small.victim, certificate, EDITS)


@pytest.mark.parametrize("kind", KINDS)
def test_exhaustion_is_naive_enumeration(kind):
    refuted_late, shared = 0, 0
    for seed in SEEDS:
        small = case(kind, seed)
        certificate = certified(small)
        asked = small.victim.asked
        assert len(set(asked)) == len(asked), "an input was asked twice"
        for edits in EDITS:
            truth = small.certified(edits)
            assert (certificate.certified(edits) == truth).all()
            assert (certificate.survived(edits) == truth).all()
            assert not certificate.undecided(edits)
            assert certificate.allowed.count(edits) == small.inputs(edits)
            shared += small.inputs(edits) < len(small.texts(edits))
        if certificate.open:
            assert len(asked) == small.inputs("all")
        refuted_late += any(witness.edits > 1 for witness in certificate.witnesses)
    assert refuted_late > 5
    assert shared > 20


@pytest.mark.parametrize("kind", KINDS)
def test_witnesses_refute_what_they_say(kind):
    for seed in SEEDS:
        small = case(kind, seed)
        record = record_of(small, certified(small))
        check_certificate(small.victim.task, record, small.example, EDITS)
        answers = small.victim.task.answers
        tokens = small.example.sentence.words
        fewest: dict[tuple[str, int], int] = {}
        for witness in record["witnesses"]:
            text = list(tokens)
            for position, word in witness["words"].items():
                text[int(position)] = word
            assert witness["edits"] == len(witness["words"])
            assert tuple(text) in small.texts(max(1, witness["edits"]))
            assert witness["answer"] == answers.to_record(small.victim.answer(text))
            right = small.right(tuple(text))
            for name, parts in witness["refutes"].items():
                column = small.victim.task.scores.names.index(name)
                assert not right[parts, column].any()
                fewest |= {(name, part): witness["edits"] for part in parts}
        for edits in EDITS:
            truth, most = small.certified(edits), len(tokens) if edits == "all" else edits
            for column, name in enumerate(small.victim.task.scores.names):
                wrong = np.flatnonzero(~truth[:, column]).tolist()
                refuted = [
                    part for part in range(len(truth)) if fewest.get((name, part), 9) <= most
                ]
                assert wrong == refuted, "an answer is refuted without a witness"


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_the_cap_leaves_out_is_undecided(kind):
    undecided, first = 0, 0
    for seed in SEEDS:
        small = case(kind, seed)
        cap = int(np.random.default_rng(seed).integers(1, 40))
        certificate = certified(small, cap=cap)
        assert len(small.victim.asked) <= cap
        first += small.inputs(1) > cap and len(small.victim.asked) == cap
        for edits in EDITS:
            truth = small.certified(edits)
            lower, upper = certificate.certified(edits), certificate.survived(edits)
            assert (lower <= truth).all()
            assert (truth <= upper).all()
            if certificate.undecided(edits):
                assert small.inputs(edits) > cap
                assert not lower.any()
                undecided += 1
            else:
                assert (lower == truth).all()
        check_certificate(small.victim.task, record_of(small, certificate), small.example, EDITS)
    assert undecided > 20
    assert first > 2


def test_tags_and_spans_are_those_of_naive_enumeration() -> None:
    """Words of gold spans are kept; sentences without spans have certificates of their tags."""
    without, lost = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        words = tuple(str(word) for word in rng.choice(WORDS, int(rng.integers(1, 6))))
        kinds = [str(kind) for kind in rng.choice(["O", "O", "x", "y"], len(words))]
        gold = tuple("O" if kind == "O" else f"B-{kind}" for kind in kinds)
        if len(words) > 2 and gold[0] != "O":
            gold = (gold[0], gold[0].replace("B", "I"), *gold[2:])
        table = {word: tuple(map(str, rng.choice(WORDS, 2, replace=False))) for word in WORDS}
        table = {word: tuple(w for w in some if w != word) for word, some in table.items()}

        def answer(text: tuple[str, ...], gold: Any = gold, seed: int = seed) -> list[str]:
            codes = [
                zlib.crc32(f"{seed} {at} {' '.join(text)}".encode()) for at in range(len(text))
            ]
            others = ("O", "B-x", "I-x", "I-y")
            return [
                others[code % 4] if code % 7 == 0 else tag
                for code, tag in zip(codes, gold, strict=True)
            ]

        victim = FunctionVictim(lambda texts, own=answer: [own(tuple(t)) for t in texts], "tags")
        example = Example(0, Sentence(words), TagSequence(gold, ""))
        exhaustive = Exhaustive(SubstitutionTable(table), EDITS)
        (certificate,) = exhaustive.certificates([example], victim, Statistics())
        choices = [
            (w, *table[w]) if tag == "O" else (w,) for w, tag in zip(words, gold, strict=True)
        ]
        spans = get_entities(list(gold))
        for edits in EDITS:
            most = len(words) if edits == "all" else edits
            answers = [
                answer(text)
                for text in product(*choices)
                if sum(a != b for a, b in zip(text, words, strict=True)) <= most
            ]
            truth = np.zeros((len(words), 2), dtype=bool)
            truth[:, 0] = np.all(
                [[a == b for a, b in zip(one, gold, strict=True)] for one in answers], axis=0
            )
            for span in spans:
                truth[span[1], 1] = all(span in get_entities(one) for one in answers)
            assert (certificate.certified(edits) == truth).all()
            lost += int(truth[:, 1].sum()) < len(spans)
        without += not spans
    assert without > 3
    assert lost > 10


def test_the_original_alone_is_tried_at_a_cap_of_one():
    small = case("trees", 1)
    certificate = certified(small, cap=1)
    assert small.victim.asked == [small.victim.read(small.example.sentence.words)]
    assert (certificate.survived("all") == small.right(small.example.sentence.words)).all()


def test_words_that_do_not_count_are_left_out():
    small = case("trees", 4)
    words = (*small.example.sentence.words[:-1], "!")
    gold = small.example.gold
    changed = Case(small.victim, Example(0, Sentence(words), gold), small.table)
    (whole,) = Exhaustive(small.table, EDITS).certificates(
        [changed.example], small.victim, Statistics()
    )
    (counted,) = Exhaustive(small.table, EDITS, punctuation="unicode").certificates(
        [changed.example], small.victim, Statistics()
    )
    assert (counted.certified(1) == whole.certified(1)[:-1]).all()
    record = record_of(changed, counted)
    assert record["uncounted"] == [len(words) - 1]
    alone = Example(0, Sentence(("!",)), DependencyTree((0,), ("det",)))
    (empty,) = Exhaustive(small.table, EDITS, punctuation="unicode").certificates(
        [alone], small.victim, Statistics()
    )
    assert not empty.undecided("all")
    assert empty.certified("all").shape == (0, 2)


@pytest.mark.parametrize(
    "settings",
    [
        {"edits": (0,)},
        {"edits": (-1, "all")},
        {"edits": ("ALL",)},
        {"edits": (True,)},
        {"edits": (1, 1)},
        {"edits": ()},
        {"cap": 0},
        {"batch_words": 0},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InputError):
        Exhaustive(SubstitutionTable({}), **settings)
