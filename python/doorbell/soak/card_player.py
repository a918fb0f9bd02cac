# SPDX-License-Identifier: Apache-2.0
"""Steps of a drive that stores in SSDs (db_vcsd): what SSDs do at their worst."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doorbell.soak.card import CardMachine
from doorbell.soak.player import Player
from doorbell.soak.steps import Step


class CardPlayer(Player):
    """A run on a card with SSDs."""

    machine: CardMachine

    def _machine(self, top: str, image: Path, options: dict[str, Any], seed: int) -> CardMachine:
        return CardMachine(top, image, options, seed)

    def do_media_error(self, step: Step) -> None:
        """Its own memory holds settings alone."""
