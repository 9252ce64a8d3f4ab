"""ASCC: agreement on sparse convex combinations of substitutes (Dong et al. 2021, section 4).

A word w_i may be replaced by candidates v_i1, v_i2, ... of a substitution table; v_i0 is w_i. The
adversary moves the word's vector inside the convex hull of its candidates' vectors E(v_ij):

    e_i = sum_j p_ij E(v_ij),    p_i = softmax(u_i),    u_ij ~ N(0, 1) at the start

Inner: K steps of Adam on u minimise, with f and E constant, for each text

    -KL(f(x) || f(e)) + alpha * mean_i H(p_i)

The entropy H makes the combination sparse: p_i prefers one real word. Outer: the model learns

    loss(f(x), y) + beta * KL(f(x) || f(e))

with gradients through f(x) and f(e), where p is constant. E(v_ij) is trained too, even for
substitutes that no training text contains. f is the distribution of each decision of the model
(`Model.decisions`): heads and labels, the steps of a logical form, or the class.

The inner KL is the mean over the decisions of a text, and the entropy the mean over its words; the
outer KL is summed and divided like the loss. The search for a text thus does not depend on the
other texts of its batch, nor the effect of alpha on the length of the text. The released code
differs: its inner KL is the sum over the batch, while its entropy is the mean over all words and
padding, so that the effect of its alpha (15) depends on both; u starts from Kaiming's distribution,
whose variance depends on the length; and the inner steps run without dropout, which costs one more
pass for f(x).
"""

from functools import partial
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.data.batch import Batch
from robustparse.data.datamodule import DataModule
from robustparse.defenses.agreement import Agreement
from robustparse.defenses.gradient_adversary import (
    OWNER,
    GradientAdversary,
    check_not_negative,
    check_positive,
    sentence_stream,
)
from robustparse.defenses.requirements import check_decisions, model_of
from robustparse.defenses.word_hulls import Hulls, HullTable
from robustparse.errors import InputError, check_least
from robustparse.models.base import Model
from robustparse.models.decisions import Decisions, divergence
from robustparse.models.encoders.canine import CanineEncoder
from robustparse.models.encoders.pretrained import PretrainedEncoder


