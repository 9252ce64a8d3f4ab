"""What commands answer with one message and no traceback, and checks that end so."""

from collections.abc import Collection

_SEEDS = 1 << 64  # that random streams tell apart, see `attacks.randomness`


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


def reason(error: BaseException, most: int = 120) -> str:
    """Return what an error of a library says, on one line of so many characters; else its class."""
    return " ".join(str(error).split())[:most] or type(error).__name__


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


def check_seed(setting: str, seed: int) -> None:
    """Refuse a number that would be taken for another seed, or for none.

    Args:
        setting: what it is, as in ``--seed``.
        seed: as given.

    Raises:
        InputError: the number is below 0, or 2**64 or more.
    """
    if not 0 <= seed < _SEEDS:
        raise InputError(f"{setting} must be >= 0 and below 2**64, got {seed}")


def check_least(owner: str, least: int = 1, /, **settings: int | None) -> None:
    """Refuse numbers that are too small.

    Args:
        owner: whose settings they are, as in ``search``.
        least: the smallest number allowed.
        settings: by name, as given; None is a setting that is off.

    Raises:
        InputError: names the setting, the limit and the value.
    """
    for name, value in settings.items():
        if value is not None and value < least:
            raise InputError(f"{owner}: {name} must be >= {least}, got {value}")
