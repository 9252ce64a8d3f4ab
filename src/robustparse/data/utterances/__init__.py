"""Utterances with logical forms, and the raw texts they were made of."""
