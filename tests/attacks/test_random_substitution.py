"""Random substitution against a victim whose every answer is in a table."""

from itertools import product

import pytest
from attack_fakes import HashVictim, TableVictim, corpus, example

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.errors import InputError

GOLD = (2, 0, 2)
SENTENCE = example("dogs chase cats", "NNS VBP NNS", GOLD, number=3)
LEXICON = {"dogs": ["wolves", "foxes"], "chase": ["hunt", "eat"], "cats": ["mice", "rats"]}
TEXTS = [" ".join(words) for words in product(*LEXICON.values())]


def attack(victim, sentences, seed=0, lexicon=LEXICON, **settings):
    search = RandomSubstitution(**settings)
    engine = Attack(Lexicon(lexicon), search, [AttackableTags()], goal=AttachmentDrop(), seed=seed)
    return sorted(engine.run(sentences, victim), key=lambda result: result.id)


def test_one_trial_asks_nothing_but_the_clean_parse():
    victim = TableVictim(GOLD, {})
    (result,) = attack(victim, [SENTENCE], gamma=1.0, trials=1)
    assert " ".join(result.words) in TEXTS
    assert result.charged == result.unique == 1
    assert victim.texts == ["dogs chase cats", " ".join(result.words)]


def test_the_worst_of_two_complementary_trials_is_taken():
    # Two candidates a word: the second trial takes what the first did not.
    for seed in range(8):
        victim = TableVictim(GOLD, {"wolves eat rats": (0, 1, 2), "foxes hunt mice": (2, 0, 1)})
        (result,) = attack(victim, [SENTENCE], seed, gamma=1.0, trials=2)
        first, second = victim.texts[1:3]
        pairs = zip(first.split(), second.split(), strict=True)
        assert all(
            {one, two} == set(LEXICON[w]) for (one, two), w in zip(pairs, LEXICON, strict=True)
        )
        wrong = {"wolves eat rats": 2, "foxes hunt mice": 1}
        worst = max((first, second), key=lambda text: wrong.get(text, 0))
        assert " ".join(result.words) == worst  # max takes the first on ties, as it should
        assert result.charged == 3


@pytest.mark.parametrize(("gamma", "edits"), [(0.1, 1), (0.34, 1), (0.67, 2), (1.0, 3)])
def test_kappa(gamma, edits):
    (result,) = attack(TableVictim(GOLD, {}), [SENTENCE], gamma=gamma, trials=1)
    assert len(result.edited) == edits


def test_every_choice_comes_up():
    seen = [
        attack(TableVictim(GOLD, {}), [SENTENCE], seed, gamma=1.0, trials=1) for seed in range(200)
    ]
    assert {" ".join(result.words) for (result,) in seen} == set(TEXTS)


def test_order_and_company_of_sentences_do_not_matter():
    examples, lexicon = corpus(30)
    together = attack(HashVictim(), examples, lexicon=lexicon, gamma=0.5)
    alone = [attack(HashVictim(), [e], lexicon=lexicon, gamma=0.5)[0] for e in examples[::-1]]
    assert [r.words for r in together] == [r.words for r in alone[::-1]]
    assert any(result.edited for result in together)
    allowed = AttackableTags().tags
    for result in together:
        assert all(result.example.sentence.xpos[p] in allowed for p in result.edited)


def test_nothing_to_attack():
    bare = example("the of", "DT IN", (0, 1))
    (result,) = attack(TableVictim((0, 1), {}), [bare], gamma=0.5)
    assert (result.edited, result.success, result.charged) == ((), False, 1)


@pytest.mark.parametrize("settings", [{"gamma": 0.0}, {"gamma": 1.5}, {"trials": 0}])
def test_bad_settings(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        RandomSubstitution(**settings)
