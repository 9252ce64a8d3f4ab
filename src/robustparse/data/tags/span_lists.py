"""The spans of a file of tagged sentences, by class: what an entity may be replaced by."""

from functools import cache
from pathlib import Path

from robustparse.data.tags.schemes import entities
from robustparse.data.tags.tagged_sentences import read_tags
from robustparse.errors import InputError

SpanLists = dict[str, list[tuple[str, ...]]]
"""The words of each span of a class, each once, in the order of the file."""


@cache
def span_lists(path: str) -> SpanLists:
    """Return the spans of a file.

    Raises:
        InputError: the file cannot be read, or has no tags of spans.
    """
    lists: dict[str, dict[tuple[str, ...], None]] = {}
    for example in read_tags(Path(path).expanduser(), repair=True):
        for span in entities(example.gold.tags):
            words = example.sentence.words[span.begin : span.end]
            lists.setdefault(span.kind, {})[words] = None
    if not lists:
        raise InputError("no tags of spans", path=path, expected="B- and I- tags")
    return {kind: list(words) for kind, words in lists.items()}
