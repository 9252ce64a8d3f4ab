"""Scores on perturbed copies of utterances that have raw texts."""

from pathlib import Path

import numpy as np
import pytest

from robustparse.data.vocab import Vocabulary
from robustparse.evaluation.clean import predictions
from robustparse.evaluation.perturbed import perturbed_answers, perturbed_scores, perturbed_sums
from robustparse.models import LSTMEncoder, ModelVictim, Seq2Seq
from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.tasks.semantic import semantic_task
from robustparse.types import Sentence

RAW = 'show me rivers in new york .\tshow me river in s0\t( a s0 )\t{"s0": "new york"}\n'


class SecondWord(Perturbation):
    """Puts another word in the place of the second one."""

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        words = [*sentence.words]
        words[1] = "us"
        return Rewording(tuple(words), tuple(range(len(words))))


def test_changed_words_are_a_share_of_the_words_that_operations_see(tmp_path: Path) -> None:
    """One of seven raw words; slots and stems are five."""
    (tmp_path / "raw.tsv").write_text(RAW)
    examples = semantic_task().files.read(tmp_path / "raw.tsv")
    parser = Seq2Seq(
        LSTMEncoder(4, 3, 4, hidden=4, layers=1),
        hidden=8,
        vocabulary=Vocabulary.from_examples(examples, min_count=1),
    )
    victim = ModelVictim([parser])
    clean = list(predictions(victim, examples))
    answered = [*perturbed_answers(victim, examples, clean, [SecondWord()], 0)]
    sums = perturbed_sums(victim.task, examples, answered)
    (scores,) = perturbed_scores(victim.task, sums).values()
    assert len(examples[0].sentence) == 5
    assert scores["changed_words"] == pytest.approx(100 / 7)
    assert scores["changed_sentences"] == 100.0
