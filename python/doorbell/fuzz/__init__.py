# SPDX-License-Identifier: Apache-2.0
"""Random inputs, guided by the coverage that they reach: what is fuzzed, and how it is built and run.
docs/fuzzing.md."""

from doorbell.fuzz.running import Outcome, run
from doorbell.fuzz.targets import CORPUS, TARGETS, Target

__all__ = ["CORPUS", "TARGETS", "Outcome", "Target", "run"]
