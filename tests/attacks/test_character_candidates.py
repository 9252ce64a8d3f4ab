"""Characters, vocabularies, and the union of generators."""

import itertools
import string

import pytest
from attack_fakes import HashVictim, example

from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.characters import CharacterEdits, CharacterVariant
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.errors import InputError

DRAWING = {
    "variant": CharacterVariant(),
    "edits": CharacterEdits(sample=7),
    "union": Union([CharacterVariant(), CharacterEdits(sample=3)]),
}


def slots(text: str = "The cat sat by a door", number: int = 0) -> list[Slot]:
    sentence = example(text, "NN " * len(text.split()), number=number).sentence
    return [Slot(number, sentence, position) for position in range(len(sentence))]


def words_file(tmp_path, content: str = "one\ntwo\n\nthree\r\none\n") -> str:
    path = tmp_path / "words.txt"
    path.write_bytes(content.encode())
    return str(path)


def check_draws(generator: CandidateGenerator) -> None:
    """Batches, their order and the process change no draw; seed, id and position do."""
    assert generator.draws()
    together = generator.propose(slots() + slots(number=1), seed=3)
    alone = [generator.propose([slot], seed=3)[0] for slot in slots() + slots(number=1)]
    assert alone == together
    assert generator.propose(slots()[::-1], seed=3)[::-1] == together[:6]
    assert together[:6] != together[6:]
    assert generator.propose(slots(), seed=4) != together[:6]
    same = generator.propose(slots("cat cat cat cat"), seed=0)
    assert len(set(map(tuple, same))) > 1


@pytest.mark.parametrize("name", list(DRAWING))
def test_draws_follow_from_seed_id_and_position(name: str) -> None:
    check_draws(DRAWING[name])


def test_draws_from_a_vocabulary(tmp_path) -> None:
    path = words_file(tmp_path, "\n".join(f"w{number}" for number in range(40)))
    generator = VocabularyWords(path, sample=4)
    check_draws(generator)
    for words in generator.propose(slots(), 0):
        assert len(set(words)) == 4


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
        assert not generator.draws()
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CharacterVariant(alphabet="a"), "alphabet 'a' cannot be used"),
        (lambda: CharacterVariant(alphabet="aba"), "alphabet 'aba' cannot be used"),
        (lambda: CharacterVariant(alphabet="a b"), "alphabet 'a b' cannot be used"),
        (lambda: CharacterEdits(edits=["swop"]), "substitute; got swop"),
        (lambda: CharacterEdits(edits=[]), "got none"),
        (lambda: CharacterEdits(sample=0), "sample must be >= 1"),
        (lambda: VocabularyWords(sample=0), "sample must be >= 1"),
        (lambda: VocabularyWords("no/such.txt"), "no such file"),
        (lambda: Union([]), "the list of generators is empty"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_vocabularies_of_a_file_and_of_the_victim(tmp_path) -> None:
    listed = VocabularyWords(words_file(tmp_path), sample=None)
    assert listed.propose(slots("a b"), 0) == [["one", "two", "three"]] * 2
    assert not listed.draws()
    victim = HashVictim()
    assert listed.for_victim(victim) is listed
    victim.training_words = dict.fromkeys(["dog", "run"]).keys()
    bound = VocabularyWords(sample=None).for_victim(victim)
    assert bound.propose(slots("a"), 0) == [["dog", "run"]]
    assert bound.fingerprint() != VocabularyWords(sample=None).fingerprint()
    assert VocabularyWords(sample=3).propose(slots("a"), 0) == [[]]
    with pytest.raises(InputError, match=r"words\.txt:2: found 2 words, expected one word a line"):
        VocabularyWords(words_file(tmp_path, "a\nb c\n"))


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
    assert not both.draws()
    assert not both.is_model()


def test_the_union_lets_characters_keep_their_casing() -> None:
    upper = CharacterEdits(edits=["substitute"], sample=None, alphabet="XY")
    (found,) = Union([Lexicon(SYNONYMS), upper]).propose(slots("cat"), 0)
    made = ["".join(word) for word in itertools.chain(*((("X", "a", "t"), ("Y", "a", "t")),))]
    assert found[:4] == ["feline", "kitty", *made]


def test_a_union_is_bound_and_cached_as_a_whole(tmp_path) -> None:
    victim = HashVictim()
    victim.training_words = {"dog"}
    union = Union([Lexicon(SYNONYMS), VocabularyWords(sample=None), CharacterVariant()])
    bound = CachedCandidates(union, str(tmp_path / "cache.sqlite")).for_victim(victim)
    assert bound.verbatim()
    assert bound.draws()
    first = bound.propose(slots("cat"), 0)
    assert first[0][:3] == ["feline", "kitty", "dog"]
    assert bound.propose(slots("cat"), 0) == first
    assert len({one.fingerprint() for one in (union, bound, Union([Lexicon(SYNONYMS)]))}) == 3
