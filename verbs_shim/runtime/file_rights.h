// File permissions of a thread that has changed its user. The supervisor decides about the host's own
// folders, by the owners that programs see; the kernel decides about the machine's files when the call is
// made (file_user.h).
#pragma once

#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/runtime/path.h"

namespace verbatim::shim {

// Error of the call `number` on the files that its paths name, for lack of permission: -errno, else 0 or
// protocol::kClearsSetGroupId.
long error_of_rights(long number, const long (&a)[6], const protocol::PathCall& call, const ResolvedPath (&resolved)[2]);
// The same for a call that changes the attributes of the open file `fd`.
long error_of_rights(long number, long fd);

}  // namespace verbatim::shim
