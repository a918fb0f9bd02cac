// SPDX-License-Identifier: Apache-2.0
// What a host says to operators in the data path, where there are any (docs/csd/integration.md): keys and bindings, features
// C0h to CDh, log pages ECh and EDh.
#ifndef OPERATORS_H
#define OPERATORS_H

#include "commands/command.h"

handler_t key_load, key_erase, bind_operator;

/// Set and Get Features; CDW10 says which.
handler_t operator_feature_set, operator_feature_get;

/// Log pages, built in the page of the buffers; how many bytes have been set.
#define OPERATORS_BYTES 512u
#define RESULTS_BYTES (64u + 32u * 64u)
#define RESULTS_SPACE (64u + CFG_RESULTS * 64u)  // that are used; behind them zeros
handler_t operators_page, results_page;

/// It needs no key, or the key that it needs is in a slot of the function.
bool operator_key_is_own(const struct request* r, uint32_t nsid);

#endif
