"""Damage to a file: bits, bytes, lines, cuts, and texts that readers are known to stumble over."""

import random
import re

# Texts that readers of any format may stumble over.
NASTY = [
    *(
        b"\0",
        b"\\ud800",
        b"\\u0000",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xe2\x80\xa8",
    ),
    *(
        b"9" * 5000,
        b"[" * 100_000,
        b'{"a":' * 2000,
        b"1e999",
        b"NaN",
        b"-1",
        b"0",
        b"null",
        b"true",
    ),
    *(b"\t", b"\n", b"\r", b"\n\n", b" "),
    *(b"#", b'"', b"'", b",", b":", b"{}", b"[]", b"3-4", b"3.1"),
    *(b"&a *a", b"!!python/object:os.system", b"os.system", b"[bold]", b"[/b]", b"../..", b"%s"),
]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Change one to three places of a file."""
    changes = (_bits, _bytes, _alike, _alike, _cut, _inserted, _inserted, _lines)
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = rng.choice(changes)(content, rng)
    return content


def _bits(content: bytes, rng: random.Random) -> bytes:
    """Flip a bit."""
    at = rng.randrange(len(content) or 1)
    return (
        content[:at]
        + bytes(b ^ (1 << rng.randrange(8)) for b in content[at : at + 1])
        + content[at + 1 :]
    )


def _bytes(content: bytes, rng: random.Random) -> bytes:
    """Put a printable character in place of another."""
    at = rng.randrange(len(content) or 1)
    return content[:at] + bytes([rng.randrange(32, 127)]) + content[at + 1 :]


def _alike(content: bytes, rng: random.Random) -> bytes:
    """Put a letter in place of a letter, or a digit in place of a digit."""
    found = re.search(rb"[0-9a-z]", content[rng.randrange(len(content) or 1) :])
    if found is None:
        return content
    at = len(content) - len(found.string) + found.start()
    alphabet = b"0123456789" if found[0].isdigit() else b"abcdefghijklmnopqrstuvwxyz"
    return content[:at] + bytes([rng.choice(alphabet)]) + content[at + 1 :]


def _cut(content: bytes, rng: random.Random) -> bytes:
    """Leave a piece out, or write it twice; or end there."""
    begin = rng.randrange(len(content) + 1)
    end = min(len(content), begin + rng.choice((1, 3, 30, 300, len(content))))
    return content[:begin] + content[begin:end] * rng.choice((0, 0, 2)) + content[end:]


def _inserted(content: bytes, rng: random.Random) -> bytes:
    """Insert a nasty text, or put it in place of a word."""
    begin, text = rng.randrange(len(content) + 1), rng.choice(NASTY)
    if rng.random() < 0.5:
        return content[:begin] + text + content[begin:]
    words = list(re.finditer(rb"[\w.]+", content))
    if not words:
        return text
    word = rng.choice(words)
    return content[: word.start()] + text + content[word.end() :]


def _lines(content: bytes, rng: random.Random) -> bytes:
    """Drop a line, repeat it, or exchange two."""
    lines = content.splitlines(keepends=True) or [b""]
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        lines[one] = b""
    elif kind == 1:
        lines[one] *= 2
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)
