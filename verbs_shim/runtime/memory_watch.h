// Reports memory that the program takes away while watch_memory() is active (runtime.h). A call that traps
// only for this has the same effect as untrapped: it takes no virtual time.
#pragma once

#include <cstdint>

namespace verbatim::shim {

bool memory_is_watched();
// Whether the call trapped only because memory, or code that changes, is watched (filter.cc).
bool trapped_only_by_watch_filter(long number, const long (&arguments)[6]);
unsigned long end_of_heap();
// Reports the effect of a call that has returned `result`. `heap_end`: end of the heap before a brk.
void report_memory_gone(long number, const long (&arguments)[6], long result, unsigned long heap_end);
// Stack address at which fill_frames() starts; 0: the stack pointer of the trapped call.
inline __thread std::uint64_t stack_of_call __attribute__((visibility("hidden"))) = 0;
// Reports a detached System V segment.
void report_segment_gone(unsigned long start, unsigned long size);

}  // namespace verbatim::shim
