"""Part-of-speech tagsets: the universal tags, the Penn Treebank tags, and twelve parts of speech.

Components that read tags have an option ``tagset: upos | xpos``, named after the columns of
CoNLL-U; by default each sentence decides (`Sentence.tagset`). No tag has different meanings in both
sets, so a list may mix them.
"""

from typing import Literal, get_args

from robustparse.errors import check_choice

Tagset = Literal["upos", "xpos"]

BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
}
"""The Penn Treebank's names of brackets, which are words and tags in it."""

PENN_TAGS = frozenset(
    {"CC", "CD", "DT", "EX", "FW", "IN", "LS", "MD", "PDT", "POS", "RP", "SYM", "TO", "UH"}
    | {"JJ", "JJR", "JJS", "NN", "NNS", "NNP", "NNPS", "RB", "RBR", "RBS"}
    | {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}
    | {"PRP", "PRP$", "WDT", "WP", "WP$", "WRB"}
    | {".", ",", ":", ";", "?", "!", "``", "''", '"', "#", "$", "(", ")"}
    | {*BRACKETS}
    | {"HYPH", "NFP", "ADD", "GW", "AFX", "XX"}
)
"""The tags of the Penn Treebank, and six that the English Web Treebank adds (the last row)."""

CLASSES: dict[str, frozenset[str]] = {
    "JJ": frozenset({"JJ", "JJR", "JJS", "ADJ"}),
    "NN": frozenset({"NN", "NNS", "NNP", "NNPS", "NOUN", "PROPN"}),
    "RB": frozenset({"RB", "RBR", "RBS", "ADV"}),
    "VB": frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "VERB"}),
    "IN": frozenset({"IN", "ADP", "SCONJ"}),
}
"""The rows of Zheng et al. 2020, Table 3, as Penn tags (those that their code attacks) and
universal tags. AUX is in no class: it includes modal verbs (MD), which their code never changes."""

_TAGS = {
    "NOUN": "NN NNS NNP NNPS NOUN PROPN",
    "VERB": "MD VB VBD VBG VBN VBP VBZ VERB AUX",
    "ADJ": "JJ JJR JJS ADJ",
    "ADV": "RB RBR RBS WRB ADV",
    "PRON": "PRP PRP$ WP WP$ PRON",
    "DET": "DT EX PDT WDT DET",
    "ADP": "IN ADP SCONJ",
    "NUM": "CD NUM",
    "CONJ": "CC CCONJ",
    "PRT": "POS RP TO PART",
    ".": ". , : ! ? ( ) -LRB- -RRB- `` '' # $ PUNCT",
}
_PARTS = {tag: part for part, tags in _TAGS.items() for tag in tags.split()}


def class_of(tag: str) -> str:
    """Return the class of a tag, or an empty string."""
    return next((name for name, tags in CLASSES.items() if tag in tags), "")


def check_tagset(owner: str, tagset: Tagset | None) -> None:
    """Reject an unknown tagset; None, which lets each sentence decide, is allowed.

    Raises:
        InputError: names the owner and the value.
    """
    if tagset is not None:
        check_choice(f"{owner}: tagset", tagset, get_args(Tagset))


def interchangeable(tag: str, other: str, noun_verb: bool) -> bool:
    """Tell whether two tags are the same one of the twelve parts of speech of Petrov et al. 2012.

    NLTK maps Penn tags in the same way; Jin et al. 2020 compare the result.

    Args:
        tag: a Penn or universal tag. FW, LS, SYM and UH are X, as in NLTK, and so are unknown tags.
        other: another tag.
        noun_verb: whether nouns and verbs count as the same (released code of Jin et al. 2020).
    """
    parts = {_PARTS.get(tag, "X"), _PARTS.get(other, "X")}
    return len(parts) == 1 or (noun_verb and parts == {"NOUN", "VERB"})
