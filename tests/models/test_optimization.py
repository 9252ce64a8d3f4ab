"""The learning rate over a run's steps."""

import pytest

from robustparse.errors import InputError
from robustparse.models.optimization import Optimization


def test_exponential_decay_is_that_of_the_paper():
    chosen = Optimization()
    assert chosen.factor(0, 0) == 1.0
    assert chosen.factor(5000, 0) == pytest.approx(0.75)
    assert chosen.factor(2500, 0) == pytest.approx(0.75**0.5)


def test_linear_falls_to_zero_at_the_last_step():
    chosen = Optimization(schedule="linear")
    assert [chosen.factor(step, 4) for step in range(6)] == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    # A run's length may be unknown.
    assert chosen.factor(10**6, float("inf")) == 1.0


def test_warm_up_rises_to_the_peak_and_linear_falls_after_it():
    chosen = Optimization(schedule="linear", warmup_steps=2)
    assert [chosen.factor(step, 6) for step in range(7)] == [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    assert Optimization(schedule="constant", warmup_steps=4).factor(1, 9) == 0.5


def test_epochs_decay_after_the_constant_ones():
    chosen = Optimization(schedule="epochs", decay=0.5, constant_epochs=2)
    assert [chosen.factor(epoch, 0) for epoch in range(6)] == [1.0, 1.0, 1.0, 0.5, 0.25, 0.125]


def test_constant_stays():
    assert {Optimization(schedule="constant").factor(step, 9) for step in range(9)} == {1.0}


@pytest.mark.parametrize(
    ("settings", "unused"),
    [
        ({"decay_steps": 9, "decay": 0.5}, []),
        ({"schedule": "epochs", "decay": 0.5, "decay_steps": 9}, ["decay_steps"]),
        ({"schedule": "linear", "decay": 0.5, "constant_epochs": 2}, ["decay", "constant_epochs"]),
        ({"method": "rmsprop", "betas": (0.5, 0.9), "alpha": 0.9}, ["betas"]),
        ({"alpha": 0.9}, ["alpha"]),
    ],
)
def test_settings_of_another_schedule_or_method_are_named(settings, unused):
    assert Optimization(**settings).unused == unused


@pytest.mark.parametrize(
    "wrong",
    [
        {"learning_rate": 0.0},
        {"decay": 0.0},
        {"decay": 1.5},
        {"decay_steps": 0},
        {"warmup_steps": -1},
        {"learning_rate": float("nan")},
        {"betas": (1.5, 0.9)},
        {"betas": (0.9, -0.1)},
        {"eps": -1.0},
        {"pretrained_learning_rate": float("inf")},
        {"schedule": "cosine"},
        {"method": "sgd"},
        {"alpha": 1.0},
        {"constant_epochs": -1},
        {"warmup_steps": 5, "schedule": "epochs"},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InputError) as caught:
        Optimization(**wrong)
    assert caught.value.key == f"optimization: {next(iter(wrong))}"
