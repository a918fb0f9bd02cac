# SPDX-License-Identifier: Apache-2.0
"""Doorbell's Python side: the command line, the host driver, the simulator's server, builds and tests."""

__version__ = "0.1.0.dev0"
