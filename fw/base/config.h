// SPDX-License-Identifier: Apache-2.0
// Everything about the drive that is a choice and not hardware: names, limits, defaults.
#ifndef CONFIG_H
#define CONFIG_H

#ifndef FUNCTIONS
#define FUNCTIONS 1  // NVMe controllers that there is memory for: build.py --functions
#endif
/// Of a function that runs seldom, and that nobody waits for: its size counts.
#define SMALL __attribute__((minsize))

#ifndef PROGRAMS
#define PROGRAMS 1  // 0: without programs of near-storage commands: build.py --no-programs
#endif
#ifndef EXTENTS
#define EXTENTS 0  // 1: namespaces are on SSDs, granule by granule (db_vcsd): build.py --extents
#endif
#ifndef SLM
#define SLM 0  // 1: namespaces of memory and of programs, each function's own: build.py --slm
#endif
#define MAX_SECONDARY 16u
#define FIRST_VF 4u  // PCIe number of the first VF, as db_pcie_fn_pkg has it

#define CFG_PCI_VENDOR 0x1234u  // must be what configuration space says
#define CFG_PCI_SUBVENDOR 0x1234u
#define CFG_MODEL "Doorbell SSD"
#define CFG_MODEL_CSD "Doorbell CSD"  // with operators in the data path
#define CFG_FIRMWARE "0.1.0"
#define CFG_SERIAL "DB"  // followed by 8 hex digits: word 1 of the image (build.py --serial)
#define CFG_NQN "nqn.2014-08.org.nvmexpress:uuid:"
#define CFG_UUID 0xd0, 0x0b, 0xbe, 0x11, 0x00, 0x00, 0x40, 0x00, 0x80, 0x00, 0x00, 0x00  // + serial
#define CFG_OUI 0x02, 0xdb, 0x55  // locally administered: the project has no block of its own

#define CFG_MDTS 8u  // 2^8 pages of 4 KiB = 1 MiB
// Of what the media does by itself, so that none of it takes for ever. A longer range is not refused.
#define CFG_WZSL 16u                          // Write Zeroes: 2^16 pages of 4 KiB, which is what NLB can say
#define CFG_DMRSL (1u << 18)                  // Dataset Management: blocks of a range
#define CFG_DMRL (EXTENTS ? DSM_RANGES : 0u)  // ranges; more are refused
#define CFG_DMSL ((uint64_t)CFG_DMRSL * (EXTENTS ? CFG_DMRL : 256u))  // and of all
#define CFG_MQES 4095u                                                // as CAP.MQES
#define CFG_RAB 3u                                                    // recommended arbitration burst: 2^3
#define CFG_ABORT_LIMIT 4u                                            // as many as queues can be watched
#define CFG_WATCH_US 100000u  // longest wait of an Abort for a command that its queue still holds
#define CFG_AER_LIMIT 4u
#define CFG_ERROR_LOG (FUNCTIONS > 1 ? 8u : 32u)  // entries, a function
#define CFG_RESULTS (FUNCTIONS > 1 ? 4u : 32u)    // of reducers that are kept for log page EDh, a function
// A result comes so long after its command has ended, at most. With others at work there is no other sign that all came.
#define CFG_REDUCING_US (FUNCTIONS > 1 ? 1000u : CFG_WAIT_US)
#define CFG_KEEP_ALIVE_100MS 10u  // granularity of Keep Alive

// Temperatures in kelvin. There is no sensor: the drive always reports CFG_TEMPERATURE.
#define CFG_TEMPERATURE 313u
#define CFG_TEMP_WARNING 343u
#define CFG_TEMP_CRITICAL 358u

#define CFG_WAIT_US 10000000u       // longest wait for the data path to come to rest
#define CFG_POLL_US 100u            // how often a command that waits for something without an event looks again
#define CFG_ZERO_BYTES (16u << 20)  // of the media at once: so long others wait for it
#define CFG_RETRY_100MS 1u  // Identify's CRDT1: when to come again with a command for a namespace whose key changes

#endif
