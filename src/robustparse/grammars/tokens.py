"""Reading the tokens of a logical form one after the other."""

from robustparse.errors import InputError

PUNCTUATION = frozenset("(),;")
"""Tokens that are not names."""


class TokenReader:
    """Reads a form from its first token to its last.

    Args:
        text: the tokens, separated by blanks.

    Attributes:
        rest: the tokens that are still to be read, in reverse order.

    Raises:
        InputError: the form is empty.
    """

    def __init__(self, text: str) -> None:
        self.tokens = text.split()
        if not self.tokens:
            raise InputError("an empty logical form", expected="a form")
        self.rest = self.tokens[::-1]

    @property
    def next(self) -> str:
        """The next token, empty at the end."""
        return self.rest[-1] if self.rest else ""

    def unexpected(self, expected: str) -> InputError:
        """Return the error for an unexpected next token."""
        number, form = len(self.tokens) - len(self.rest) + 1, f"{' '.join(self.tokens)!r:.120}"
        problem = f"{self.next!r} is token {number} of {form}"
        return InputError(problem if self.rest else f"{form} ends too early", expected=expected)

    def take(self, token: str) -> None:
        """Read this token.

        Raises:
            InputError: another token is next.
        """
        if self.next != token:
            raise self.unexpected(repr(token))
        self.rest.pop()

    def leaf(self) -> str:
        """Read a token that is not punctuation.

        Raises:
            InputError: there is no such token.
        """
        if not self.rest or self.next in PUNCTUATION:
            raise self.unexpected("a name")
        if "(" in self.next or ")" in self.next:
            raise self.unexpected("a name, blanks around brackets")
        return self.rest.pop()

    def end(self) -> None:
        """Refuse further tokens.

        Raises:
            InputError: there is one.
        """
        if self.rest:
            raise self.unexpected("the end of the form")
