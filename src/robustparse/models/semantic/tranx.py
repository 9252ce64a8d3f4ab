"""TranX (Yin and Neubig 2018): a decoder of the actions that build an abstract syntax tree.

At each step an LSTM reads the previous action and the previous attentional state, and optionally
the parent's rule, the frontier field, its type, and the decoder state at the parent's step. The new
attentional state predicts the next action. If the frontier field has a composite type, the actions
are rules and REDUCE; if it has a primitive type, they are tokens. Decoding allows only actions that
fit the field, so that every finished hypothesis is a form of the grammar.

As in the released code, the first cell state is zero. The first hidden state is a map of the
encoder's vectors at both ends of the utterance instead of the encoder's last states.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

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
    Language,
    Node,
    Tree,
    actions_of,
    language_calls,
    with_sorted_children,
)
from robustparse.models.beam_search import JointStepper, beam_search
from robustparse.models.decisions import Decisions
from robustparse.models.encoders.base import Encoder, ends
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.word_table import RESERVED
from robustparse.models.mean_scores import mean_scores, single_precision
from robustparse.models.semantic.actions import COLUMNS, ActionNumbers, Frontier
from robustparse.models.semantic.attention import Attention, Memory
from robustparse.models.semantic.form_codec import FormCodec
from robustparse.models.semantic.history import History
from robustparse.models.semantic.parser import SemanticParser
from robustparse.models.semantic.pointer import Pointer, columns_of
from robustparse.models.semantic.unrolled import unrolled
from robustparse.types import LogicalForm


@dataclass
class Encoding:
    """The encoder's output.

    Args:
        memory: what the decoder attends to.
        start: ``(batch, hidden)`` the decoder's first hidden state.
        words: ``(batch, length)`` the words as numbers of tokens, for copying; 0 on padding.
            ``(batch, 0)`` without copying.
    """

    memory: Memory
    start: Tensor
    words: Tensor

    def of(self, texts: Tensor) -> "Encoding":
        """Select texts, ``(texts,)``."""
        return Encoding(self.memory.of(texts), self.start[texts], self.words[texts])


class ActionCodec(FormCodec):
    """Forms as actions; adds the gold columns `COLUMNS`.

    Args:
        language: the language of the forms.
        numbers: numbers the actions.
        sort_children: see `TranX`.
    """

    columns = (*FormCodec.columns, *COLUMNS)
    places: ClassVar[Mapping[str, str]] = {"parent_steps": "actions"}

    def __init__(
        self, language: Language, numbers: ActionNumbers, sort_children: Sequence[str] | None
    ) -> None:
        super().__init__(language)
        self.numbers, self.sort_children = numbers, sort_children

    def columns_of(self, form: LogicalForm) -> dict[str, Sequence[int]]:
        """Return the meaning and the actions."""
        grammar = self.language.grammar
        steps = self.numbers.steps(self.language.to_ast_of(self.learnt(form), grammar.root))
        columns = zip(*steps, strict=True)
        return super().columns_of(form) | dict(zip(COLUMNS, columns, strict=True))

    def learnt(self, form: LogicalForm) -> Tree:
        """Return the tree with its conjuncts and disjuncts sorted, see `sort_children`."""
        tree = super().learnt(form)
        if self.sort_children is None:
            return tree
        return with_sorted_children(tree, self.sort_children)

    def rebuilt(self, tree: Tree) -> Tree:
        """Return the tree that the actions of a tree build."""
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


class TranX(SemanticParser[Encoding]):
    """Grammar-based parser over any encoder.

    Args:
        encoder: returns a vector for each word; ``copy`` needs an encoder with `words_of`.
        action_dim: width of action embeddings (128 in the released code, as all defaults).
        field_dim: width of field embeddings (32).
        type_dim: width of type embeddings (32).
        hidden: width of the decoder LSTM and of attentional states (256).
        parent_rule: the decoder reads the rule of the frontier field's parent.
        parent_field: the decoder reads the frontier field (for ATIS in the released code).
        parent_type: the decoder reads the frontier field's type.
        parent_state: the decoder reads its hidden state at the parent's step (for ATIS).
        dropout: dropout rate of attentional states (0.5 for GEO and JOBS, 0.3 for ATIS).
        smoothing: label smoothing of tokens in training (0.1); none with ``copy``.
        beam: beam size (5).
        longest: the most actions of a form (110; 55 for JOBS).
        per_action: compare hypotheses by their log-probability divided by the number of actions,
            instead of by their log-probability.
        sort_children: learn forms with sorted children of ``and`` and ``or``: first children with
            these heads, in this order, then all others by their text (flight, from, to for ATIS in
            the released code). None keeps the order of the file.
        copy: tokens may also be words of the utterance, see `Pointer` (in the paper; no
            configuration of the released code copies). The members of an ensemble must agree.
        base: see `Model`.

    Raises:
        InputError: a number is out of range, the encoder has no words to copy, or see
            ``initialize``.
    """

    shared_settings = ("copy",)

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
        **base: Any,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), beam, longest, **base)
        sizes = {"action_dim": action_dim, "field_dim": field_dim, "type_dim": type_dim}
        check_least("TranX", hidden=hidden, **sizes)
        check_rates("TranX", dropout=dropout, smoothing=smoothing)
        self.action_dim, self.field_dim, self.type_dim = action_dim, field_dim, type_dim
        self.hidden, self.dropout, self.smoothing = hidden, dropout, smoothing
        self.parent_rule, self.parent_field = parent_rule, parent_field
        self.parent_type, self.parent_state = parent_type, parent_state
        self.per_action, self.sort_children, self.copy = per_action, sort_children, copy
        self.initialize()

    def make_codec(self, vocabulary: Vocabulary) -> ActionCodec:
        """See `Model`."""
        return ActionCodec(self.language, self.numbers, self.sort_children)

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
            self.encoder.words_of([])  # raises an error if the encoder has no words
            self.pointer = Pointer(dim, self.hidden, self.numbers.tokens)
        self.reset_matrices()

    def uncoded(self, vocabulary: Vocabulary) -> Collection[str]:
        """See `Model`: tokens of forms, if they are copied; other words are copied as codes."""
        return frozenset(map(str.lower, vocabulary.labels)) if self.copy else ()

    @cached_property
    def numbers(self) -> ActionNumbers:
        """Numbers the actions."""
        return ActionNumbers(self.language.grammar, self.vocabulary.labels)

    # Network

    def states_of(self, embeddings: Tensor, batch: Batch) -> Encoding:
        """See `Model`."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        start = self.first_hidden(ends(states, batch.lengths)).tanh()
        return Encoding(self.attention.memory(states[:, 1:], batch.mask), start, self._words(batch))

    def _words(self, batch: Batch) -> Tensor:
        """Return the words for copying, see `Encoding`; reserved words cannot be copied."""
        if not self.copy:
            return batch.words[:, :0]
        words = self.encoder.words_of(batch.words.flatten().tolist())
        numbers = batch.words.new_tensor([self.numbers.number(word) for word in words])
        return numbers.view_as(batch.words) * (batch.words >= RESERVED)

    def loss(self, states: Encoding, batch: Batch) -> Tensor:
        """Cross-entropy of the gold actions, ``(batch,)``."""
        return self._losses(*self._gold_scores(states, batch)).sum(1)

    def decisions(self, states: Encoding, batch: Batch) -> list[Decisions]:
        """See `Model`: the next rule or the next token of each step, after the gold actions."""
        scores, actions = self._gold_scores(states, batch)
        return [
            Decisions.of(counted.nonzero()[:, 0], scores[counted][:, kind])
            for kind, counted in self._kinds(scores, actions)
        ]

    def _gold_scores(self, states: Encoding, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the scores of actions after the gold actions, and the columns of gold actions.

        ``(batch, steps, columns)``, see `scores`, and ``(batch, steps)``.
        """
        columns = [batch.gold[name] for name in COLUMNS]
        actions, frontier = columns[0], Frontier(*columns[1:])
        unknown = self.numbers.unknown
        previous = nn.functional.pad(actions[:, :-1].clamp(max=unknown), (1, 0))
        state = (states.start, torch.zeros_like(states.start), torch.zeros_like(states.start))
        history, attended = [torch.zeros_like(states.start)], []
        rows = torch.arange(len(actions), device=actions.device)
        layers = (self.cell, self.attention.output)
        with unrolled(layers, rows=len(actions), steps=actions.shape[1]):
            for step in range(actions.shape[1]):
                fields, parents = Frontier(*(column[:, step] for column in frontier)), None
                if self.parent_state:
                    parents = torch.stack(history, dim=1)[rows, fields.parent_steps]
                state = self.step(previous[:, step], fields, parents, state, states.memory)
                history.append(state[0])
                attended.append(state[2])
        scores = self.scores(torch.stack(attended, dim=1), states)
        return scores, columns_of(actions, states.words, unknown)

    def _kinds(self, scores: Tensor, actions: Tensor) -> list[tuple[slice, Tensor]]:
        """Return the columns of rules and those of tokens, each with its steps, ``(batch, steps)``.

        Padding is neither, and neither are unknown tokens that cannot be copied.
        """
        kinds = (self.numbers.rules, slice(self.numbers.tokens.start, scores.shape[-1]))
        return [(kind, (actions >= kind.start) & (actions < kind.stop)) for kind in kinds]

    def _losses(self, scores: Tensor, actions: Tensor) -> Tensor:
        """Return the loss of each step, ``(batch, steps)``; 0 for steps of no kind."""
        total = scores.new_zeros(actions.shape)
        for kind, counted in self._kinds(scores, actions):
            smoothed = self.training and kind != self.numbers.rules and not self.copy
            losses = nn.functional.cross_entropy(
                scores[counted][:, kind],
                actions[counted] - kind.start,
                reduction="none",
                label_smoothing=self.smoothing if smoothed else 0.0,
            )
            total = total.masked_scatter(counted, losses)
        return total

    def step(
        self,
        previous: Tensor,
        frontier: Frontier,
        parents: Tensor | None,
        state: tuple[Tensor, Tensor, Tensor],
        memory: Memory,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Take a step; rows of an utterance are next to each other.

        Args:
            previous: ``(rows,)`` numbers of the previous actions.
            frontier: the frontier field of each row.
            parents: ``(rows, hidden)`` hidden states at the parents' steps, zeros without a parent;
                None if they are not read.
            state: hidden, cell and attentional states, each ``(rows, hidden)``.
            memory: what the decoder attends to.

        Returns:
            The new states.
        """
        inputs = [self.actions(previous), state[2]]
        if self.parent_rule:
            inputs.append(self.actions(frontier.parents))
        if self.parent_field:
            inputs.append(self.fields(frontier.fields))
        if self.parent_type:
            inputs.append(self.types(frontier.types))
        if parents is not None:
            inputs.append(parents)
        hidden, cell = self.cell(torch.cat(inputs, dim=-1), state[:2])
        attended = self.attention(hidden.view(len(memory.keys), -1, self.hidden), memory)
        attended = nn.functional.dropout(attended, self.dropout, self.training)
        return hidden, cell, attended.flatten(0, 1)

    def scores(self, attended: Tensor, encoding: Encoding) -> Tensor:
        """Score actions from attentional states, ``(batch, n, hidden)``: ``(batch, n, unknown)``.

        With ``copy`` there are more columns, see `Pointer`.
        """
        weight = self.actions.weight[: self.numbers.unknown]
        scores = single_precision(nn.functional.linear(self.query(attended), weight, self.bias))
        if not self.copy:
            return scores
        mixed: Tensor = self.pointer(scores, attended, encoding.memory, encoding.words)
        return mixed

    @torch.no_grad()
    def forms(
        self,
        members: Sequence["TranX"],
        states: Sequence[Encoding],
        batches: Sequence[Batch],
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return the best forms of a beam search; members share hypotheses."""
        stepper = ActionStepper(self, members, states)
        trees, scores = beam_search(
            stepper, len(batches[0]), self.beam, self.longest, per_action=self.per_action
        )
        return list(map(self._printed, trees)), scores.double().exp().cpu().numpy()

    def _printed(self, tree: Node | None) -> str:
        """Return the form of a tree; empty without a tree, or if it has no form in the language."""
        if tree is None:
            return ""
        try:
            with language_calls(self.language, "from_ast"):
                return self.language.unparse(self.language.from_ast(tree))
        except InputError:  # such as an empty conjunction in Prolog, which the grammar allows
            return ""


class ActionStepper(JointStepper["_Member"]):
    """Extends derivations action by action; see `JointStepper`."""

    def __init__(
        self, first: TranX, parsers: Sequence[TranX], encodings: Sequence[Encoding]
    ) -> None:
        super().__init__(len(encodings[0].start), first.beam, first.device)
        self.first, rows = first, self.texts
        pairs = zip(parsers, encodings, strict=True)
        self.members = [_Member(parser, encoding, rows) for parser, encoding in pairs]
        self.derivations = [Derivation(first.numbers.grammar)] * len(rows)
        self.previous = torch.zeros_like(rows)
        words = encodings[0].words
        known = torch.arange(first.numbers.unknown, device=rows.device)
        # The number of the action in each column of the scores, [texts, columns].
        self.actions = torch.cat([known.expand(len(words), -1), words], dim=1)
        masks = first.numbers.masks.to(rows.device)
        # Words can be copied wherever tokens fit.
        copied = first.numbers.for_tokens.to(rows.device)
        self.masks = torch.cat([masks, copied.expand(-1, words.shape[1])], dim=1)
        self.kinds, self.frontier = self._frontiers()

    @property
    def finished(self) -> Tensor:
        """See `Stepper`."""
        return self.kinds == 0

    def scores(self) -> Tensor:
        """See `Stepper`; rules have one softmax and tokens another, before the masks."""
        numbers = self.first.numbers
        by_member = [member.step(self.previous, self.frontier) for member in self.members]
        scores = torch.full_like(by_member[0], float("-inf"))
        for kind in (numbers.rules, slice(numbers.tokens.start, None)):
            of_kind = [scores_of_member[:, kind] for scores_of_member in by_member]
            scores[:, kind] = mean_scores(of_kind, self.first.mean).log_softmax(-1)
        scores.masked_fill_(~self.masks[self.kinds], float("-inf"))
        scores[self.finished, 0] = 0.0
        return scores

    def select(self, rows: Tensor) -> None:
        """See `Stepper`."""
        super().select(rows)
        self.derivations = [self.derivations[row] for row in rows.tolist()]
        self.previous, self.kinds = self.previous[rows], self.kinds[rows]
        self.frontier = Frontier(*(column[rows] for column in self.frontier))

    def take(self, actions: Tensor) -> Tensor:
        """See `Stepper`; an action has no details, and finished hypotheses take action 0.

        If fewer actions are allowed than the beam is wide, hypotheses of probability 0 take an
        action that is not allowed. They stay unchanged and are never chosen.
        """
        numbers = self.actions[self.texts, actions]
        self.previous = numbers.clamp(max=self.first.numbers.unknown)
        fitting = self.masks[self.kinds, actions] & (numbers > 0)
        self.derivations = [
            derivation.apply(self.first.numbers.action(number)) if fits else derivation
            for derivation, number, fits in zip(
                self.derivations, numbers.tolist(), fitting.tolist(), strict=True
            )
        ]
        self.kinds, self.frontier = self._frontiers()
        return torch.zeros(len(actions), device=actions.device)

    def keep(self, texts: Tensor) -> None:
        """See `Stepper`."""
        super().keep(texts)
        self.actions = self.actions[texts]

    def answer(self, row: int) -> Node | None:
        """Return the tree of a hypothesis; None if it is not finished."""
        return self.derivations[row].tree

    def _frontiers(self) -> tuple[Tensor, Frontier]:
        """Return the frontier fields' rows of `masks`, and what the decoder may read of them."""
        kinds = [self.first.numbers.kind(derivation) for derivation in self.derivations]
        steps = [1 + derivation.parent_step for derivation in self.derivations]
        parents, fields, types, masks = torch.tensor(kinds, device=self.previous.device).T
        parent_steps = torch.tensor(steps, device=self.previous.device)
        return masks, Frontier(parents, fields, types, parent_steps)


class _Member:
    """The decoder of one parser during a search."""

    def __init__(self, parser: TranX, encoding: Encoding, rows: Tensor) -> None:
        self.parser, self.encoding = parser, encoding
        start = encoding.start[rows]
        self.state = (start, torch.zeros_like(start), torch.zeros_like(start))
        self.history = History(torch.zeros_like(start)) if parser.parent_state else None

    def step(self, previous: Tensor, frontier: Frontier) -> Tensor:
        """Read actions, ``(rows,)``, and score the next ones."""
        history = self.history
        parents = None if history is None else history.at(frontier.parent_steps)
        self.state = self.parser.step(previous, frontier, parents, self.state, self.encoding.memory)
        if history is not None:
            history.append(self.state[0])
        # [texts, width, hidden]
        attended = self.state[2].view(len(self.encoding.start), -1, self.state[2].shape[1])
        return self.parser.scores(attended, self.encoding).flatten(0, 1)

    def select(self, rows: Tensor) -> None:
        """See `Member`."""
        hidden, cell, attended = self.state
        self.state = (hidden[rows], cell[rows], attended[rows])
        if self.history is not None:
            self.history.select(rows)

    def keep(self, texts: Tensor) -> None:
        """See `Member`."""
        self.encoding = self.encoding.of(texts)