class ASCC(GradientAdversary):
    """Trains a model to answer a text and the worst mixture of its words' substitutes alike.

    A training step costs as much as K + 2 clean steps: one for the text, K for the search, one for
    the mixture. The weights of candidates start from (seed, epoch, sentence id). ``train/loss``
    is the whole loss, and ``train/agreement`` is the KL in it, without beta; it is 0 in steps
    without the adversary.

    Args:
        table: a substitution table that ``robustparse substitutes`` wrote.
        steps: K, the steps of Adam on u (10).
        step_size: the learning rate of these steps; None takes 10, or 1 over a pretrained encoder,
            as in the paper.
        alpha: weight of the entropy (10).
        beta: weight of the agreement (4).
        most: the most substitutes of a word; the best ones are used (20).
        weight_decay: the weight decay of Adam on u (2e-5, released code).
        same_dropout: use the same dropout masks in all passes over a batch; otherwise each pass
            draws new masks.
        seed: the seed of the start of u.
        start_step: the first optimizer step with the adversary, from 0.
        every: from then on, the adversary joins every Nth step.

    Raises:
        InputError: a setting is out of range. When training starts: the table cannot be read or has
            no word of the training data, the model has no `decisions`, its encoder reads characters
            without words, or the resumed run used another table.
    """

    def __init__(
        self,
        table: str,
        *,
        steps: int = 10,
        step_size: float | None = None,
        alpha: float = 10.0,
        beta: float = 4.0,
        most: int = 20,
        weight_decay: float = 2e-5,
        same_dropout: bool = True,
        seed: int = 0,
        start_step: int = 0,
        every: int = 1,
    ) -> None:
        super().__init__(steps=steps, seed=seed, start_step=start_step, every=every)
        check_least(OWNER, most=most)
        check_positive(beta=beta, step_size=step_size)
        check_not_negative(alpha=alpha, weight_decay=weight_decay)
        self.table, self.step_size, self.most = table, step_size, most
        self.alpha, self.weight_decay = alpha, weight_decay
        self.agreement = Agreement(beta, same_dropout)
        self._resumed_digest = ""  # of the table of the run that is resumed
        self._digest = ""  # of the table
        self._hulls: HullTable | None = None

    @property
    def passes_per_step(self) -> int:
        """See ``GradientAdversary``: the text, the steps of the search, and the mixture."""
        return self.steps + 2

    # The method

    def mixture(
        self, trainer: pl.Trainer, model: Model, batch: Batch, clean: list[Decisions]
    ) -> list[Decisions]:
        """Return f(e), the answers to the worst mixtures of a batch's words and substitutes.

        Args:
            trainer: the running trainer.
            model: the trained model.
            batch: the texts.
            clean: f(x).
        """
        if self._hulls is None:
            raise RuntimeError("on_fit_start has not been called")
        embeddings, hulls = model.embed(batch), self._hulls.of(batch)
        weights = self.search(trainer, model, batch, embeddings.detach(), hulls.detach(), clean)
        return self.agreement.answers(model, hulls.mixed(embeddings, weights), batch)

    def search(
        self,
        trainer: pl.Trainer,
        model: Model,
        batch: Batch,
        embeddings: Tensor,
        hulls: Hulls,
        clean: list[Decisions],
    ) -> Tensor:
        """Return the weights p of the candidates after K steps, ``(words, candidates)``.

        Args:
            trainer: the running trainer.
            model: the model; its parameters get no gradient.
            batch: the texts.
            embeddings: the embeddings of the batch, ``(batch, units, dim)``, without gradient.
            hulls: the candidates, without gradient.
            clean: f(x), the decisions on the texts.
        """
        # At least single precision, since half precision would lose small steps.
        dtype = torch.promote_types(embeddings.dtype, torch.float32)
        start = self._start(trainer.current_epoch, batch, hulls)
        u = start.to(embeddings.device, dtype).requires_grad_()
        clean = [decisions.detach() for decisions in clean]
        rate = self.step_size or (1.0 if isinstance(model.encoder, PretrainedEncoder) else 10.0)
        adam = torch.optim.Adam([u], rate, weight_decay=self.weight_decay)
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        for _ in range(self.steps if len(u) else 0):
            log_p = _log_weights(u, hulls.valid)
            mixed = self.agreement.answers(model, hulls.mixed(embeddings, log_p.exp()), batch)
            total, number = divergence(clean, mixed, len(batch))
            # Candidates that do not exist have p = 0.
            entropy = -(log_p.exp() * log_p.masked_fill(~hulls.valid, 0.0)).sum(1)
            entropies = torch.zeros_like(total).index_add(0, hulls.texts, entropy.to(total))
            loss = -total / number.clamp(min=1) + self.alpha * entropies / batch.lengths
            # Half precision would round small gradients to zero, unless the loss is scaled.
            scale = 1.0 if scaler is None else scaler.get_scale()
            (gradient,) = torch.autograd.grad(loss.sum() * scale, u)
            u.grad = gradient / scale
            adam.step()
        return _log_weights(u.detach(), hulls.valid).exp()

    def _start(self, epoch: int, batch: Batch, hulls: Hulls) -> Tensor:
        """Draw u from N(0, 1), ``(words, candidates)``; each text has its own random stream."""
        size = hulls.valid.shape[1]
        words = torch.bincount(hulls.texts, minlength=len(batch)).tolist()
        drawn = [
            # Always for the largest number of candidates, so that draws do not depend on the batch.
            sentence_stream(self.seed, epoch, id_).standard_normal((count, 1 + self.most))[:, :size]
            for id_, count in zip(batch.ids.tolist(), words, strict=True)
        ]
        return torch.from_numpy(np.concatenate(drawn))

    # Hooks

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Read the table; check that it fits the model, the data and the continued run."""
        super().on_fit_start(trainer, pl_module)
        model, table = model_of(pl_module, OWNER), SubstitutionTable.read(self.table)
        check_decisions(model, OWNER)
        if isinstance(model.encoder, CanineEncoder):
            raise InputError(
                f"{type(model.encoder).__name__} reads characters, and ASCC mixes vectors of words "
                "or word pieces",
                key=f"{OWNER}: model",
                remedy="take another encoder, or another gradient adversary",
            )
        data = getattr(trainer, "datamodule", None)
        if isinstance(data, DataModule):
            words = (word for example in data.train_examples for word in example.sentence.words)
            if not any(table.substitutes.get(word.lower()) for word in words):
                problem = "has a substitute of no word in the training data"
                raise InputError(problem, path=self.table, remedy="make the table from these data")
        self._digest = table.digest
        if self._resumed_digest and self._resumed_digest != self._digest:
            raise InputError(
                "differs from the table of the run that is resumed",
                path=self.table,
                remedy="restore the table, or start a new run",
            )
        self._hulls = HullTable(model, table, self.most)

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Replace the model's loss if the adversary joins this step."""
        if self.joins(trainer.global_step):
            model = model_of(pl_module, OWNER)
            self.agreement.begin(trainer, model, partial(self.mixture, trainer, model))

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any, **__: Any
    ) -> None:
        """Log the agreement and detach from the model."""
        self.agreement.end(pl_module)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Detach from the model."""
        self.agreement.release(pl_module)

    def state_dict(self) -> dict[str, Any]:
        """Return the digest of the table, which a resumed run must have too."""
        return {"table": self._digest}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the digest of the table of the resumed run."""
        self._resumed_digest = str(state_dict.get("table", ""))


def _log_weights(u: Tensor, valid: Tensor) -> Tensor:
    """Return the log-softmax over valid candidates, ``(words, candidates)``; -inf for others."""
    return u.masked_fill(~valid, float("-inf")).log_softmax(1)
