# SPDX-License-Identifier: Apache-2.0
"""Mutation of the tests: small changes of the RTL, and whether a test notices. docs/mutation.md."""

from doorbell.mutate.changes import Mutant, mutants_of
from doorbell.mutate.covering import Check, checks_of

__all__ = ["Check", "Mutant", "checks_of", "mutants_of"]
