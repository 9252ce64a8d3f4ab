"""Any service that takes JSON and answers with JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from robustparse.errors import InputError, reason
from robustparse.grammars import language_of
from robustparse.victims.answers import UNREADABLE
from robustparse.victims.form_answers import form_in
from robustparse.victims.label_answers import label_words
from robustparse.victims.prompts import rendered, template_in, template_of
from robustparse.victims.service import Read, Service
from robustparse.victims.transports import Body, HttpTransport, Value, key_named


class Http(Service):
    """A service that is sent one text per POST request and answers with a label or a form.

    Args:
        url: the address.
        request: the JSON body, a jinja2 template of ``text`` and, for pairs, ``context``, such as
            ``{"inputs": {{ text | tojson }}}``; or the file of such a template.
        answer: where the answer is in the reply: names and, for lists, numbers from 0, separated by
            dots, such as ``predictions.0.label``. An answer that is none of the labels is
            unreadable and counts as wrong.
        labels: all labels that the service may answer; or, if the data have others, a mapping from
            each label of the data to the service's; without labels, it answers forms.
        probabilities: where the probabilities of the labels are: a list in the order of ``labels``,
            an object from labels to numbers, or a list of objects with ``label`` and ``score``.
            None: the service gives none, and is attacked by its labels only.
        pairs: whether it reads pairs of texts.
        language: the language of forms; None finds it by their tokens.
        headers: further headers of each request. A key does not belong here.
        key_variable: the environment variable that holds the key. None, or a variable that is not
            set: no key is sent.
        key_header: the header with the key; in ``Authorization``, "Bearer" comes before it.
        **settings: see `Service`.
    """

    def __init__(
        self,
        url: str,
        request: str,
        answer: str,
        labels: list[str] | dict[str, str] | None = None,
        *,
        probabilities: str | None = None,
        pairs: bool = False,
        language: str | None = None,
        headers: dict[str, str] | None = None,
        key_variable: str = "SERVICE_KEY",
        key_header: str = "Authorization",
        **settings: Any,
    ) -> None:
        words = label_words(labels)
        super().__init__(
            url,
            "semantic" if labels is None else "classification",
            labels=None if labels is None else [*words],
            pairs=pairs,
            language=language,
            scores="none" if probabilities is None else "probabilities",
            key_variable=key_variable,
            **settings,
        )
        self.answer_path, self.probabilities = answer, probabilities
        self._label_of = {word: label for label, word in words.items()}
        self.headers, self.key_header = headers or {}, key_header
        inline = request.lstrip()[:1] in ("{", "[", '"')
        key = "victim: request"
        self._template = template_of(request, key) if inline else template_in(request, key)

    def transport(self) -> HttpTransport:
        """See `Service.transport`."""
        key, headers = key_named(self.key_variable), dict(self.headers)
        if key is not None:
            bearer = self.key_header.lower() == "authorization"
            headers[self.key_header] = f"Bearer {key}" if bearer else key
        return HttpTransport(self.url, headers, self.timeout, self.max_concurrent)

    def request(self, text: Any) -> Body:
        """Fill in the template.

        Raises:
            InputError: the result is not JSON.
        """
        context, words = text if self.pairs else ((), text)
        values = {"text": " ".join(words), "context": " ".join(context)}
        content = rendered(self._template, "victim: request", values)
        try:
            return cast(Body, json.loads(content))
        except ValueError as error:
            raise InputError(
                f"{content[:80]!r} is not JSON ({reason(error)})",
                key="victim: request",
                remedy="write {{ text | tojson }}, without quotation marks around it",
            ) from None

    def accepted(self, content: Any) -> tuple[Value, int | None]:
        """Keep the whole reply, if it has an answer."""
        self._found(content)
        return [content], 0

    def expected(self) -> str:
        """Name the paths, which `answer` and `probabilities` set."""
        return f"replies with {self.answer_path} {self.probabilities or ''}".rstrip()

    def _found(self, content: Any) -> tuple[Any, Any]:
        """Return the answer in a reply, and its probabilities or None."""
        answer = _at(content, self.answer_path)
        return answer, None if self.probabilities is None else _at(content, self.probabilities)

    def read(self, value: Value) -> Read:
        """Return the label or the form.

        Raises:
            InputError: a reply in the cache, from a run with other settings, lacks the answer.
        """
        try:
            answer, shares = self._found(value[0])
        except (LookupError, TypeError, ValueError):
            problem = f"the cache has the reply {json.dumps(value[0])[:80]}"
            expected = self.expected()
            raise InputError(problem, path=self.cache, key="victim", expected=expected) from None
        name = answer if isinstance(answer, str) else json.dumps(answer)
        if self.labels is None:
            return self._form(name, shares)
        label = self._label_of.get(name)
        if label is None:
            return Read(UNREADABLE, False)
        if shares is None:
            return Read(label, True)
        return Read((label, _in_order(shares, [*self._label_of])), True)

    def _form(self, text: str, share: Any) -> Read:
        language = self.task.answers.language or language_of(text.split())
        form = form_in(text, language)
        if form is None:
            return Read(text, False)
        return Read(form if share is None else (form, share), True)


def _at(content: Any, path: str) -> Any:
    """Return the part of a reply at a path.

    Raises:
        LookupError, TypeError: the reply has no such part.
    """
    for name in path.split("."):
        content = content[int(name)] if isinstance(content, list) else content[name]
    return content


def _in_order(shares: Any, labels: Sequence[str]) -> Any:
    """Return probabilities in the order of the service's labels; `LabelCode` checks them."""
    if isinstance(shares, Mapping):
        return [shares.get(label, 0.0) for label in labels]
    if isinstance(shares, list) and all(isinstance(each, Mapping) for each in shares):
        named = {each.get("label"): each.get("score") for each in shares}
        return [named.get(label, 0.0) for label in labels]
    return shares
