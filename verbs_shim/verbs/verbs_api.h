// <infiniband/verbs.h> for the library that implements it: what it declares is exported, and the macros that
// wrap the old entry points are out of the way.
#pragma once

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
