#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reservations of a namespace that a PF and its first VF share, by nvme-cli: each is a host of its own, though one Linux has
# both. What is asked comes behind this (test_vm_reservations.py), a call a line; each answers in a line. Needs
# nvme_core.multipath=N: else Linux takes both for ways to one disk.
set -u -o pipefail
fail() { echo "FAILED: $*"; dmesg | tail -n 30; exit 1; }
answer() {  # in short: how a command of nvme-cli ended
  local text
  text=$("$@" 2>&1 </dev/null)
  case $text in
    *"NVMe status: "*) text=${text#*NVMe status: } text=${text%%:*} ;;
    *uccess*) text=success ;;
  esac
  echo "${text%%$'\n'*}"
}
controller() {  # with this CNTLID
  local c
  for c in /sys/class/nvme/nvme*; do
    [ "$(cat "$c/cntlid" 2>/dev/null) $(cat "$c/state" 2>/dev/null)" = "$1 live" ] && echo "/dev/${c##*/}"
  done
}
comes() { for _ in {1..600}; do [ -n "$(controller "$1")" ] && return; sleep 0.1; done; fail "no controller $1"; }
disk() {  # of a controller: namespace 1
  local f
  for f in "/sys/class/nvme/${1##*/}"/nvme*n*/nsid; do
    [ "$(cat "$f" 2>/dev/null)" = 1 ] && f=${f%/nsid} && echo "/dev/${f##*/}"
  done
}
has() { for _ in {1..600}; do [ -b "$(disk "$1")" ] && return; sleep 0.1; done; fail "$1 has no namespace 1"; }

comes 0
pf=$(controller 0)
address=$(cat "/sys/class/nvme/${pf##*/}/address")
for d in /sys/bus/pci/devices/*; do
  [ "$(cat "$d/class")" = 0x010802 ] && [ "${d##*/}" != "$address" ] && vf=${d##*/}
done
nvme delete-ns "$pf" --namespace-id=1 >/dev/null || fail "delete"
nvme create-ns "$pf" --nsze=4096 --ncap=4096 --flbas=0 --nmic=1 >/dev/null || fail "create"
nvme attach-ns "$pf" --namespace-id=1 --controllers=0,1 >/dev/null || fail "attach"
for resource in 0 1; do nvme virt-mgmt "$pf" -c 1 -r $resource -n 2 -a 8 >/dev/null || fail "assign"; done
nvme virt-mgmt "$pf" -c 1 -a 9 >/dev/null || fail "online"
for _ in {1..600}; do  # the kernel has given it up, as it was offline, or not
  [ -n "$(controller 1)" ] && break
  [ -e "/sys/bus/pci/devices/$vf/driver" ] || echo "$vf" >/sys/bus/pci/drivers/nvme/bind 2>/dev/null
  sleep 0.1
done
comes 1
controllers=("$pf" "$(controller 1)")
for c in "${controllers[@]}"; do has "$c"; done
disks=("$(disk "${controllers[0]}")" "$(disk "${controllers[1]}")")
echo "disks: ${disks[*]}"

host_id() { printf '%b' "$2" >/tmp/id; answer nvme set-feature "${controllers[$1]}" -f 0x81 --value=1 -l 16 -d /tmp/id; }
ask() { local which=$1 what=$2; shift 2; answer nvme "$what" "${disks[$which]}" "$@"; }
report() { nvme resv-report "${disks[$1]}" "${@:2}" -o json 2>&1 | tr -d ' \n\t'; echo; }
notice() { nvme resv-notif-log "${controllers[$1]}" -o json 2>&1 | tr -d ' \n\t'; echo; }
feature() { nvme get-feature "${controllers[$1]}" --namespace-id=1 --feature-id="$2" 2>&1 | sed 's/.*value: *//' | head -n 1; }
may() { if "$@" >/tmp/out 2>&1; then echo -n yes; else sed -n 's/.*: \(.*\)/\1/p' /tmp/out | head -n 1 | tr -d '\n'; fi; }
io() {  # read, write
  echo "$(may dd if="${disks[$1]}" of=/dev/null bs=4k count=1 iflag=direct), $(may dd if=/dev/zero of="${disks[$1]}" bs=4k count=1 oflag=direct)"
}
