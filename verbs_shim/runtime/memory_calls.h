// Calls about a process's memory whose outcome the machine would decide.
#pragma once

namespace verbatim::shim {

// madvise and arch_prctl with values that do not pass (protocol/passing_calls.h).
long call_by_argument(long number, const long (&arguments)[6]);
// mincore, membarrier, memfd_create, pkey_alloc, pkey_free.
long memory_call(long number, const long (&arguments)[6]);
// mmap with MAP_32BIT and no address that is fixed.
bool maps_low(long number, const long (&arguments)[6]);
long map_low(const long (&arguments)[6]);
// What is mapped in `size` bytes from `start` on, which is the start of a page: 0, or an errno.
long mapped(unsigned long start, unsigned long size);
// The call is refused for `value`, its argument that decides, with `error`: the supervisor says so by name.
long refuse_argument(long number, long value, long error);
// The call would change memory that the shim has mapped for itself.
long refuse_own_memory(long number);
// A call about files or folders has answered `result`: when that is the machine's doing, such as a full disk, the supervisor
// is told.
void tell_refused_by_machine(long number, long result);
// The machine had no room for a mapping that the program may have: the supervisor is told.
void tell_refused_mapping(long size, long error);

}  // namespace verbatim::shim
