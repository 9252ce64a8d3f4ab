"""Every recipe in configs/attack makes an attack, whose files and models are looked for later."""

from pathlib import Path
from typing import Any

import pytest
from jsonargparse import ArgumentParser
from published_figures import FIGURES

from robustparse.attacks.attack import Attack

FOLDER = Path(__file__).parents[2] / "configs" / "attack"
# Goal (none: the task's usual one), candidates, constraints in their order, and search; what a part
# is made of follows it.
# Cheap filters come before models: Jin et al. 2020, algorithm 1; Yoo et al. 2020, section 4; the
# code of Zheng et al. 2020; Wang et al. 2021, whose code has the order of the sources too. Alzantot
# et al. 2018 compare no tags.
PARTS: dict[str, tuple[str, str, str, str]] = {
    "a2t": (
        "",
        "EmbeddingNeighbours",
        "StopWords WordVectorCosine TaggerTag EditBudget SentenceSimilarity",
        "GreedyByImportance(GradientNorm)",
    ),
    "alzantot": (
        "",
        "EmbeddingNeighbours",
        "StopWords WordVectorCosine LanguageModelPerplexity(LanguageModel) EditBudget",
        "Genetic",
    ),
    "bad_characters": ("", "Homoglyphs", "", "DifferentialEvolution"),
    **dict.fromkeys(
        [f"bad_characters_{kind}" for kind in ("deletions", "invisible", "reorderings")],
        ("", "ImperceptibleEdits", "", "DifferentialEvolution"),
    ),
    "bae": (
        "",
        "CachedCandidates(MaskedLM)",
        "StopWords CurrentTag SentenceSimilarity",
        "GreedyByImportance(DeletedWord)",
    ),
    "bae_insert": (
        "",
        "Union(MaskedInsertion MaskedInsertion)",
        "StopWords SentenceSimilarity",
        "GreedyByImportance(DeletedWord)",
    ),
    **dict.fromkeys(
        ["bae_replace_and_insert", "bae_replace_or_insert"],
        (
            "",
            "Union(MaskedLM MaskedInsertion MaskedInsertion)",
            "StopWords CurrentTag SentenceSimilarity",
            "GreedyByImportance(DeletedWord)",
        ),
    ),
    "beam": (
        "",
        "EmbeddingNeighbours",
        "StopWords WordVectorCosine TaggerTag",
        "Beam",
    ),
    "bert_attack": (
        "",
        "CachedCandidates(UnmaskedLM)",
        "StopWords StopWordCandidates EditBudget SentenceSimilarity",
        "GreedyByImportance(UnknownWord)",
    ),
    "bert_attack_textattack": (
        "",
        "CachedCandidates(UnmaskedLM)",
        "StopWords EditBudget SentenceSimilarity",
        "GreedyByImportance(UnknownWord)",
    ),
    "checklist": ("", "Union(NamedEntities ContractedForms)", "", "Greedy"),
    "clare": (
        "",
        "Union(MaskedLM MaskedInsertion MaskedMerge)",
        "StopWords SentenceSimilarity",
        "PWWS",
    ),
    "entities": ("TagErrors", "EntityWords", "", "Greedy"),
    "deepwordbug": (
        "",
        "CharacterEdits",
        "LevenshteinDistance",
        "DeepWordBug(TemporalScore)",
    ),
    "deepwordbug_textattack": (
        "",
        "CharacterEdits",
        "StopWords MinimumLength LevenshteinDistance",
        "GreedyByImportance(UnknownWord)",
    ),
    "faster_alzantot": (
        "",
        "EmbeddingNeighbours",
        "StopWords WordVectorCosine LanguageModelPerplexity(LanguageModel)",
        "Genetic",
    ),
    "genetic": ("", "EmbeddingNeighbours", "StopWords WordVectorCosine", "Genetic"),
    "hotflip": (
        "",
        "VocabularyWords",
        "StopWords WordVectorCosine TaggerTag EditBudget",
        "HotFlip",
    ),
    "iga": (
        "",
        "EmbeddingNeighbours",
        "StopWords WordVectorCosine EditBudget",
        "ImprovedGenetic",
    ),
    "input_reduction": ("InputReduction", "Omission", "", "Beam"),
    "kuleshov": (
        "LabelFlip",
        "EmbeddingNeighbours",
        "StopWords EditBudget ThoughtVectors PerplexityRise(LanguageModel)",
        "Greedy",
    ),
    "leap": ("", "WordNetSynonyms", "StopWords EditBudget", "LEAP"),
    "maheshwary": (
        "",
        "EmbeddingNeighbours",
        "StopWords MinimumLength WordVectorCosine TaggerTag SentenceSimilarity",
        "HardLabel",
    ),
    "morpheus": ("", "Inflections", "", "GreedyByImportance(TextOrder)"),
    "pruthi": (
        "",
        "Union(CharacterEdits KeyboardNeighbours)",
        "MinimumLength StopWords EditBudget",
        "Greedy",
    ),
    "pso": ("", "Sememes", "StopWords", "ParticleSwarm"),
    "pwws": ("", "WordNetSynonyms", "StopWords", "PWWS"),
    "seq2sick": (
        "NonOverlappingOutput",
        "EmbeddingNeighbours",
        "StopWords LevenshteinDistance",
        "GreedyByImportance(UnknownWord)",
    ),
    "textbugger": (
        "",
        "Union(WordSplits CharacterEdits Homoglyphs KeyboardNeighbours EmbeddingNeighbours)",
        "StopWords SentenceSimilarity",
        "GreedyByImportance(DeletedWord)",
    ),
    "textfooler": (
        "",
        "EmbeddingNeighbours",
        "StopWords WordVectorCosine CurrentTag SentenceSimilarity",
        "GreedyByImportance(DeletedWord)",
    ),
    "textfooler_released": (
        "",
        "EmbeddingNeighbours",
        "StopWords WordVectorCosine CurrentTag SentenceSimilarity",
        "GreedyByImportance(UnknownWord)",
    ),
    "wang2021": (
        "AttachmentDrop",
        "Union(Sememes WordNetSynonyms EmbeddingNeighbours CachedCandidates(MaskedLM))",
        "ForbiddenTags TaggerTag WordVectorCosine GrammarErrors(LanguageTool) "
        "PerplexityRise(LanguageModel)",
        "Wang2021(UnknownWord)",
    ),
    "wang2021_open": (
        "AttachmentDrop",
        "Union(WordNetSynonyms EmbeddingNeighbours CachedCandidates(MaskedLM))",
        "ForbiddenTags ForbiddenRelations TaggerTag WordVectorCosine GrammarErrors(LinkGrammar) "
        "PerplexityRise(LanguageModel)",
        "Wang2021(UnknownWord)",
    ),
    "yoo2020_glove": (
        "",
        "EmbeddingNeighbours",
        "StopWords WordVectorCosine TaggerTag BERTScore",
        "Greedy",
    ),
    "yoo2020_hownet": ("", "Sememes", "StopWords TaggerTag BERTScore", "Greedy"),
    "yoo2020_wordnet": (
        "",
        "WordNetSynonyms",
        "StopWords TaggerTag SentenceSimilarity",
        "Greedy",
    ),
    "zheng2020_blackbox": (
        "AttachmentDrop",
        "CachedCandidates(MaskedLM)",
        "AttackableTags ForbiddenRelations DictionaryTag",
        "Zheng2020",
    ),
    "zheng2020_blackbox_released": (
        "AttachmentDrop",
        "CachedCandidates(MaskedLM)",
        "AttackableTags DictionaryTag",
        "Zheng2020",
    ),
    "zheng2020_blackbox_character": (
        "AttachmentDrop",
        "CharacterVariant",
        "ForbiddenRelations",
        "Zheng2020",
    ),
    "zheng2020_phrase_blackbox": ("PhraseDrop", "VocabularyWords", "", "PhraseBlackBox"),
    "zheng2020_phrase_whitebox": (
        "PhraseDrop",
        "VocabularyWords",
        "ForbiddenRelations",
        "PhraseWhiteBox(NearestWord)",
    ),
    "zheng2020_universal": (
        "AttachmentDrop",
        "Union(CharacterEdits TrainingWords VocabularyWords)",
        "AttackableTags DictionaryTag",
        "Zheng2020",
    ),
    "zheng2020_whitebox": (
        "AttachmentDrop",
        "CachedCandidates(MaskedLM)",
        "AttackableTags ForbiddenRelations DictionaryTag",
        "Zheng2020WhiteBox(NearestWord)",
    ),
    "zheng2020_whitebox_released": (
        "AttachmentDrop",
        "CachedCandidates(MaskedLM)",
        "AttackableTags DictionaryTag",
        "Zheng2020WhiteBox(NearestWord)",
    ),
    "zheng2020_whitebox_character": (
        "AttachmentDrop",
        "CharacterEdits",
        "ForbiddenRelations",
        "Zheng2020WhiteBox(NearestCharacter)",
    ),
}


