"""TranX (Yin and Neubig 2018): a decoder of the actions that build an abstract syntax tree.

An LSTM reads the action before and its own attentional state; of the frontier field it may read the
parent's rule, the field, its type, and the decoder's state at the parent's step. An action follows
from the attentional state: rules, and REDUCE as one more, are scored against each other where the
frontier field is of a composite type, tokens where it is of a primitive one. In decoding only
actions that fit the field are allowed, so that every finished hypothesis is a form of the grammar.

As in the released code the first cell state is zero and the first hidden state follows from the
encoder's last states; here, from its vectors at both ends of the utterance.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_least, check_rates
from robustparse.grammars import (
    PUNCTUATION,
    Derivation,
    Node,
    Tree,
    actions_of,
    shallow,
    with_sorted_children,
)
from robustparse.models.beam import beam_search
from robustparse.models.encoders.base import Encoder, ends
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.word_table import RESERVED
from robustparse.models.optimization import Optimization
from robustparse.models.scores import single_precision
from robustparse.models.semantic.action_stepper import ActionStepper, Reading
from robustparse.models.semantic.actions import COLUMNS, ActionNumbers, Frontier
from robustparse.models.semantic.attention import Attention, Memory
from robustparse.models.semantic.parser import SemanticParser
from robustparse.models.semantic.pointer import Pointer, columns_of
from robustparse.models.semantic.unrolled import unrolled
from robustparse.types import LogicalForm


class TranX(SemanticParser):
    """Grammar-based parser over any encoder.

    Further gold columns are those of `COLUMNS`, for `ActionNumbers`.

    Args:
        encoder: gives a vector a word; with ``copy``, one that defines `words_of`.
        action_dim: of the embeddings of actions (128, released code).
        field_dim: of those of fields (32, there).
        type_dim: of those of their types (32, there).
        hidden: of the decoder LSTM and of attentional states (256, there).
        parent_rule: the decoder reads the rule of the frontier field's parent.
        parent_field: it reads the field (for ATIS in the released code).
        parent_type: it reads the field's type.
        parent_state: it reads its own hidden state at the parent's step (for ATIS, there).
        dropout: of attentional states (0.5 for GEO and JOBS, 0.3 for ATIS, there).
        smoothing: of tokens, not of rules, in training (0.1, there); none with ``copy``, as there.
        beam: hypotheses an utterance (5).
        longest: actions of a form at most (110; 55 for JOBS, there).
        per_action: the best form has the highest log-probability divided by its number of actions
            (there); otherwise the highest log-probability.
        sort_children: learn forms with the children of ``and`` and ``or`` sorted: those with these
            heads come first, in this order, all others follow by their text (flight, from, to for
            ATIS, there). None keeps the order of the file.
        copy: tokens may also be words of the utterance, see `Pointer` (paper; off in all
            configurations of the released code). Parsers that answer together all copy, or none.
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.
        init_from: see `BiaffineParser`.
        vocabulary: given by the data module or a checkpoint.

    Raises:
        InputError: a number is out of range, the encoder cannot tell words to copy, or see
            ``initialize``.
    """

    shared_settings = ("copy",)
    columns = (*SemanticParser.columns, *COLUMNS)
    places: ClassVar[Mapping[str, str]] = {"parent_steps": "actions"}

    def __init__(
        self,
        encoder: Encoder | None = None,
        action_dim: int = 128,
        field_dim: int = 32,
        type_dim: int = 32,
        hidden: int = 256,
        parent_rule: bool = False,
        parent_field: bool = False,
        parent_type: bool = False,
        parent_state: bool = False,
        dropout: float = 0.5,
        smoothing: float = 0.1,
        beam: int = 5,
        longest: int = 110,
        per_action: bool = True,
        sort_children: list[str] | None = None,
        copy: bool = False,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), beam, longest, optimization, seed)
        sizes = {"action_dim": action_dim, "field_dim": field_dim, "type_dim": type_dim}
        check_least("TranX", hidden=hidden, **sizes)
        check_rates("TranX", dropout=dropout, smoothing=smoothing)
        self.action_dim, self.field_dim, self.type_dim = action_dim, field_dim, type_dim
        self.hidden, self.dropout, self.smoothing = hidden, dropout, smoothing
        self.parent_rule, self.parent_field = parent_rule, parent_field
        self.parent_type, self.parent_state = parent_type, parent_state
        self.per_action, self.sort_children, self.copy = per_action, sort_children, copy
        self.initialize(vocabulary, init_from)

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers."""
        dim, grammar = self.encoder.out_dim, self.numbers.grammar
        self.actions = nn.Embedding(self.numbers.unknown + 1, self.action_dim, padding_idx=0)
        read = self.action_dim + self.hidden
        if self.parent_rule:
            read += self.action_dim
        if self.parent_field:
            self.fields = nn.Embedding(1 + len(grammar.fields), self.field_dim, padding_idx=0)
            read += self.field_dim
        if self.parent_type:
            self.types = nn.Embedding(1 + len(grammar.types), self.type_dim, padding_idx=0)
            read += self.type_dim
        read += self.hidden if self.parent_state else 0
        self.first_hidden = nn.Linear(2 * dim, self.hidden)
        self.cell = nn.LSTMCell(read, self.hidden)
        self.attention = Attention(dim, self.hidden, self.hidden)
        self.query = nn.Linear(self.hidden, self.action_dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(self.numbers.unknown))
        if self.copy:
            self.encoder.words_of([])  # refuses to, if the encoder cannot
            self.pointer = Pointer(dim, self.hidden, self.numbers.tokens)
        self.reset_matrices()

    @cached_property
    def numbers(self) -> ActionNumbers:
        """Of the actions."""
        return ActionNumbers(self.language.grammar, self.vocabulary.labels)

    def columns_of(self, form: LogicalForm) -> dict[str, Sequence[int]]:
        """Add the gold actions."""
        grammar = self.language.grammar
        steps = self.numbers.steps(self.language.to_ast_of(self.learnt(form), grammar.root))
        columns = zip(*steps, strict=True)
        return super().columns_of(form) | dict(zip(COLUMNS, columns, strict=True))

    def learnt(self, form: LogicalForm) -> Tree:
        """Return the tree, its conjuncts and disjuncts sorted as `sort_children` says."""
        tree = super().learnt(form)
        if self.sort_children is None:
            return tree
        return with_sorted_children(tree, self.sort_children)

    def rebuilt(self, tree: Tree) -> Tree:
        """Build the form by its actions."""
        grammar = self.language.grammar
        node, derivation = self.language.to_ast_of(tree, grammar.root), Derivation(grammar)
        try:
            for action in actions_of(node):
                if isinstance(action, str) and action in PUNCTUATION:
                    raise InputError(f"the token {action!r}", expected="a token of letters")
                derivation = derivation.apply(action)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            expected = f"a tree of the grammar {self.language.asdl}"
            raise InputError(f"to_ast returns none: {error}", expected=expected) from error
        return self.language.from_ast(derivation.tree or node)

    def steps(self, columns: Mapping[str, Sequence[int]]) -> int:
        """Return the number of actions."""
        return len(columns["actions"])

    # Network

    def read(self, embeddings: Tensor, batch: Batch) -> Reading:
        """``(batch, units, dim)`` -> what the decoder looks at."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        start = self.first_hidden(ends(states, batch.lengths)).tanh()
        return Reading(self.attention.memory(states[:, 1:], batch.mask), start, self._words(batch))

    def _words(self, batch: Batch) -> Tensor:
        """Return the numbers of words that may be copied, as in `Reading`; hidden words may not."""
        if not self.copy:
            return batch.words[:, :0]
        words = self.encoder.words_of(batch.words.flatten().tolist())
        numbers = batch.words.new_tensor([self.numbers.number(word) for word in words])
        return numbers.view_as(batch.words) * (batch.words >= RESERVED)

    def loss(self, states: Reading, batch: Batch) -> Tensor:
        """Cross-entropy of the gold actions, ``(batch,)``."""
        columns = [batch.gold[name] for name in COLUMNS]
        actions, frontier = columns[0], Frontier(*columns[1:])
        unknown = self.numbers.unknown
        before = nn.functional.pad(actions[:, :-1].clamp(max=unknown), (1, 0))
        state = (states.start, torch.zeros_like(states.start), torch.zeros_like(states.start))
        history, attended = [torch.zeros_like(states.start)], []
        rows = torch.arange(len(actions), device=actions.device)
        layers = (self.cell, self.attention.output)
        with unrolled(layers, rows=len(actions), steps=actions.shape[1]):
            for step in range(actions.shape[1]):
                now, parents = Frontier(*(column[:, step] for column in frontier)), None
                if self.parent_state:
                    parents = torch.stack(history, dim=1)[rows, now.parent_steps]
                state = self.step(before[:, step], now, parents, state, states.memory)
                history.append(state[0])
                attended.append(state[2])
        scores = self.scores(torch.stack(attended, dim=1), states)
        return self._losses(scores, columns_of(actions, states.words, unknown)).sum(1)

    def _losses(self, scores: Tensor, actions: Tensor) -> Tensor:
        """Return the loss of each step, ``(batch, steps)``; none of padding and of unknown tokens.

        Scores have a column for a token that is not known if it is copied.
        """
        total = scores.new_zeros(actions.shape)
        rules, tokens = self.numbers.rules, slice(self.numbers.tokens.start, scores.shape[-1])
        for part in (rules, tokens):
            counted = (actions >= part.start) & (actions < part.stop)
            smoothed = self.training and part == tokens and not self.copy
            losses = nn.functional.cross_entropy(
                scores[counted][:, part],
                actions[counted] - part.start,
                reduction="none",
                label_smoothing=self.smoothing if smoothed else 0.0,
            )
            total = total.masked_scatter(counted, losses)
        return total

    def step(
        self,
        before: Tensor,
        frontier: Frontier,
        parents: Tensor | None,
        state: tuple[Tensor, Tensor, Tensor],
        memory: Memory,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Take a step; rows of an utterance are next to each other.

        Args:
            before: ``(rows,)`` numbers of the actions before.
            frontier: of each row.
            parents: ``(rows, hidden)`` hidden states at the parents' steps, of zeros where there is
                none; read if ``parent_state`` is on.
            state: hidden, cell and attentional states, each ``(rows, hidden)``.
            memory: of the utterances.

        Returns:
            The new states.
        """
        read = [self.actions(before), state[2]]
        if self.parent_rule:
            read.append(self.actions(frontier.parents))
        if self.parent_field:
            read.append(self.fields(frontier.fields))
        if self.parent_type:
            read.append(self.types(frontier.types))
        if parents is not None:
            read.append(parents)
        hidden, cell = self.cell(torch.cat(read, dim=-1), state[:2])
        attended = self.attention(hidden.view(len(memory.keys), -1, self.hidden), memory)
        attended = nn.functional.dropout(attended, self.dropout, self.training)
        return hidden, cell, attended.flatten(0, 1)

    def scores(self, attended: Tensor, reading: Reading) -> Tensor:
        """Attentional states ``(batch, n, hidden)`` -> scores of actions, ``(batch, n, unknown)``.

        With ``copy`` there are more of them, see `Pointer`.
        """
        weight = self.actions.weight[: self.numbers.unknown]
        scores = single_precision(nn.functional.linear(self.query(attended), weight, self.bias))
        if not self.copy:
            return scores
        mixed: Tensor = self.pointer(scores, attended, reading.memory, reading.words)
        return mixed

    @torch.no_grad()
    def forms(
        self,
        members: Sequence["TranX"],
        states: Sequence[Reading],
        batches: Sequence[Batch],
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return the best forms of a beam search; members share hypotheses."""
        stepper = ActionStepper(self, members, states)
        trees, scores = beam_search(
            stepper, len(batches[0]), self.beam, self.longest, per_action=self.per_action
        )
        return list(map(self._answer, trees)), scores.double().exp().cpu().numpy()

    def _printed(self, tree: Node) -> str:
        """Return the form of a tree."""
        with shallow():
            return self.language.unparse(self.language.from_ast(tree))

    def _answer(self, tree: Node | None) -> str:
        """Return a form; an empty one where there is no tree, or the language cannot write it."""
        try:
            return "" if tree is None else self._printed(tree)
        except InputError:  # such as a conjunction of nothing in Prolog, which the grammar allows
            return ""
