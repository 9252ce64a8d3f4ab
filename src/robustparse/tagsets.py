"""Part-of-speech tags: universal ones, of every language, and those of the Penn Treebank.

Whatever goes by tags takes ``tagset: upos | xpos``, the columns of CoNLL-U; by default each
sentence says which (`Sentence.tagset`). No name stands for one thing in one set and for another in
the other, so that a list may hold names of both.
"""

from typing import Literal, get_args

from robustparse.errors import check_choice

Tagset = Literal["upos", "xpos"]

PENN_TAGS = frozenset(
    {"CC", "CD", "DT", "EX", "FW", "IN", "LS", "MD", "PDT", "POS", "RP", "SYM", "TO", "UH"}
    | {"JJ", "JJR", "JJS", "NN", "NNS", "NNP", "NNPS", "RB", "RBR", "RBS"}
    | {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}
    | {"PRP", "PRP$", "WDT", "WP", "WP$", "WRB"}
    | {".", ",", ":", ";", "?", "!", "``", "''", '"', "#", "$", "(", ")"}
    | {"-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"}
    | {"HYPH", "NFP", "ADD", "GW", "AFX", "XX"}
)
"""Of the Penn Treebank, and what the English Web Treebank adds (the last six)."""

CLASSES: dict[str, frozenset[str]] = {
    "JJ": frozenset({"JJ", "JJR", "JJS", "ADJ"}),
    "NN": frozenset({"NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN"}),
    "RB": frozenset({"RB", "RBR", "RBS", "ADV"}),
    "VB": frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "VERB"}),
    "IN": frozenset({"IN", "ADP", "SCONJ"}),
}
"""The rows of Zheng et al. 2020, Table 3, as the Penn tags that their code attacks, and universal
tags. AUX is of none: it holds the modal verbs (MD), which their code does not change either."""


def class_of(tag: str) -> str:
    """Find the class of a tag; empty where it is of none."""
    return next((name for name, tags in CLASSES.items() if tag in tags), "")


def check_tagset(owner: str, tagset: Tagset | None) -> None:
    """Refuse a tagset that does not exist; None leaves it to each sentence.

    Raises:
        InputError: names the owner and the value.
    """
    if tagset is not None:
        check_choice(f"{owner}: tagset", tagset, get_args(Tagset))
