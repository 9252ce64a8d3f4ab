"""Candidates that are drawn: characters, vocabularies, training words; the union of generators."""

import string
from collections import Counter

import pytest
from attack_fakes import HashVictim, example

from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.characters import CharacterEdits, CharacterVariant
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.one_of import OneOf
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.errors import InputError
from robustparse.types import Sentence

TAGS = {
    **{f"noun{number}": "NN" for number in range(30)},
    **{f"verb{number}": "VB" for number in range(4)},
    "the": "DT",
}


def training_words(sample: int = 5, tags: dict[str, str] = TAGS) -> CandidateGenerator:
    victim = HashVictim()
    victim.training_tags = {"xpos": tags}
    return TrainingWords(sample=sample).for_victim(victim)


def vocabulary_words(sample: int | None = 4) -> CandidateGenerator:
    victim = HashVictim()
    victim.training_words = dict.fromkeys(f"w{number}" for number in range(40)).keys()
    return VocabularyWords(sample=sample).for_victim(victim)


DRAWING = {
    "variant": CharacterVariant(),
    "edits": CharacterEdits(sample=7),
    "vocabulary": vocabulary_words(),
    "training words": training_words(),
    "union": Union([CharacterVariant(), CharacterEdits(sample=3)]),
    "one of several": OneOf([CharacterEdits(sample=3), training_words()]),
}


def slots(text: str = "The cat sat by a door", number: int = 0) -> list[Slot]:
    sentence = example(text, "NN " * len(text.split()), number=number).sentence
    return [Slot(number, sentence, position) for position in range(len(sentence))]


def words_file(tmp_path, content: str = "one\ntwo\n\nthree\r\none\n") -> str:
    path = tmp_path / "words.txt"
    path.write_bytes(content.encode())
    return str(path)


@pytest.mark.parametrize("name", DRAWING)
def test_draws_follow_from_seed_id_and_position(name: str) -> None:
    """Batches, their order and the process change no draw; seed, id and position do."""
    generator = DRAWING[name]
    assert generator.draws
    together = generator.propose(slots() + slots(number=1), seed=3)
    one_by_one = [generator.propose([slot], seed=3)[0] for slot in slots() + slots(number=1)]
    assert one_by_one == together
    assert generator.propose(slots()[::-1], seed=3)[::-1] == together[:6]
    assert together[:6] != together[6:]
    assert generator.propose(slots(), seed=4) != together[:6]
    same = generator.propose(slots("cat cat cat cat"), seed=0)
    assert len(set(map(tuple, same))) > 1
    assert generator.propose([], 0) == []


def test_the_variant_changes_one_character_into_another() -> None:
    places, characters = set(), set()
    for number in range(400):
        ((word,),) = CharacterVariant().propose(slots("abc", number=number), seed=0)
        changed = [at for at in range(3) if word[at] != "abc"[at]]
        assert len(word) == 3
        assert len(changed) == 1
        places.add(changed[0])
        characters.add(word[changed[0]])
    assert places == {0, 1, 2}
    assert characters == set(string.ascii_letters + string.digits)
    ((word,),) = CharacterVariant(alphabet="ab").propose(slots("a"), seed=0)
    assert word == "b"


def test_all_edits_of_a_short_word() -> None:
    def edits(*kinds: str) -> list[str]:
        generator = CharacterEdits(edits=list(kinds), sample=None, alphabet="ab")
        assert not generator.draws
        return generator.propose(slots("ab"), 0)[0]

    assert edits("insert") == ["aab", "bab", "abb", "aba"]
    assert edits("delete") == ["b", "a"]
    assert edits("swap") == ["ba"]
    assert edits("substitute") == ["bb", "aa"]
    every = edits("insert", "delete", "swap", "substitute")
    assert every == ["aab", "bab", "abb", "aba", "b", "a", "ba", "bb", "aa"]
    (alone,) = CharacterEdits(edits=["delete"], sample=None).propose(slots("a"), 0)
    assert alone == []


def test_sampled_edits_are_distinct_edits() -> None:
    everything = CharacterEdits(sample=None).propose(slots(), 0)
    for size in (1, 20, 10_000):
        for some, every in zip(
            CharacterEdits(sample=size).propose(slots(), 0), everything, strict=True
        ):
            assert len(set(some)) == len(some) == min(size, len(every))
            assert set(some) <= set(every)


def test_edits_and_variants_keep_the_blanks_of_a_word() -> None:
    word, blanks = "a  b\u00a0c", [" ", " ", "\u00a0"]
    there = [Slot(number, Sentence(words=(word,)), 0) for number in range(30)]
    edited = CharacterEdits(sample=None).propose(there[:1], 0)[0]
    varied = [one for (one,) in CharacterVariant().propose(there, 0)]
    for found in edited + varied:
        assert [character for character in found if character.isspace()] == blanks
        assert found != word
    assert {"  b\u00a0c", "xa  b\u00a0c", "a x b\u00a0c"} <= set(edited)
    assert {bool(one[0] != "a") + 2 * bool(one[3] != "b") for one in varied} == {0, 1, 2}


def test_vocabularies_of_a_file_and_of_the_victim(tmp_path) -> None:
    listed = VocabularyWords(words_file(tmp_path), sample=None)
    assert listed.propose(slots("a b"), 0) == [["one", "two", "three"]] * 2
    assert not listed.draws
    victim = HashVictim()
    assert listed.for_victim(victim) is listed
    victim.training_words = dict.fromkeys(["dog", "run"]).keys()
    bound = VocabularyWords(sample=None).for_victim(victim)
    assert bound.propose(slots("a"), 0) == [["dog", "run"]]
    assert bound.fingerprint() != VocabularyWords(sample=None).fingerprint()
    assert all(len(set(words)) == 4 for words in vocabulary_words().propose(slots(), 0))