def recipe(name: str) -> Attack:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(Attack, "attack")
    config = parser.parse_args([f"--attack={FOLDER / name}.yaml"])
    attack: Attack = parser.instantiate(config).attack
    return attack


def classes(value: Any) -> str:
    """Our classes among values, in brackets those of the parts that each was given."""
    found = []
    for one in value if isinstance(value, list) else [value]:
        if type(one).__module__.startswith("robustparse."):
            given = [classes(part) for name, part in vars(one).items() if name[0] != "_"]
            held = " ".join(filter(None, given))
            found.append(type(one).__name__ + (f"({held})" if held else ""))
    return " ".join(found)


@pytest.mark.parametrize("name", PARTS)
def test_recipes_are_made_of_the_parts_whose_traces_are_tested(name: str) -> None:
    attack = recipe(name)
    made = (attack.goal, attack.candidates, attack.constraints, attack.search)
    assert tuple(map(classes, made)) == PARTS[name]


def test_every_recipe_is_here() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(PARTS) == set(FIGURES)


def at(start: Any, where: str) -> Any:
    """The attribute of an attack's part."""
    for name in where.split("."):
        if isinstance(start, list):
            (start,) = [one for one in start if type(one).__name__ == name]
        else:
            start = getattr(start, name)
    return start


@pytest.mark.parametrize("name", FIGURES)
def test_settings_are_the_published_ones(name: str) -> None:
    attack = recipe(name)
    found = [(where, at(attack, where)) for where, _ in FIGURES[name]]
    assert found == FIGURES[name]
