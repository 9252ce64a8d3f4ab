"""Phrase-level attacks of Zheng et al. 2020: what holds for the black box and the white box."""

import pytest
from attack_fakes import GradientVictim, HashVictim, example
from phrase_attacks import attacked

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.gradient_substitution import NearestWord
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.zheng2020_phrase import PhraseBlackBox, PhraseWhiteBox
from robustparse.errors import InputError


def test_a_sentence_without_pairs_is_told_apart() -> None:
    one = example("a b c", "NN NN NN", (2, 0, 2))
    for search in (PhraseBlackBox(), PhraseWhiteBox(substitution=NearestWord(alpha=4.0))):
        result = attacked(search, HashVictim(), one)
        assert (result.targeted, result.success, result.edited) == (False, False, ())
        assert result.charged == 1


@pytest.mark.parametrize("search", [PhraseBlackBox(), PhraseWhiteBox()])
def test_another_goal_names_no_phrases(search: Search) -> None:
    attack = Attack(Lexicon({}), search, [AttackableTags()], goal=AttachmentDrop())
    with pytest.raises(InputError) as error:
        list(attack.run([example("a b", "NN NN", (0, 1))], GradientVictim((0, 1), {}, {}, {})))
    remedy = "use the goal `robustparse.attacks.PhraseDrop`"
    assert (error.value.key, error.value.remedy) == ("search", remedy)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PhraseBlackBox(trials=0), "trials must be >= 1"),
        (lambda: PhraseBlackBox(at_once=0), "at_once must be >= 1"),
        (lambda: PhraseBlackBox(edits="all"), "edits must be one of up_to, exactly"),
        (lambda: PhraseWhiteBox(kappa=0), "kappa must be >= 1"),
        (lambda: PhraseWhiteBox(pairs=0), "pairs must be >= 1"),
        (lambda: PhraseWhiteBox(loss="hinge"), "loss must be one of margin, cross_entropy"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
