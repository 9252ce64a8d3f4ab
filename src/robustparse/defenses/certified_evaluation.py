"""Certified scores during training: certifies a fixed sample of development sentences."""

import pytorch_lightning as pl

from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.allowed_inputs import Edits
from robustparse.certificates.exhaustion import Exhaustive
from robustparse.defenses.requirements import check_only_one, development_sample, model_of
from robustparse.devices import gathered
from robustparse.errors import check_least, check_seed
from robustparse.evaluation.certificate_records import CertificateRecord, certificate_record
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.metrics import PunctuationPolicy, percent
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

OWNER = "certified evaluation"


class CertifiedEvaluation(pl.Callback):
    """Logs ``certified/SCORE``, such as ``certified/las``, and ``certified/undecided``.

    A certified score is the percentage of answers that are right on every input that the table
    allows; undecided answers count as wrong. ``certified/undecided`` is the percentage of sentences
    with an undecided answer: if it is high, raise the cap or certify fewer edits.

    Sentences are divided over the processes, and the values do not depend on their number. They are
    logged at the end of an epoch, after the validation: an ``EarlyStopping`` on them must follow
    this callback and set ``check_on_train_epoch_end``.

    Args:
        table: the words that may take the place of a word: a table, or the file of one.
        edits: how many words may be changed at once: a number from 1, or ``all``.
        cap: the most inputs of a sentence that are tried; fewer than in `robustparse.certify`,
            since a model without an encoding reads very many.
        every_n_epochs: certify after every Nth epoch.
        sentences: number of sentences, drawn once from the development data.
        seed: the seed of the draw.
        punctuation: which punctuation is left out of the scores of parsers.

    Raises:
        InputError: a number is out of range, or the table cannot be read.
    """

    def __init__(
        self,
        table: SubstitutionTable | str,
        *,
        edits: Edits = "all",
        cap: int = 1000,
        every_n_epochs: int = 1,
        sentences: int = 100,
        seed: int = 0,
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        check_least(OWNER, every_n_epochs=every_n_epochs, sentences=sentences)
        check_seed(f"{OWNER}: seed", seed)
        if not isinstance(table, SubstitutionTable):
            table = SubstitutionTable.read(table)
        self.exhaustive = Exhaustive(table, [edits], cap, punctuation)
        self.every_n_epochs, self.sentences, self.seed = every_n_epochs, sentences, seed
        self._sample: list[Example] = []

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Draw the sample.

        Raises:
            InputError: the model is not one of robustparse; there is another certified evaluation;
                or a sentence of the sample cannot be read.
        """
        model = model_of(pl_module, OWNER)
        remedy = ", and certify at other numbers of edits with robustparse certify"
        check_only_one(trainer, CertifiedEvaluation, OWNER, remedy)
        self._sample, _ = development_sample(
            trainer, model, self.sentences, self.seed, OWNER, self.exhaustive.punctuation
        )

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Certify with the current weights and log the scores."""
        if (trainer.current_epoch + 1) % self.every_n_epochs:
            return
        model = model_of(pl_module, OWNER)
        scores = CertifiedScores(model.task, self.exhaustive.edits)
        for record in gathered(self._certify(trainer, model)):
            scores.add(record)
        ((_, bounds),) = scores.certified().items()
        for name, value in bounds["lower"].items():
            if value is not None:
                model.log(f"certified/{name}", value, prog_bar=name == model.task.scores.headline)
        if scores.sentences:
            model.log("certified/undecided", percent(bounds["undecided"], scores.sentences))

    def _certify(self, trainer: pl.Trainer, model: Model) -> list[CertificateRecord]:
        """Certify this process's sentences."""
        victim = ModelVictim([model])
        share = self._sample[trainer.global_rank :: trainer.world_size]
        with trainer.precision_plugin.forward_context():
            return [
                certificate_record(model.task, victim, certificate, self.exhaustive.edits)
                for certificate in self.exhaustive.certificates(share, victim, Statistics())
            ]
