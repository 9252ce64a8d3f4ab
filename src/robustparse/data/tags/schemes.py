"""Tags of spans: BIO, IOB1 and BILOU, and the spans that a sequence of tags describes.

All tags inside the program are BIO (IOB2): B-x begins a span of class x, I-x continues it, O is
outside. Any other tag, such as a part of speech, describes a span of one word. A prefix without a
class is such a tag: ``I-`` is a part of speech in PROIEL treebanks.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from robustparse.errors import InputError

OUTSIDE = "O"
BEGIN, INSIDE = "B-", "I-"

Scheme = Literal["words", "bio", "iob1", "bilou"]
"""``words``: tags without prefixes; ``bilou`` is also BIOES, with E for L and S (or W) for U."""

_PREFIXED = re.compile(r"([BILUESMW])-(.+)")
# Tags of spans in schemes that are not read: B, b-x, B_x, x-B.
_UNREAD = re.compile(r"[BILUESMW]([-_].+)?|.+[-_][BILUESMW]", re.IGNORECASE)
_TO_BIO = {"U": "B", "S": "B", "W": "B", "L": "I", "E": "I", "M": "I"}
# BILOU: the prefixes that may follow a prefix; O and the end of the sentence are "O".
_NEXT = {"B": "IL", "I": "IL", "L": "BUO", "U": "BUO", "O": "BUO"}
_BILOU = {"E": "L", "S": "U", "W": "U", "M": "I"}


class Span(NamedTuple):
    """The words ``begin`` to ``end`` (exclusive) of a class."""

    begin: int
    end: int
    kind: str


def split_tag(tag: str) -> tuple[str, str]:
    """Return the prefix and the class of a tag; without them, an empty prefix and the tag."""
    match = _PREFIXED.fullmatch(tag)
    return (match[1], match[2]) if match else ("", tag)


def spans(tags: Sequence[str], strict: bool = False) -> list[Span]:
    """Return the spans of BIO tags, in order.

    Args:
        tags: one tag per word.
        strict: whether an I- tag that continues no span of its class is outside, as in the strict
            mode of seqeval; otherwise it begins a span, as in conlleval and seqeval's default mode.
    """
    in_order: list[Span] = []
    open_kind: str | None = None  # the class that an I- tag may continue
    for position, tag in enumerate(tags):
        prefix, kind = split_tag(tag)
        if prefix == "I" and kind == open_kind:
            in_order[-1] = in_order[-1]._replace(end=position + 1)
            continue
        starts = prefix == "B" or (prefix == "I" and not strict)
        open_kind = kind if starts else None
        if starts or (tag != OUTSIDE and prefix != "I"):
            in_order.append(Span(position, position + 1, kind if starts else tag))
    return in_order


def entities(tags: Sequence[str]) -> list[Span]:
    """Return the spans of B- and I- tags; tags without prefixes, as parts of speech, make none."""
    inside = in_spans(tags)
    return [span for span in spans(tags) if inside[span.begin]]


def in_spans(tags: Sequence[str]) -> list[bool]:
    """Tell for each word whether it is in one of the `entities`."""
    return [split_tag(tag)[0] in ("B", "I") for tag in tags]


def legal(tags: Sequence[str]) -> bool:
    """Tell whether a sequence is BIO: every I- tag continues a span of its class."""
    return all(may_follow(before, tag) for before, tag in pairwise((OUTSIDE, *tags)))


def may_follow(before: str, tag: str) -> bool:
    """Tell whether BIO allows a tag after another; ``O`` stands for the start of a sentence."""
    prefix, kind = split_tag(tag)
    return prefix != "I" or before in (BEGIN + kind, tag)


def repaired(tags: Iterable[str]) -> tuple[str, ...]:
    """Return legal BIO tags with the same spans: I- tags that continue no span become B- tags."""
    legal_tags: list[str] = []
    for tag in tags:
        fits = may_follow(legal_tags[-1] if legal_tags else OUTSIDE, tag)
        legal_tags.append(tag if fits else BEGIN + split_tag(tag)[1])
    return tuple(legal_tags)


def scheme_of(sequences: Iterable[Sequence[str]]) -> Scheme:
    """Recognise the scheme of the tags of a file.

    Tags are IOB1 if some I- tag continues no span and every B- tag follows a span of its class;
    otherwise B- and I- tags are BIO, which may be broken.
    """
    prefixes: set[str] = set()
    starts_inside = begins_alone = False
    for tags in sequences:
        for before, tag in pairwise((OUTSIDE, *tags)):
            prefix, kind = split_tag(tag)
            if not prefix:
                continue
            prefixes.add(prefix)
            follows = before in (BEGIN + kind, INSIDE + kind)
            starts_inside |= prefix == "I" and not follows
            begins_alone |= prefix == "B" and not follows
    if not prefixes:
        return "words"
    if prefixes & set("LUESMW"):
        return "bilou"
    return "iob1" if starts_inside and not begins_alone else "bio"


def unread_spans(tagset: Iterable[str]) -> str:
    """Return one of the tags if all look like tags of spans in a scheme that is not read, or ""."""
    tags = sorted(tag for tag in tagset if tag.upper() != OUTSIDE)
    outside = any(tag.upper() == OUTSIDE for tag in tagset)
    return tags[0] if outside and tags and all(map(_UNREAD.fullmatch, tags)) else ""


def to_bio(tags: Sequence[str], scheme: Scheme, repair: bool = False) -> tuple[str, ...]:
    """Convert the tags of a sentence to BIO.

    Args:
        tags: one tag per word.
        scheme: of the tags.
        repair: whether to repair a broken sequence, as by `repaired`.

    Raises:
        InputError: the sequence is broken; `InputError.line` is the position of the word.
    """
    if scheme == "words":
        return tuple(tags)
    if not repair and scheme != "iob1":
        _check(tags, scheme)
    parts = map(split_tag, tags)
    letters = ((_TO_BIO.get(prefix, prefix), kind) for prefix, kind in parts)
    return repaired(f"{letter}-{kind}" if letter else kind for letter, kind in letters)


def _check(tags: Sequence[str], scheme: Scheme) -> None:
    follows = _may_follow_in_bilou if scheme == "bilou" else may_follow
    followed = [*tags, OUTSIDE] if scheme == "bilou" else tags
    for position, (before, tag) in enumerate(pairwise((OUTSIDE, *followed))):
        if position < len(tags) and tag != OUTSIDE and not split_tag(tag)[0]:
            expected = "O, or a class after B-, I-, and so on"
            raise InputError(f"the tag {tag!r:.40}", line=position, expected=expected)
        if not follows(before, tag):
            last = position == len(tags)
            problem = f"{before!r:.40} at the end" if last else f"{tag!r:.40} after {before!r:.40}"
            raise InputError(problem, line=min(position, len(tags) - 1), expected=scheme.upper())


def _may_follow_in_bilou(before: str, tag: str) -> bool:
    first, second = (_BILOU.get(each[0], each[0]) for each in (before, tag))
    return second in _NEXT[first] and (second not in "IL" or before[1:] == tag[1:])
