"""The twelve parts of speech of Petrov, Das and McDonald 2012, by Penn tags and universal ones.

NLTK maps Penn tags in the same way, and Jin et al. 2020 compare what it gives.
"""

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


def interchangeable(tag: str, other: str, noun_verb: bool) -> bool:
    """Tell whether words of two tags are the same part of speech.

    Args:
        tag: a Penn or universal tag. All that none of the other eleven names is X: FW, LS, SYM and
            UH, as in NLTK, and tags of neither set.
        other: another one.
        noun_verb: whether a noun and a verb count as the same (the released code of Jin et al.
            2020).
    """
    parts = {_PARTS.get(tag, "X"), _PARTS.get(other, "X")}
    return len(parts) == 1 or (noun_verb and parts == {"NOUN", "VERB"})
