"""What commands answer with one message and no traceback, and a check that ends so."""

from collections.abc import Collection


class InputError(ValueError):
    """A file, setting or argument that cannot be used as given.

    The message names the file and line or the key, what was found, what was expected, and what to
    do. Commands print it on standard error and exit with 2; every other exception is a fault of
    robustparse itself and exits with 1.
    """


class ProcessDiedError(RuntimeError):
    """One of several processes was ended from outside; the message says which and what to do.

    Commands print it on standard error and exit with 1.
    """


def check_choice(setting: str, value: object, allowed: Collection[str]) -> None:
    """Refuse a value that is none of those a setting may have.

    Args:
        setting: what it is, with whom it belongs to, as in ``search: length``.
        value: as given.
        allowed: what it may be.

    Raises:
        InputError: names the value and those allowed.
    """
    if value not in allowed:
        raise InputError(f"{setting} must be one of {', '.join(allowed)}, got {value!r}")
