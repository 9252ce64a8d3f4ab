"""The studies of TextFooler (Jin et al. 2020) on reviews and on entailment.

Each corpus has one study for Tables 3, 4, 6 and 7. Those of reviews and of SNLI have the ablations
of Tables 8 and 9 too, and one more study for Table 11, adversarial training; ``study_transfer.py``
prints Table 10. ``--folder`` names the corpus; with ``--study jin2020``, which stands for all of
them, the folder of the corpora.
"""

from dataclasses import replace
from functools import partial

from study_rows import BEST, Copies, Row, Study

# With one of its filters it needs neither a tagger nor a sentence encoder, with two no encoder.
SWAP = "textfooler"


def victims(corpus: str, *classifiers: tuple[str, str]) -> tuple[Row, ...]:
    """Return classifiers of a corpus under TextFooler, by the ends of their names and titles."""
    return tuple(
        Row(
            *(f"{corpus}_{name}", title, BEST),
            **{"task": "classification", "recipe": SWAP, "gammas": (None,)},
            pretrained=name == "minilm",
            word_vectors=name != "minilm",
        )
        for name, title in classifiers
    )


def ablations(first: Row, share: float) -> tuple[Row, ...]:
    """Return the ablations on one classifier.

    Args:
        first: the classifier under the whole attack.
        share: of the words that TextFooler changes according to Tables 3 and 4. One ablation visits
            as many in random order, as in Table 8, another one all of them.
    """
    return (
        replace(first, title=f"{first.title}, released code", recipe=f"{SWAP}_released"),
        replace(first, title=f"{first.title}, random positions", fraction=share),
        replace(first, title=f"{first.title}, random order", fraction=1.0),
        replace(first, title=f"{first.title}, no similarity filter", filters=2),
    )


def trained(clean: Row, steps: int, share: float, tested: float) -> tuple[Row, ...]:
    """Return a classifier, and ways to continue from it for as many steps (Table 11).

    Args:
        clean: the classifier.
        steps: of each way.
        share: of the training texts whose adversaries are trained on.
        tested: of the test texts, those that are attacked: Jin et al. train on their adversaries.
    """
    way = partial(replace, clean, checkpoint="last.ckpt", steps=steps)
    start = f"experiment/{clean.name}_finetuning"
    copies = partial(Copies, clean, keep="changed", ranking="DeletedWord", precision="32-true")
    return (
        replace(clean, title="clean training"),
        way(name=f"{clean.name}_control", title="+ clean only (control)", configs=(start,)),
        way(
            name=f"{clean.name}_adversaries",
            title="+ adversaries of training texts",
            configs=(start, "defense/copies"),
            copies=copies(share=share),
        ),
        way(
            name=f"{clean.name}_test_adversaries",
            title="+ adversaries of the attacked test texts",
            configs=(start, "defense/copies"),
            copies=copies(share=tested, split="test"),
        ),
    )


BERT = ("minilm", "MiniLM")
MR = victims("mr", ("cnn", "WordCNN"), ("lstm", "WordLSTM"), BERT)
AG = victims("ag", ("cnn", "WordCNN"), ("lstm", "WordLSTM"))
SNLI = victims("snli", ("infersent", "InferSent"), ("esim", "ESIM"), BERT)
MNLI = victims("mnli", ("infersent", "InferSent"), ("esim", "ESIM"), BERT)
# Of 1,000 test texts of MR and AG and of 2,000 and 1,744 of SNLI and MNLI 300 are attacked.
MR_SHARE, AG_SHARE, SNLI_SHARE, MNLI_SHARE = 0.3, 0.3, 0.15, 0.172
JIN2020 = {
    "jin2020_mr": Study((*MR, *ablations(MR[0], 0.167)), share=MR_SHARE),
    "jin2020_ag": Study(AG, share=AG_SHARE),
    "jin2020_snli": Study((*SNLI, *ablations(SNLI[0], 0.185)), share=SNLI_SHARE),
    "jin2020_mnli": Study(MNLI, share=MNLI_SHARE),
    "jin2020_mr_training": Study(
        trained(MR[0], 1464, 0.5, MR_SHARE), share=MR_SHARE, measured=False
    ),
    "jin2020_snli_training": Study(
        trained(SNLI[0], 1014, 0.2, SNLI_SHARE), share=SNLI_SHARE, measured=False
    ),
}
