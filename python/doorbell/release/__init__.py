# SPDX-License-Identifier: Apache-2.0
"""`doorbell release`: an archive that needs no Python to be simulated and synthesised, and a wheel for pip."""
