"""The exceptions that commands answer with one message and no traceback."""


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
