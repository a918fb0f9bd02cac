# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak`: random commands and disturbances against a model of the specification. docs/soak.md describes it.

`steps` is the vocabulary; `generate` makes steps of a seed, `player` carries them out on a `machine` (a drive with its
host), `judge` says whether what came back is allowed, by the `model`; `shrink` makes a failing run short.
"""
