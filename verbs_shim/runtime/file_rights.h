// What the user that a thread has made itself may do to files: of the host's own folders the supervisor knows, by the owners that
// programs see; of the machine's the kernel decides when the call is made (file_user.h).
#pragma once

#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/runtime/path.h"

namespace verbatim::shim {

// Why the thread may not do the call `number` to the files that its paths lead to: -errno, else 0.
long error_of_rights(long number, const long (&a)[6], const protocol::PathCall& call, const ResolvedPath (&resolved)[2]);
// The same of a call that changes the open file `fd` other than by its content.
long error_of_rights(long number, long fd);

}  // namespace verbatim::shim
