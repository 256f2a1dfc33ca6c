"""What trials with the real agents on workers are given."""

from tests.trial.conftest import model, program

__all__ = ["model", "program"]
