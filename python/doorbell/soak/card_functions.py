# SPDX-License-Identifier: Apache-2.0
"""Several functions of a card with SSDs (db_vcsd): a machine for the PF and one for each VF, and their players. What
SSDs do concerns all functions; the PF's player does it for them."""

from __future__ import annotations

from doorbell.device.switch_sim import SwitchSim
from doorbell.nvme.errors import DeviceTimeout
from doorbell.soak.card import CardMachine
from doorbell.soak.card_player import CardPlayer
from doorbell.soak.crowd import Crowd, Member
from doorbell.soak.functions import PfMachine, VfMachine
from doorbell.soak.steps import Step


class CardPfMachine(PfMachine, CardMachine):
    """The PF's host."""

    patience_us = CardMachine.patience_us

    def _first_look(self) -> None:
        if not self.comes_up(self.all_bits):
            raise DeviceTimeout(f"of new SSDs only {self.sim.up:#b} are up")
        super()._first_look()

    def _first_on(self, fn: int) -> int:
        """On one SSD after the other; the shared one is striped over all."""
        return self.shape.ssds + 1 if fn == self.functions - 1 else fn % self.shape.ssds + 1


class CardVfMachine(VfMachine, CardMachine):
    """The host of a VF: it sees no SSD, but its shutdown flushes them."""

    pf: CardPfMachine
    patience_us = CardMachine.patience_us

    @property
    def sim(self) -> SwitchSim:
        return self.pf.sim


class CardMember(Member, CardPlayer):
    """The player of one function."""

    machine: CardPfMachine | CardVfMachine  # type: ignore[assignment]

    @property
    def _of_pf(self) -> CardMember:
        pf = self.crowd.members[0]
        assert isinstance(pf, CardMember)
        return pf

    def ssd_fails(self, ssd: int, lies: bool = False) -> None:
        for m in self.crowd.members:
            m.judge.ssd_fails(ssd, lies)

    def ssds_mended(self) -> None:
        for m in self.crowd.members:
            m.judge.ssds_mended()

    def mend_media(self) -> None:
        if not self._resetting:
            CardPlayer.mend_media(self._of_pf)

    def do_media_error(self, step: Step) -> None:
        CardPlayer.do_media_error(self._of_pf, step)


class CardCrowd(Crowd):
    """A run of several functions of a card."""

    pf_machine = CardPfMachine
    vf_machine = CardVfMachine
    member = CardMember

    def play(self, step: Step) -> None:
        super().play({**step, "fn": 0} if step["do"].startswith("ssd_") else step)
