#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What nvme-cli and the kernel say of a PF with two VFs, one line a question: the same on any drive but for numbers that are
# its own. Nothing is attached to a VF. Run on a drive of ours and on QEMU's (test_vm_pf.py).
set -u -o pipefail
drive=/dev/nvme0
pci=$(readlink -f /sys/class/nvme/nvme0/device)
answer() {  # in short: how a command of nvme-cli ended
  local text
  text=$("$@" 2>&1 </dev/null)
  case $text in
    *"NVMe status: "*) text=${text#*NVMe status: } text=${text%%:*} ;;
    *"(NRM):"*) text="success, $((${text##*:})) resources" ;;
    *uccess*) text=success ;;
  esac
  echo "${text%%$'\n'*}"
}
virt() { local what=$1; shift; echo "$what: $(answer nvme virt-mgmt $drive "$@")"; }
cap() { nvme primary-ctrl-caps $drive | sed -n "s/^$1 *: //p"; }
keys() { grep -o '"[a-z-]*":' | tr -d '":' | sort -u | tr '\n' ' '; }
secondaries() {  # state, queues, interrupts of each
  local fields
  fields=$(nvme list-secondary $drive | sed -n 's/ *\(SCS\|NVQ\|NVI\) .*: \(0x\)\?\([0-9a-f]*\).*/\3/p')
  echo "$1: $(sed 's/^0*\(.\)/\1/' <<<"$fields" | tr '\n' ' ')"
}
assigned() { echo "$1: $(cap vqrfa) queues, $(cap virfa) interrupts"; }

[ -c $drive ] || { echo "no drive"; exit 1; }
if [ -e "$pci/sriov_numvfs" ]; then
  echo 0 >"$pci/sriov_drivers_autoprobe"
  virt "online, VFs not enabled" -c 1 -a 9
  echo 2 >"$pci/sriov_numvfs"
else
  echo "online, VFs not enabled: the guest cannot enable them"
fi
most=$(cap vqfrsm) all=$(cap vqfrt)
echo "fields of the capabilities: $(nvme primary-ctrl-caps $drive -o json | keys)"
echo "fields of the list: $(nvme list-secondary $drive -o json | keys)"
echo "types of resources: $(cap crt)"
echo "granularity: $(cap vqgran) $(cap vigran)"
echo "identifiers: $(nvme list-secondary $drive | grep -E 'SCID|PCID|VFN' | sed 's/.*: *//' | tr '\n' ' ')"
echo "from the second on: $(nvme list-secondary $drive -c 2 | sed -n 's/.*SCID.*: //p' | tr '\n' ' ')"
echo "controllers: $(nvme list-ctrl $drive | tr -d '\n')"
echo "CMIC: $(nvme id-ctrl $drive | sed -n 's/^cmic *: //p')"
echo "Virtualization Management in OACS: $((($(nvme id-ctrl $drive | sed -n 's/^oacs *: //p') >> 7) & 1))"

secondaries "at first"
virt "online without anything" -c 1 -a 9
virt "assign 2 queues" -c 1 -r 0 -n 2 -a 8
virt "online without interrupts" -c 1 -a 9
virt "assign 2 interrupts" -c 1 -r 1 -n 2 -a 8
secondaries "assigned"
assigned "in all"
virt "online" -c 1 -a 9
secondaries "is online"
virt "online again" -c 1 -a 9
virt "assign to one online" -c 1 -r 0 -n 3 -a 8
virt "more queues than one may have" -c 2 -r 0 -n $((most + 1)) -a 8
virt "more queues than are left" -c 2 -r 0 -n $((all - 2 + 1)) -a 8
virt "all that are left" -c 2 -r 0 -n $((all - 2)) -a 8 | sed "s/$((all - 2)) resources/all/"
virt "one queue is too few" -c 2 -r 0 -n 1 -a 8
virt "an interrupt for it" -c 2 -r 1 -n 1 -a 8
virt "online with one queue" -c 2 -a 9
for id in 0 3 65535; do
  virt "online, controller $id" -c $id -a 9
  virt "offline, controller $id" -c $id -a 7
  virt "assign, controller $id" -c $id -r 0 -n 1 -a 8
done
virt "resource of another type" -c 2 -r 2 -n 1 -a 8
for action in 0 2 6 10 15; do virt "action $action" -c 2 -a $action; done
virt "the PF's own for a VF" -c 1 -r 0 -n 1 -a 1
virt "more than there are for the PF" -c 0 -r 0 -n 1000 -a 1
virt "nothing for the PF" -c 0 -r 0 -n 0 -a 1
secondaries "before it goes offline"
virt "offline" -c 1 -a 7
secondaries "is offline"
virt "offline again" -c 1 -a 7
for id in 1 2; do
  virt "again 2 queues, $id" -c $id -r 0 -n 2 -a 8
  virt "again 2 interrupts, $id" -c $id -r 1 -n 2 -a 8
  virt "again online, $id" -c $id -a 9
done
secondaries "both online"
echo 1 >/sys/class/nvme/nvme0/reset_controller
secondaries "after a reset of the PF"
assigned "in all after it"

ns() { local what=$1 command=$2; shift 2; echo "$what: $(answer nvme "$command" $drive "$@")"; }
ns "attach what is attached" attach-ns -n 1 -c 0
ns "attach what is private" attach-ns -n 1 -c 1
ns "detach from who has it not" detach-ns -n 1 -c 1
ns "attach to nobody there" attach-ns -n 1 -c 99
ns "delete" delete-ns -n 3
ns "attach what is not there" attach-ns -n 3 -c 1
ns "create" create-ns -s 4096 -c 4096 -f 0
ns "attach it" attach-ns -n 3 -c 2
echo "namespaces: $(nvme list-ns $drive --all | sed 's/.*://' | tr '\n' ' ')"
if [ -e "$pci/virtfn0" ]; then
  echo "lspci PF"
  lspci -vvv -n -s "${pci##*/}" | sed 's/^/|/'
  vf=$(readlink -f "$pci/virtfn0")
  echo "lspci VF"
  lspci -vvv -n -s "${vf##*/}" | sed 's/^/|/'
fi
echo "config: $(xxd -p -c 64 -s 320 -l 64 "$pci/config")"
dmesg | grep -v 'ommand line:' | grep -E 'nvme.*(timeout|abort|CFS|I/O error)' | sed 's/^/kernel: /'
echo fine
