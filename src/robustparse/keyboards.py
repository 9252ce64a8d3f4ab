"""Which keys of a keyboard are neighbours."""

from typing import Literal

Layout = Literal["qwerty", "qwertz", "azerty"]

_ROWS: dict[str, tuple[str, str, str]] = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
}


def neighbouring_keys(layout: Layout) -> dict[str, str]:
    """Return the letters around each letter of a keyboard.

    Each row stands half a key to the right of the one above it: a key touches two keys there, the
    one over it and the next, and two below.
    """
    rows, near = _ROWS[layout], dict[str, str]()
    for at, row in enumerate(rows):
        above, below = (rows[index] if 0 <= index < len(rows) else "" for index in (at - 1, at + 1))
        for place, letter in enumerate(row):
            before = max(0, place - 1)
            sides = row[before:place] + row[place + 1 : place + 2]
            near[letter] = sides + above[place : place + 2] + below[before : place + 1]
    return near
