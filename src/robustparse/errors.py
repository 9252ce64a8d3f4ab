"""The one exception that means "the user can mend this": exit code 2, one message, no traceback."""


class InputError(ValueError):
    """A file, setting or argument that cannot be used as given.

    The message names the file and line or the key, what was found, what was expected, and what to
    do. Commands print it on standard error and exit with 2; every other exception is a fault of
    robustparse itself and exits with 1.
    """
