"""The twelve universal parts of speech of Petrov, Das and McDonald 2012, from Penn tags."""

_PENN_TAGS = {
    "NOUN": "NN NNS NNP NNPS",
    "VERB": "MD VB VBD VBG VBN VBP VBZ",
    "ADJ": "JJ JJR JJS",
    "ADV": "RB RBR RBS WRB",
    "PRON": "PRP PRP$ WP WP$",
    "DET": "DT EX PDT WDT",
    "ADP": "IN",
    "NUM": "CD",
    "CONJ": "CC",
    "PRT": "POS RP TO",
    ".": ". , : ! ? ( ) -LRB- -RRB- `` '' # $",
}
_UNIVERSAL = {tag: part for part, tags in _PENN_TAGS.items() for tag in tags.split()}


def universal(tag: str) -> str:
    """Return the universal tag of a Penn tag; X (FW, LS, SYM, UH) for any other one, as in NLTK."""
    return _UNIVERSAL.get(tag, "X")
