"""Several mistakes in one message."""

import pytest

from robustparse.errors import InputError, check_all


def failing(message: str, path: str | None = None):
    def check() -> None:
        raise InputError(message, path=path)

    return check


def test_several_mistakes_become_one():
    check_all([int])
    with pytest.raises(InputError) as single:
        check_all([int, failing("no data", "a.txt"), failing("cannot be read", "a.txt")])
    assert (single.value.path, single.value.found) == ("a.txt", "no data")
    with pytest.raises(InputError) as several:
        check_all([failing("no data", "a.txt"), int, failing("no model"), failing("no model")])
    assert str(several.value).splitlines()[1:] == ["  a.txt: no data", "  no model"]
