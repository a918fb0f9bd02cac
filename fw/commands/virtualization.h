// SPDX-License-Identifier: Apache-2.0
// Virtualization Management, what Identify says of primary and secondary controllers (Base 2.0, 5.28, 8.26), and the vendor
// specific feature by which the PF says what each function may have of what all share.
#ifndef VIRTUALIZATION_H
#define VIRTUALIZATION_H

#include "commands/command.h"

handler_t virtualization_management;
/// Identify CNS 14h and 15h: the page of the buffers, and how many bytes of it are set.
uint32_t primary_capabilities(struct request* r);
uint32_t secondary_list(struct request* r);
/// Set and Get Features of Function Share. CDW11: whose, its CNTLID. Data: SHARE_BYTES (docs/virtualization.md).
handler_t function_share_set, function_share_get;

#endif
