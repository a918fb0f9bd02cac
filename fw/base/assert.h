// SPDX-License-Identifier: Apache-2.0
// The generated register header asks for <assert.h>; static_assert is all it needs.
#ifndef ASSERT_H
#define ASSERT_H
#define static_assert _Static_assert
#endif
