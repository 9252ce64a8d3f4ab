"""Candidate generators: what may replace a word."""
