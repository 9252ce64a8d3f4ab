"""One attack at several edit budgets: the points of a robustness curve."""

import copy
from collections.abc import Sequence

from robustparse.attacks.attack import Attack
from robustparse.errors import InputError


def at_budgets(attack: Attack, gammas: Sequence[float]) -> dict[float, Attack]:
    """Return the attack at each budget over 0, rising; budget 0 is no attack.

    Args:
        attack: left as it is.
        gammas: fractions of the words that may be changed.

    Raises:
        InputError: a budget is out of range or given twice, or the search has none.
    """
    if not all(0.0 <= gamma <= 1.0 for gamma in gammas) or len(set(gammas)) < len(gammas):
        raise InputError(f"must be different fractions in [0, 1], got {list(gammas)}", key="gammas")
    if gammas and not hasattr(attack.search, "gamma"):
        raise InputError(
            f"{type(attack.search).__name__} has no edit budget",
            key="gammas",
            expected="a search that has a gamma, as Zheng2020",
        )
    return {gamma: _with_gamma(attack, gamma) for gamma in sorted(gammas) if gamma}


def _with_gamma(attack: Attack, gamma: float) -> Attack:
    changed = copy.copy(attack)
    changed.search = copy.copy(attack.search)
    changed.search.gamma = gamma  # type: ignore[attr-defined]
    return changed


def percent_name(name: str, gamma: float) -> str:
    """Return the name that a value at a budget is logged by: ``robust/success@15``."""
    return f"{name}@{100 * gamma:g}"
