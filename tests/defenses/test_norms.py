"""Norm balls: normalize and project by property, random starts by their distribution."""

import itertools

import numpy as np
import pytest
import torch

from robustparse.defenses.norms import L2Ball, LinfBall, ball

KINDS = [("l2", "sentence"), ("l2", "token"), ("linf", "sentence"), ("linf", "token")]
EPSILON = 0.8


def norms(kind: tuple[str, str], delta: torch.Tensor) -> torch.Tensor:
    """Of each sentence, or of each of its units."""
    norm, per = kind
    rows = delta.flatten(1) if per == "sentence" else delta.flatten(0, 1)
    return rows.abs().amax(1) if norm == "linf" else (rows**2).sum(1).sqrt()


def some(seed: int, scale: float = 1.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(5, 4, 3, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_a_projection_is_the_nearest_point_of_the_ball(kind):
    space = ball(*kind)
    for seed, scale in itertools.product(range(5), (0.05, 0.4, 3.0)):
        delta = some(seed, scale)
        projected = space.project(delta, EPSILON)
        assert (norms(kind, projected) <= EPSILON * (1 + 1e-15)).all()
        # Of a convex set: no point of it lies beyond the plane through the nearest one.
        other = space.project(some(seed + 100), EPSILON)
        beyond = ((delta - projected) * (other - projected)).flatten(1).sum(1)
        assert (beyond <= 1e-12).all()
        assert torch.equal(space.project(projected * (1 - 1e-12), EPSILON), projected * (1 - 1e-12))


@pytest.mark.parametrize("kind", KINDS)
def test_no_step_of_norm_one_grows_faster_than_the_normalized_gradient(kind):
    space = ball(*kind)
    gradient = some(3)
    gradient[0], gradient[1, 2] = 0.0, 0.0
    best = space.normalize(gradient)
    there = norms(kind, gradient) > 0
    torch.testing.assert_close(
        norms(kind, best), there.to(best), rtol=1e-14, atol=0
    )  # zero stays zero
    for seed in range(50):
        other = space.project(some(seed, 10.0), 1.0)
        assert (gradient * other).sum() <= (gradient * best).sum() + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_normalizing_takes_any_gradient(kind, dtype):
    gradient = torch.zeros(4, 1, 6, dtype=dtype)
    gradient[1, 0, 0] = 1e-15
    gradient[2] = 1e3
    gradient[3, 0, 5] = -1e15
    scaled = ball(*kind).normalize(gradient)
    assert torch.isfinite(scaled).all()
    expected = torch.tensor([0.0, 1.0, 1.0, 1.0], dtype=dtype)
    torch.testing.assert_close(norms(kind, scaled), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_fill_the_ball_evenly(kind):
    """The part within radius r of n dimensions holds r ** n of the volume."""
    rng = np.random.Generator(np.random.Philox(1))
    units, dim = 2, 3
    drawn = np.stack([ball(*kind).draw(rng, units, dim) for _ in range(3000)])
    found = norms(kind, torch.from_numpy(drawn)).numpy()
    dimensions = dim if kind[1] == "token" else units * dim
    assert found.max() <= 1.0
    shares = np.sort(found**dimensions)
    assert np.abs(shares - np.linspace(0, 1, len(shares))).max() < 0.03
    assert np.abs(drawn.mean(0)).max() < 0.05  # no side is preferred


@pytest.mark.parametrize("kind", KINDS)
def test_the_cube_touches_the_ball_with_its_corners(kind):
    space = ball(*kind)
    corner = torch.full((1, 4, 3), space.half_side(4, 3), dtype=torch.float64)
    torch.testing.assert_close(norms(kind, corner), torch.ones_like(norms(kind, corner)))


def test_balls_by_name():
    assert isinstance(ball("l2", "token"), L2Ball)
    assert isinstance(ball("linf", "sentence"), LinfBall)
