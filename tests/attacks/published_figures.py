"""The settings of the recipes in configs/attack, as papers and their authors' code have them."""

import string
from typing import Any

# (where, figure) by recipe; each block names where the figures are published. In a list, a class
# name takes the one member of that class.
# Wang et al. 2021: gamma 15 %, cosine 0.7, perplexity 20, lambda 0.5 (`mean`).
# Their code: 100 and 50 words of the masked language model, 50 neighbours, all synsets, words
# without a vector rejected.
WANG_2021: list[tuple[str, Any]] = [
    ("goal.metric", "mean"),
    ("candidates.generators.WordNetSynonyms.parts", "all"),
    ("candidates.generators.EmbeddingNeighbours.k", 50),
    ("candidates.generators.CachedCandidates.generator.top_k", 100),
    ("candidates.generators.CachedCandidates.generator.sample", 50),
    ("constraints.WordVectorCosine.minimum", 0.7),
    ("constraints.WordVectorCosine.unknown", "reject"),
    ("constraints.GrammarErrors.more", 0),
    ("constraints.PerplexityRise.most", 20.0),
    ("search.gamma", 0.15),
    ("search.length", "words"),
]
YOO_2020: list[tuple[str, Any]] = [
    ("constraints.TaggerTag.tagset", "upos"),
    ("constraints.TaggerTag.noun_verb", False),
]
# Alzantot et al. 2018: 8 neighbours within a distance of 0.5, which their code squares.
ALZANTOT_2018: list[tuple[str, Any]] = [
    ("candidates.k", 8),
    ("constraints.WordVectorCosine.minimum", 1 - 0.5 / 2),
    ("search.population", 60),
    ("search.selection", "paper"),
]
# Boucher et al. 2021 and their code: 32 members for each edit; budgets of 1 to 5.
BOUCHER_2021: list[tuple[str, Any]] = [
    ("search.edits", 5),
    ("search.population", 32),
    ("search.generations", 10),
]
# Garg and Ramakrishnan 2020, by TextFooler's code: similarity 0.8 in windows of 15 words of the
# current sentence, 0.1 in shorter ones.
GARG_2020: list[tuple[str, Any]] = [
    ("constraints.StopWords.source", "textfooler"),
    ("constraints.SentenceSimilarity.minimum", 0.8),
    ("constraints.SentenceSimilarity.measure", "textfooler"),
    ("constraints.SentenceSimilarity.reference", "current"),
    ("constraints.SentenceSimilarity.window", 15),
    ("constraints.SentenceSimilarity.short", 0.1),
    ("search.winner", "similar"),
]
# Li et al. 2020; the similarity is that of TextAttack 0.3.11.
BERT_ATTACK: list[tuple[str, Any]] = [
    ("constraints.EditBudget.gamma", 0.4),
    ("constraints.SentenceSimilarity.minimum", 0.2),
    ("constraints.SentenceSimilarity.measure", "cosine"),
    ("constraints.SentenceSimilarity.reference", "original"),
    ("constraints.SentenceSimilarity.window", None),
    ("search.accept", "current"),
]
FIGURES: dict[str, list[tuple[str, Any]]] = {
    # Gao et al. 2018: the combined score with lambda 1, substitutions, an edit distance of 30.
    "deepwordbug": [
        ("candidates.edits", ["substitute"]),
        ("candidates.sample", 1),
        ("constraints.LevenshteinDistance.most", 30),
        ("search.ranking.score", "combined"),
        ("search.ranking.weight", 1.0),
    ],
    # TextAttack 0.3.11, DeepWordBugGao2018: the best of one edit of each kind, words of two
    # characters at least.
    "deepwordbug_textattack": [
        ("candidates.edits", ["swap", "substitute", "delete", "insert"]),
        ("candidates.sample", 1),
        ("candidates.per", "edit"),
        ("candidates.inner", False),
        ("constraints.StopWords.fold", False),
        ("constraints.MinimumLength.characters", 2),
        ("constraints.LevenshteinDistance.most", 30),
        ("search.accept", "current"),
    ],
    # Li et al. 2018: one bug of each kind, five neighbours, a similarity of 0.8; words of less than
    # six characters are split.
    "textbugger": [
        ("candidates.generators.WordSplits.sample", 1),
        ("candidates.generators.WordSplits.longest", 5),
        ("candidates.generators.CharacterEdits.edits", ["delete", "swap"]),
        ("candidates.generators.CharacterEdits.inner", True),
        ("candidates.generators.CharacterEdits.sample", 1),
        ("candidates.generators.CharacterEdits.per", "edit"),
        ("candidates.generators.EmbeddingNeighbours.k", 5),
        ("constraints.SentenceSimilarity.minimum", 0.8),
        ("constraints.SentenceSimilarity.measure", "cosine"),
        ("constraints.SentenceSimilarity.reference", "original"),
        ("constraints.SentenceSimilarity.window", None),
        ("search.accept", "any"),
    ],
    # Pruthi et al. 2019: all edits within the word, words of four letters at least, one word.
    "pruthi": [
        ("candidates.generators.CharacterEdits.edits", ["swap", "delete", "insert"]),
        ("candidates.generators.CharacterEdits.inner", True),
        ("candidates.generators.CharacterEdits.sample", None),
        ("candidates.generators.KeyboardNeighbours.inner", True),
        ("constraints.MinimumLength.characters", 4),
        ("constraints.EditBudget.gamma", 1.0),
        ("constraints.EditBudget.most", 1),
    ],
    # Jin et al. 2020: N = 50 synonyms, cosine 0.7, the same part of speech, importance by deletion
    # with equation 2. Their code (jind11/TextFooler and its issues 12 and 43): similarity 0.5 for
    # the published figures, in windows of 15 words, with the sentence before the change.
    "textfooler": [
        ("candidates.k", 50),
        ("constraints.WordVectorCosine.minimum", 0.7),
        ("constraints.SentenceSimilarity.minimum", 0.5),
        ("constraints.SentenceSimilarity.measure", "textfooler"),
        ("constraints.SentenceSimilarity.window", 15),
        ("constraints.SentenceSimilarity.short", "check"),
        ("constraints.SentenceSimilarity.reference", "current"),
        ("constraints.StopWords.source", "textfooler"),
        ("constraints.CurrentTag.window", 4),
        ("constraints.CurrentTag.whole", 10),
        ("constraints.CurrentTag.noun_verb", False),
        ("search.ranking.words", "all"),
        ("search.ranking.flip", True),
        ("search.winner", "similar"),
        ("search.judged", "before"),
        ("search.accept", "current"),
    ],
    # The code's defaults: cosine 0.5, similarity 0.7, of texts under 15 words 0.1, nouns and verbs
    # alike, the unknown word, candidates asked about before they are judged.
    "textfooler_released": [
        ("candidates.k", 50),
        ("constraints.WordVectorCosine.minimum", 0.5),
        ("constraints.SentenceSimilarity.minimum", 0.7),
        ("constraints.SentenceSimilarity.measure", "textfooler"),
        ("constraints.SentenceSimilarity.window", 15),
        ("constraints.SentenceSimilarity.short", 0.1),
        ("constraints.SentenceSimilarity.reference", "current"),
        ("constraints.StopWords.source", "textfooler"),
        ("constraints.StopWords.fold", False),
        ("constraints.CurrentTag.window", 4),
        ("constraints.CurrentTag.whole", 10),
        ("constraints.CurrentTag.noun_verb", True),
        ("search.ranking.words", "all"),
        ("search.ranking.flip", True),
        ("search.winner", "similar"),
        ("search.judged", "after"),
        ("search.accept", "original"),
    ],
    # Yoo et al. 2020, section 4: the space of GloVe vectors has 50 neighbours at a cosine of 0.9,
    # words without a vector pass; widths 4 and 8. Their code: Flair's universal tags must be equal,
    # nouns and verbs apart.
    "beam": [
        ("candidates.k", 50),
        ("constraints.WordVectorCosine.minimum", 0.9),
        ("constraints.WordVectorCosine.unknown", "accept"),
        ("constraints.TaggerTag.tagset", "upos"),
        ("constraints.TaggerTag.noun_verb", False),
        ("search.width", 8),
        ("search.members", "unite"),
    ],
    # The same, whole: all three spaces; BERTScore and angular similarity of 0.9 in their strict
    # recipes, the latter in windows of 15 words of the current text, none below that.
    "yoo2020_glove": [
        ("candidates.k", 50),
        ("constraints.WordVectorCosine.minimum", 0.9),
        ("constraints.WordVectorCosine.unknown", "accept"),
        *YOO_2020,
        ("constraints.BERTScore.minimum", 0.9),
        ("constraints.BERTScore.specials", "match"),
    ],
    "yoo2020_hownet": [
        ("candidates.words", "dictionary"),
        *YOO_2020,
        ("constraints.BERTScore.minimum", 0.9),
        ("constraints.BERTScore.specials", "match"),
    ],
    "yoo2020_wordnet": [
        ("candidates.parts", "all"),
        *YOO_2020,
        ("constraints.SentenceSimilarity.minimum", 0.9),
        ("constraints.SentenceSimilarity.measure", "angular"),
        ("constraints.SentenceSimilarity.window", 15),
        ("constraints.SentenceSimilarity.short", "pass"),
        ("constraints.SentenceSimilarity.reference", "current"),
    ],
    # TextAttack 0.3.11, AlzantotGeneticAlgorithm: 60 members, 20 generations, temperature 0.3;
    # Alzantot et al. 2018: parents in proportion to their scores, 8 neighbours; their code compares
    # squared distances with 0.5: for vectors of length 1, 2 - 2 cosines.
    "genetic": [
        ("candidates.k", 8),
        ("constraints.WordVectorCosine.minimum", 1 - 0.5 / 2),
        ("search.population", 60),
        ("search.generations", 20),
        ("search.temperature", 0.3),
        ("search.selection", "paper"),
    ],
    # The four likeliest candidates; at most 20 % of the words.
    "alzantot": [
        *ALZANTOT_2018,
        ("constraints.LanguageModelPerplexity.keep", 4),
        ("constraints.LanguageModelPerplexity.most", None),
        ("constraints.EditBudget.gamma", 0.2),
        ("search.generations", 20),
    ],
    # Jia et al. 2019, section 5 and appendix A.3: W = 6, delta = 5; 40 iterations.
    "faster_alzantot": [
        *ALZANTOT_2018,
        ("constraints.LanguageModelPerplexity.window", 6),
        ("constraints.LanguageModelPerplexity.most", 5.0),
        ("constraints.LanguageModelPerplexity.keep", None),
        ("search.generations", 40),
    ],
    # Wang et al. 2019, by TextAttack 0.3.11: S = 60, M = 20, lambda = 5; at most 20 % of the words.
    "iga": [
        ("candidates.k", 50),
        ("constraints.WordVectorCosine.minimum", 1 - 0.5 / 2),
        ("constraints.EditBudget.gamma", 0.2),
        ("search.population", 60),
        ("search.generations", 20),
        ("search.replacements", 5),
    ],
    # Kuleshov et al. 2018: tau = 0.7, N = 15, lambda 1 = 0.2, delta = 0.5, lambda 2 = 2 nats.
    "kuleshov": [
        ("goal.least", 0.7),
        ("candidates.k", 15),
        ("constraints.ThoughtVectors.most", 0.2),
        ("constraints.EditBudget.gamma", 0.5),
        ("constraints.PerplexityRise.most", 2.0),
        ("constraints.PerplexityRise.measure", "log_probability"),
        ("constraints.PerplexityRise.reference", "original"),
    ],
    # Yoo and Qi 2021: 20 neighbours, cosine 0.8, the same part of speech, similarity 0.9, a tenth
    # of the words, but four.
    "a2t": [
        ("candidates.k", 20),
        ("constraints.WordVectorCosine.minimum", 0.8),
        ("constraints.TaggerTag.reference", "tagger"),
        ("constraints.TaggerTag.noun_verb", False),
        ("constraints.EditBudget.gamma", 0.1),
        ("constraints.EditBudget.least", 4),
        ("constraints.EditBudget.up", True),
        ("constraints.SentenceSimilarity.minimum", 0.9),
        ("constraints.SentenceSimilarity.measure", "cosine"),
        ("constraints.SentenceSimilarity.window", None),
    ],
    # Garg and Ramakrishnan 2020: K = 50; similarity 0.8 by TextFooler's code in windows of 15 words
    # of the current sentence, 0.1 in shorter ones; nouns and verbs alike.
    "bae": [
        ("candidates.generator.top_k", 50),
        ("candidates.generator.sample", None),
        ("constraints.CurrentTag.noun_verb", True),
        *GARG_2020,
    ],
    # Tan et al. 2020: inflections of the word's own part of speech.
    "morpheus": [("candidates.parts", "slot"), ("search.accept", "current")],
    # Ebrahimi et al. 2018, section 5: a beam of 10, cosine 0.8, the same part of speech, two flips.
    "hotflip": [
        ("candidates.sample", None),
        ("constraints.WordVectorCosine.minimum", 0.8),
        ("constraints.TaggerTag.noun_verb", False),
        ("constraints.EditBudget.gamma", 1.0),
        ("constraints.EditBudget.most", 2),
        ("search.width", 10),
        ("search.flips", None),
    ],
    # Pairs of Unicode Technical Standard 39.
    "bad_characters": [("candidates.glyphs", "unicode"), *BOUCHER_2021],
    **{
        f"bad_characters_{kind}": [("candidates.kinds", [kind]), *BOUCHER_2021]
        for kind in ("deletions", "invisible", "reorderings")
    },
    # Xiao et al. 2023, by their code: synonyms of all synsets, 16 % of the words, 60 particles, 20
    # iterations.
    "leap": [
        ("candidates.parts", "all"),
        ("constraints.EditBudget.gamma", 0.16),
        ("constraints.EditBudget.up", True),
        ("search.population", 60),
        ("search.iterations", 20),
        ("search.direction", "paper"),
    ],
    # TextAttack 0.3.11, Seq2SickCheng2018BlackBox: 50 neighbours, an edit distance of 30.
    "seq2sick": [("candidates.k", 50), ("constraints.LevenshteinDistance.most", 30)],
    # Ribeiro et al. 2020, by their code: ten other numbers.
    "checklist": [
        ("candidates.generators.NamedEntities.kinds", ["names", "places", "numbers"]),
        ("candidates.generators.NamedEntities.sample", 10),
    ],
    # Lin et al. 2021 replace entities only.
    "entities": [("goal.edit", "entities"), ("candidates.sample", 20)],
    # Feng et al. 2018: a beam of 5.
    "input_reduction": [("search.width", 5), ("search.until", "failure")],
    # Maheshwary et al. 2021, by their code: 50 neighbours, 2500 attempts, 30 members, 15 rounds.
    "maheshwary": [
        ("candidates.k", 50),
        ("constraints.StopWords.source", "textfooler"),
        ("constraints.MinimumLength.characters", 3),
        ("search.attempts", 2500),
        ("search.population", 30),
        ("search.generations", 1000),
        ("search.patience", 15),
        ("budget", 5000),
    ],
    "bae_insert": GARG_2020,
    "bae_replace_or_insert": [("constraints.CurrentTag.noun_verb", True), *GARG_2020],
    "bae_replace_and_insert": [
        ("candidates.generators.MaskedLM.follows", False),
        ("candidates.generators.MaskedLM.top_k", 50),
        ("constraints.CurrentTag.noun_verb", True),
        *GARG_2020,
    ],
    # Li et al. 2020 and their code: K = 48, at most 40 % of the words, TextFooler's stop words.
    "bert_attack": [
        ("candidates.generator.top_k", 48),
        ("candidates.generator.combinations", 48**2),
        ("candidates.generator.perplexity", "alone"),
        ("constraints.StopWords.source", "textfooler"),
        ("constraints.StopWordCandidates.source", "textfooler"),
        ("constraints.EditBudget.up", False),
        *BERT_ATTACK,
        ("search.winner", "first"),
    ],
    # TextAttack 0.3.11, BERTAttackLi2020.
    "bert_attack_textattack": [
        ("candidates.generator.top_k", 8),
        ("candidates.generator.combinations", 8),
        ("candidates.generator.perplexity", "sentence"),
        ("constraints.EditBudget.up", True),
        *BERT_ATTACK,
        ("search.winner", "score"),
    ],
    # Li et al. 2021, by TextAttack 0.3.11: probabilities of 5e-4 and 5e-3, similarity 0.7.
    "clare": [
        ("candidates.generators.MaskedLM.least", 5e-4),
        ("candidates.generators.MaskedMerge.least", 5e-3),
        ("constraints.SentenceSimilarity.minimum", 0.7),
        ("constraints.SentenceSimilarity.window", 15),
        ("constraints.SentenceSimilarity.short", "pass"),
        ("search.saliency", False),
    ],
    # The code of Ren et al. 2019: synonyms of the word's own part of speech.
    "pwws": [("candidates.parts", "slot")],
    # Zang et al. 2020 and TextAttack 0.3.11: 60 particles, 20 iterations. The authors' code: words
    # of the training vocabulary, inflected alike; particles take words of the elites.
    "pso": [
        ("candidates.words", "training"),
        ("search.population", 60),
        ("search.iterations", 20),
        ("search.direction", "paper"),
    ],
    # Their code also tells punctuation by tag; the perplexity is GPT-2's.
    "wang2021": [
        *WANG_2021,
        ("goal.punctuation", "penn"),
        ("constraints.PerplexityRise.language_model.kind", "causal"),
    ],
    # Here pseudo-perplexity stands in for GPT-2, and all words of UD count.
    "wang2021_open": [
        *WANG_2021,
        ("goal.punctuation", "none"),
        ("constraints.PerplexityRise.language_model.kind", "masked"),
    ],
    # Zheng et al. 2020: gamma 5, 10 and 15 % of the words (Table 1), psi 50 before tags are
    # compared. Their code: the first candidate where none does harm.
    "zheng2020_blackbox": [
        ("goal.success", "reported"),
        ("candidates.generator.top_k", 50),
        ("candidates.generator.sample", None),
        ("search.gamma", 0.15),
        ("search.length", "words"),
        ("search.ranking", "unknown"),
        ("search.harmless", "first"),
    ],
    # Their code: 99 words drawn from the best 110, 51 with the word's tag, words that count.
    "zheng2020_blackbox_released": [
        ("goal.success", "reported"),
        ("candidates.generator.top_k", 110),
        ("candidates.generator.sample", 99),
        ("search.gamma", 0.15),
        ("search.psi", 51),
        ("search.length", "counted"),
        ("search.ranking", "unknown"),
        ("search.harmless", "first"),
    ],
    # The same search in words that any treebank has.
    "zheng2020_universal": [
        ("goal.success", "reported"),
        ("constraints.AttackableTags.tagset", "upos"),
        ("constraints.DictionaryTag.tagset", "upos"),
        ("search.gamma", 0.15),
        ("search.psi", 50),
        ("search.length", "words"),
        ("search.ranking", "unknown"),
        ("search.harmless", "first"),
    ],
    # Their code: all words of a sentence make the budget of the character variant.
    "zheng2020_blackbox_character": [
        ("search.gamma", 0.15),
        ("search.length", "words"),
        ("search.ranking", "unknown"),
        ("search.harmless", "first"),
    ],
    # Zheng et al. 2020, section 3.2: a pool of 50, 40 trials without harm, alpha 15, 30 points of
    # UAS; one word a trial, no further than the budget.
    "zheng2020_whitebox": [
        ("candidates.generator.top_k", 50),
        ("candidates.generator.sample", None),
        ("search.gamma", 0.15),
        ("search.trials", 40),
        ("search.count", "fruitless"),
        ("search.positions", 1),
        ("search.drop", 0.3),
        ("search.beyond", "end"),
        ("search.outcome", "last"),
        ("search.length", "words"),
        ("search.loss", "margin"),
        ("search.substitution.alpha", 15.0),
        ("search.substitution.distance", "euclidean"),
    ],
    # Their code: 2000 words drawn from the best 2048, 39 trials of two words, alpha 10, one word
    # more for ROOT, the worst sentence met.
    "zheng2020_whitebox_released": [
        ("candidates.generator.top_k", 2048),
        ("candidates.generator.sample", 2000),
        ("search.gamma", 0.15),
        ("search.trials", 39),
        ("search.count", "all"),
        ("search.positions", 2),
        ("search.drop", 0.3),
        ("search.beyond", "skip"),
        ("search.outcome", "best"),
        ("search.length", "rooted"),
        ("search.loss", "margin"),
        ("search.substitution.alpha", 10.0),
        ("search.substitution.distance", "euclidean"),
    ],
    # The white box, of characters; their code: alpha 100, the last 5 tried do not come back.
    "zheng2020_whitebox_character": [
        ("candidates.edits", ["substitute"]),
        ("candidates.alphabet", string.ascii_letters + string.digits),
        ("candidates.sample", None),
        ("search.gamma", 0.15),
        ("search.trials", 40),
        ("search.count", "fruitless"),
        ("search.positions", 1),
        ("search.drop", 0.3),
        ("search.length", "words"),
        ("search.substitution.alpha", 100.0),
        ("search.substitution.recent", 5),
    ],
    # Zheng et al. 2020, section 3.3 and Table 4: phrases of 4 to 12 words, k 0 and 1, up to 3 words
    # of one; their code: 256 trials.
    "zheng2020_phrase_blackbox": [
        ("goal.shortest", 4),
        ("goal.longest", 12),
        ("goal.gap", 0),
        ("goal.targets", "each"),
        ("search.trials", 256),
        ("search.kappa", 3),
        ("search.edits", "up_to"),
    ],
    # The same; their code: 30 iterations for each of 100 pairs of phrases, alpha 15.
    "zheng2020_phrase_whitebox": [
        ("goal.shortest", 4),
        ("goal.longest", 12),
        ("goal.gap", 0),
        ("candidates.sample", None),
        ("search.trials", 30),
        ("search.kappa", 3),
        ("search.pairs", 100),
        ("search.substitution.alpha", 15.0),
    ],
}
