// <infiniband/verbs.h> for its implementation: declared functions are exported, and macros that wrap old
// entry points are undefined.
#pragma once

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
