"""Recipes: files of YAML that name classes, read under the rules of ``robustparse.trust``."""
