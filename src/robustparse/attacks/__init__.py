"""The attack engine: problems, goals, candidates, constraints, searches, and one scheduler."""
