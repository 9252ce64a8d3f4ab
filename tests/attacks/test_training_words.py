"""Candidates from the victim's training vocabulary: right tags, and draws that repeat."""

from collections import Counter

import pytest
from attack_fakes import TableVictim, example

from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.errors import InputError

TAGS = {
    **{f"noun{number}": "NN" for number in range(30)},
    **{f"verb{number}": "VB" for number in range(4)},
    "the": "DT",
}
SENTENCE = example("noun3 verb1 strange the", "NN VB FW DT").sentence


def bound(sample: int = 5, tags: dict[str, str] = TAGS) -> CandidateGenerator:
    victim = TableVictim([0], {})
    victim.training_tags = tags
    return TrainingWords(sample=sample).for_victim(victim)


def slot(position: int, number: int = 0) -> Slot:
    return Slot(number, SENTENCE, position)


def test_candidates_have_the_slots_tag():
    for number in range(20):
        nouns, verbs, foreign, article = bound().propose(
            [slot(position, number) for position in range(4)], seed=0
        )
        assert len(nouns) == len(set(nouns)) == 5
        assert {TAGS[word] for word in nouns} == {"NN"}
        assert sorted(verbs) == ["verb0", "verb1", "verb2", "verb3"]  # fewer than the sample: all
        assert foreign == []
        assert article == ["the"]


def test_draws_follow_from_seed_id_and_position():
    words = bound()
    first = words.propose([slot(0)], 7)
    assert bound().propose([slot(0)], 7) == first
    assert words.propose([slot(1), slot(0), slot(0, 3)], 7)[1:2] == first
    draws = [
        words.propose([slot(0)], 8),
        words.propose([slot(0, 1)], 7),
        words.propose([Slot(0, example("x y z noun3", "NN NN NN NN").sentence, 3)], 7),
    ]
    assert len({tuple(some[0]) for some in [first, *draws]}) == 4
    # Neither the words nor the length of the sentence matter.
    assert words.propose([Slot(0, example("x", "NN").sentence, 0)], 7) == first


def test_the_rth_most_frequent_word_is_drawn_with_a_weight_of_one_over_r():
    slots = [slot(0, number) for number in range(4000)]
    proposals = bound().propose(slots, 0)
    total = sum(1 / rank for rank in range(1, 31))
    first = Counter(words[0] for words in proposals)
    # Given that the most frequent word came first, the second is drawn from the 29 others.
    second = Counter(words[1] for words in proposals if words[0] == "noun0")
    for rank in range(2, 31):
        word = f"noun{rank - 1}"
        for counts, whole in ((first, total), (second, total - 1)):
            expected = counts.total() / rank / whole
            assert abs(counts[word] - expected) < 5 * expected**0.5 + 1


def test_nothing_to_draw_from_is_no_error():
    assert bound(tags={"the": "DT"}).propose([slot(0), slot(1)], 0) == [[], []]
    untagged = example("a b", "").sentence
    assert bound().propose([Slot(0, untagged, 0)], 0) == [[]]
    assert bound().propose([], 0) == []


def test_the_fingerprint_tells_victims_and_samples_apart():
    prints = [
        bound().fingerprint(),
        bound(sample=6).fingerprint(),
        bound(tags={**TAGS, "more": "NN"}).fingerprint(),
        bound(tags={**TAGS, "the": "NN"}).fingerprint(),
    ]
    assert len(set(prints)) == 4
    assert bound().fingerprint() == prints[0]
    assert bound().draws()
    assert not bound().is_model()


def test_a_cache_never_gives_one_victim_the_words_of_another(tmp_path):
    path = str(tmp_path / "cache.sqlite")
    cached = CachedCandidates(TrainingWords(sample=50), path)
    for tags in ({"old": "NN"}, {"new": "NN"}, {"old": "NN"}):
        victim = TableVictim([0], {})
        victim.training_tags = tags
        assert cached.for_victim(victim).propose([slot(0)], 0) == [list(tags)]


def test_a_sample_of_none():
    with pytest.raises(InputError, match="sample must be >= 1, got 0"):
        TrainingWords(sample=0)