SYNONYMS, NEIGHBOURS = {"cat": ["feline", "Kitty"]}, {"cat": ["kitty", "lion", "CAT"]}


def test_the_union_keeps_the_order_given_and_the_first_of_each_word() -> None:
    both = Union([Lexicon(SYNONYMS), Lexicon(NEIGHBOURS)])
    assert both.propose(slots("cat CAT Cat cAt dog"), 0) == [
        ["feline", "kitty", "lion"],
        ["FELINE", "KITTY", "LION"],
        ["Feline", "Kitty", "Lion"],
        ["feline", "Kitty", "lion"],
        [],
    ]
    other = Union([Lexicon(NEIGHBOURS), Lexicon(SYNONYMS)])
    assert other.propose(slots("cat"), 0) == [["kitty", "lion", "feline"]]
    assert not both.draws
    assert not both.is_model


def test_the_union_lets_characters_keep_their_casing() -> None:
    upper = CharacterEdits(edits=["substitute"], sample=None, alphabet="XY")
    (found,) = Union([Lexicon(SYNONYMS), upper]).propose(slots("cat"), 0)
    assert found[:4] == ["feline", "kitty", "Xat", "Yat"]


def test_one_generator_is_drawn_for_each_sentence() -> None:
    """Casing is as in a union; over many seeds and sentences every generator is drawn as often."""
    upper = CharacterEdits(edits=["substitute"], sample=1, alphabet="XY")
    members = [Lexicon({"cat": ["feline"], "dog": ["hound"]}), upper]
    both = OneOf(members)
    drawn = []
    for seed in range(20):
        asked = [slot for number in range(10) for slot in slots("Cat dog", number)]
        words = both.propose(asked, seed)
        assert both.propose(asked[::-1], seed) == words[::-1]
        for first in range(0, len(asked), 2):
            pair = asked[first : first + 2]
            alone = [["Feline"], ["hound"]], upper.propose(pair, seed)
            drawn.append(alone.index(words[first : first + 2]))
    assert 80 < sum(drawn) < 120
    assert drawn[:10] != drawn[10:20]
    assert both.draws
    assert both.fingerprint() != Union(members).fingerprint() != OneOf(members[:1]).fingerprint()


def test_a_union_is_bound_and_cached_as_a_whole(tmp_path) -> None:
    victim = HashVictim()
    victim.training_words = {"dog"}
    union = Union([Lexicon(SYNONYMS), VocabularyWords(sample=None), CharacterVariant()])
    bound = CachedCandidates(union, str(tmp_path / "cache.sqlite")).for_victim(victim)
    assert bound.verbatim
    assert bound.draws
    first = bound.propose(slots("cat"), 0)
    assert first[0][:3] == ["feline", "kitty", "dog"]
    assert bound.propose(slots("cat"), 0) == first
    assert len({one.fingerprint() for one in (union, bound, Union([Lexicon(SYNONYMS)]))}) == 3


def test_a_union_refuses_a_victim_that_a_member_refuses() -> None:
    """Otherwise one recipe would be another attack against a parser trained without tags."""
    with pytest.raises(InputError, match="TrainingWords"):
        Union([Lexicon(SYNONYMS), TrainingWords()]).for_victim(HashVictim())


SENTENCE = example("noun3 verb1 strange the", "NN VB FW DT").sentence


def slot(position: int, number: int = 0) -> Slot:
    return Slot(number, SENTENCE, position)


def test_candidates_have_the_slots_tag():
    for number in range(20):
        nouns, verbs, foreign, article = training_words().propose(
            [slot(position, number) for position in range(4)], seed=0
        )
        assert len(nouns) == len(set(nouns)) == 5
        assert {TAGS[word] for word in nouns} == {"NN"}
        assert sorted(verbs) == ["verb0", "verb1", "verb2", "verb3"]  # fewer than the sample: all
        assert foreign == []
        assert article == ["the"]


def test_draws_do_not_depend_on_the_other_words():
    (first,) = training_words().propose([slot(0)], 7)
    assert training_words().propose([Slot(0, example("x", "NN").sentence, 0)], 7) == [first]


def test_the_rth_most_frequent_word_is_drawn_with_a_weight_of_one_over_r():
    slots = [slot(0, number) for number in range(4000)]
    proposals = training_words().propose(slots, 0)
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
    assert training_words(tags={"the": "DT"}).propose([slot(0), slot(1)], 0) == [[], []]
    untagged = example("a b", "").sentence
    assert training_words().propose([Slot(0, untagged, 0)], 0) == [[]]


def test_the_fingerprint_tells_victims_and_samples_apart():
    prints = [
        training_words().fingerprint(),
        training_words(sample=6).fingerprint(),
        training_words(tags={**TAGS, "more": "NN"}).fingerprint(),
        training_words(tags={**TAGS, "the": "NN"}).fingerprint(),
    ]
    assert len(set(prints)) == 4
    assert training_words().fingerprint() == prints[0]


def test_a_cache_never_gives_one_victim_the_words_of_another(tmp_path):
    path = str(tmp_path / "cache.sqlite")
    cached = CachedCandidates(TrainingWords(sample=50), path)
    for tags in ({"old": "NN"}, {"new": "NN"}, {"old": "NN"}):
        victim = HashVictim()
        victim.training_tags = {"xpos": tags}
        assert cached.for_victim(victim).propose([slot(0)], 0) == [list(tags)]
