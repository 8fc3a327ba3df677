// Calls about a process's memory whose results would depend on the machine.
#pragma once

namespace verbatim::shim {

// madvise and arch_prctl with arguments that do not pass the filter (protocol/passing_calls.h).
long call_by_argument(long number, const long (&arguments)[6]);
// mincore, membarrier, memfd_create, pkey_alloc, pkey_free.
long memory_call(long number, const long (&arguments)[6]);
// mmap with MAP_32BIT at an address that is not fixed.
bool maps_low(long number, const long (&arguments)[6]);
long map_low(const long (&arguments)[6]);
// 0 if all of the `size` bytes from the page boundary `start` on are mapped, else -errno.
long mapped(unsigned long start, unsigned long size);
// Refuses the call for `value`, its deciding argument, with `error`; the supervisor reports it by name.
long refuse_argument(long number, long value, long error);
// Refuses a call that would change memory which the shim has mapped for itself.
long refuse_own_memory(long number);
// Reports to the supervisor a call about files whose `result` is an error of the machine, such as a full
// disk.
void report_machine_error(long number, long result);
// Reports to the supervisor that the machine has no room for a mapping that the program may have.
void report_failed_mapping(long size, long error);

}  // namespace verbatim::shim
