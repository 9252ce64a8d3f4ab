"""Searches: generators that ask for scores and return the state they settle on."""
