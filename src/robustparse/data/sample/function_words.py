"""The function words of the embedded sample treebank; the words that attacks replace are in
`sample_words`.
"""

from types import MappingProxyType

CLOSED = MappingProxyType(
    {
        "det": ("DET", ("DT",), "the this every another each"),
        "dets": ("DET", ("DT",), "the these those some"),
        "poss": ("PRON", ("PRP$",), "his her their our my"),
        "she": ("PRON", ("PRP",), "she he"),
        "them": ("PRON", ("PRP",), "him them us"),
        "with": ("ADP", ("IN",), "with"),
        "at": ("ADP", ("IN",), "in at"),
        "of": ("ADP", ("IN",), "of"),
        "during": ("ADP", ("IN",), "during before after"),
        "beside": ("ADP", ("IN",), "beside behind under"),
        "near": ("ADP", ("IN",), "near outside"),
        "toadp": ("ADP", ("TO",), "to"),
        "toinf": ("PART", ("TO",), "to"),
        "that": ("SCONJ", ("IN",), "that"),
        "rel": ("PRON", ("WDT",), "that"),
        "because": ("SCONJ", ("IN",), "because although while"),
        "when": ("SCONJ", ("WRB",), "when whenever"),
        "and": ("CCONJ", ("CC",), "and"),
        "was": ("AUX", ("VBD",), "was"),
        "were": ("AUX", ("VBD",), "were"),
        "modal": ("AUX", ("MD",), "will must should could"),
        "comma": ("PUNCT", (",",), ","),
        "stop": ("PUNCT", (".",), "."),
        "stay": ("VERB", ("VBD",), "stayed remained became grew"),
    }
)
"""Function words: class -> (UPOS, Penn tags, words). They are never substituted."""
