# SPDX-License-Identifier: Apache-2.0
"""Errors that are shown to the user as they are."""

from __future__ import annotations


class UserError(Exception):
    """What is wrong and what to do about it, in one line. The command line prints it and exits with `status`."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status
