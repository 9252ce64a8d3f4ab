"""Language models behind a server with OpenAI's interface, which answer by prompts."""

import json
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, cast, get_args

from robustparse.attacks.victim import Scores
from robustparse.data.read_options import Known, ReadOptions
from robustparse.errors import InputError, check_choice, check_least, check_seed
from robustparse.grammars import language_of
from robustparse.tasks.registry import named
from robustparse.types import Example
from robustparse.victims.answers import UNREADABLE
from robustparse.victims.form_answers import form_in
from robustparse.victims.label_answers import Token, label_in, label_words, probabilities_of
from robustparse.victims.prompts import TEMPLATES, drawn, rendered, template_in
from robustparse.victims.service import REFUSED, Read, Service
from robustparse.victims.transports import Body, OpenAITransport, Value, key_named

Kind = Literal["classification", "entailment", "semantic"]
"""What a model is asked for: the label of a text, the label of a pair, or a logical form."""

_ANSWER_TOKENS = {"classification": 16, "entailment": 16, "semantic": 256}
_TOP = 20  # alternatives to a token; the most that OpenAI gives
_OVERHEAD = 256  # most tokens that a server adds to a message


class Endpoint(Service):
    """A model behind a server with OpenAI's interface (``/chat/completions``).

    The prompt is the only message. The temperature is 0, and a seed is sent, so that most servers
    give equal answers to equal requests. The answer's label is the label that it names; if it names
    none or several, or is not a form of the language, it is unreadable and counts as wrong.

    Args:
        url: the base URL, such as ``http://localhost:8000/v1``.
        model: the name of the model.
        labels: the labels of the data; or, if these say nothing to a model, a mapping from each
            label to the word that stands for it in prompt and answer.
        task: ``classification`` of texts, ``entailment`` (classification of pairs), or
            ``semantic`` parsing.
        language: the language of forms; None finds it by the tokens of the examples.
        prompt: a jinja2 template of the prompt, by default that of the task. It may use ``text``,
            ``context`` (the premise), ``labels`` (the words), ``language``, and ``shots``, each
            with ``text``, ``context`` and ``answer``. It cannot run code.
        examples: a file of training examples, from which the prompt's are drawn.
        shots: how many are drawn; classes take turns.
        seed: of the draw; also sent to the server.
        scores: ``probabilities`` if the server gives the log-probabilities of tokens, else
            ``none``. By default, the first request, about a text of one word, finds out.
        answer_tokens: the most tokens of an answer; by default 16, for forms 256.
        parameters: entries to add to the request or to override in it; null removes an entry.
        **settings: see `Service`.
    """

    def __init__(
        self,
        url: str,
        model: str,
        labels: list[str] | dict[str, str] | None = None,
        *,
        task: Kind = "classification",
        language: str | None = None,
        prompt: str | None = None,
        examples: str | None = None,
        shots: int = 4,
        seed: int = 0,
        scores: Scores | None = None,
        answer_tokens: int | None = None,
        parameters: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        check_choice("victim: task", task, get_args(Kind))
        check_least("victim", answer_tokens=answer_tokens)
        check_least("victim", 0, shots=shots)
        check_seed("victim: seed", seed)
        name = "semantic" if task == "semantic" else "classification"
        words = label_words(labels)
        options = ReadOptions(known=Known(labels=[*words] or None))
        read = named(name, language).files.read
        training = [] if examples is None else read(examples, options)
        if name == "semantic" and language is None:
            language = language_of(" ".join(each.gold for each in training).split())
        super().__init__(
            url,
            name,
            labels=None if labels is None else [*words],
            training=training,
            pairs=task == "entailment",
            language=language,
            **settings,
        )
        self.check(training)
        self.model, self.kind, self.language, self.seed = model, task, language, seed
        self.parameters = parameters or {}
        self._label_words = words
        self._declared = scores
        self._answer_tokens = answer_tokens or _ANSWER_TOKENS[task]
        self._template = template_in(prompt or TEMPLATES / f"{task}.txt.j2", "victim: prompt")
        chosen = drawn(training, shots, seed, by_answer=name == "classification")
        self._shots = [self._shot(example) for example in chosen]

    @property
    def name(self) -> str:
        """The class's name and the model's."""
        return f"Endpoint {self.model}"

    @property
    def scores(self) -> Scores:
        """What was declared, or what the server does."""
        return self._declared or self._found

    @cached_property
    def _found(self) -> Scores:
        """Ask about a text of one word whether the server gives log-probabilities."""
        word = next(iter(self._label_words.values()), "a")
        body = self._completion(([word], [word]) if self.pairs else [word], logprobs=True)
        try:
            (value,) = self.values([body])
        except InputError as error:
            if error.key != REFUSED:
                raise
            value = ["", None]  # some servers refuse requests for log-probabilities
            self.keep(body, value)
        return "none" if value[1] is None else "probabilities"

    def transport(self) -> OpenAITransport:
        """See `Service.transport`."""
        key = key_named(self.key_variable)
        return OpenAITransport(self.url, key, self.timeout, self.max_concurrent)

    def request(self, text: Any) -> Body:
        """Return the chat completion that is asked for."""
        return self._completion(text, logprobs=self.scores == "probabilities")

    def _completion(self, text: Any, logprobs: bool) -> Body:
        context, words = text if self.pairs else ((), text)
        values = {
            "text": " ".join(words),
            "context": " ".join(context),
            "labels": [*self._label_words.values()],
            "language": self.language,
            "shots": self._shots,
        }
        prompt = rendered(self._template, "victim: prompt", values)
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "seed": self.seed,
            "max_tokens": self._answer_tokens,
        }
        if logprobs:
            body["logprobs"] = True
            body |= {} if self.kind == "semantic" else {"top_logprobs": _TOP}
        body |= self.parameters
        return {key: value for key, value in body.items() if value is not None}

    def accepted(self, content: Any) -> tuple[Value, int | None]:
        """Keep the text of the answer and its tokens with log-probabilities, if there are any."""
        choice = content["choices"][0]
        text = choice["message"]["content"] or ""
        if not isinstance(text, str):
            raise TypeError("the answer is not a text")
        given = (choice.get("logprobs") or {}).get("content") or None
        tokens = given and [
            [
                str(each["token"]),
                float(each["logprob"]),
                [
                    [str(top["token"]), float(top["logprob"])]
                    for top in each.get("top_logprobs") or ()
                ],
            ]
            for each in given
        ]
        usage = (content.get("usage") or {}).get("total_tokens")
        return [text, tokens], None if usage is None else int(usage)

    def expected(self) -> str:
        """Name the path of the text."""
        return "replies with choices.0.message.content"

    def most_tokens(self, body: Body) -> int:
        """Return an upper bound: a token has at least one byte."""
        request = cast(dict[str, Any], body)
        prompt = len(json.dumps(request["messages"], ensure_ascii=False).encode())
        answer = max(int(request.get(name, 0)) for name in ("max_tokens", "max_completion_tokens"))
        return prompt + answer + _OVERHEAD

    def read(self, value: Value) -> Read:
        """Return the label or form, with its probability or probabilities if they are known."""
        text, listed = value
        text = text.rpartition("</think>")[2]  # what a model says to itself is no answer
        tokens = [Token(*each) for each in listed or ()]
        if self._declared == "probabilities" and not tokens:
            raise InputError(
                "the server gives no log-probabilities",
                key="victim: scores",
                remedy="give --victim.scores none",
            )
        return self._form(text, tokens) if self.kind == "semantic" else self._label(text, tokens)

    def _label(self, text: str, tokens: Sequence[Token]) -> Read:
        label = label_in(text, self._label_words)
        if label is None:
            return Read(UNREADABLE, False)
        probabilities = probabilities_of(label, tokens, self._label_words) if tokens else None
        return Read(label if probabilities is None else (label, probabilities), True)

    def _form(self, text: str, tokens: Sequence[Token]) -> Read:
        """Return the form; its probability is the product of those of its tokens."""
        form = form_in(text, str(self.language))
        if form is None:
            return Read(text, False)
        if not tokens:
            return Read(form, True)
        return Read((form, min(1.0, math.exp(sum(each.logprob for each in tokens)))), True)

    def _shot(self, example: Example) -> dict[str, str]:
        """Return the text, the context and the answer of an example, which a prompt shows."""
        answer = example.gold if self.kind == "semantic" else self._label_words.get(example.gold)
        if answer is None:
            raise InputError(
                f"the label {example.gold!r} of line {example.line}",
                key="victim: examples",
                expected=", ".join(self._label_words),
            )
        text, context = example.sentence.words, example.sentence.context
        return {"text": " ".join(text), "context": " ".join(context), "answer": str(answer)}
