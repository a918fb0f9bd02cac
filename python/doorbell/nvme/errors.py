# SPDX-License-Identifier: Apache-2.0
"""What the host driver raises when a device misbehaves or is late."""

from __future__ import annotations


class ProtocolError(AssertionError):
    """The controller broke the protocol."""


class DeviceTimeout(TimeoutError):
    """The controller did not answer in time."""


class QueueFull(Exception):
    """No room in the submission queue."""
