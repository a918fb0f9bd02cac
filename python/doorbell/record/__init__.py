# SPDX-License-Identifier: Apache-2.0
"""A real stream through the simulated recorder to N drives, and back."""

from doorbell.record.capture import capture
from doorbell.record.playback import play
from doorbell.record.recording import Recording
from doorbell.record.session import Session

__all__ = [
    "Recording",
    "Session",
    "capture",
    "play",
]
