// Memory that the program takes away while somebody wants to know of it (runtime.h: watch_memory). A call that comes here for
// that alone does what it would do by itself: it takes no time, and nothing else shows of it.
#pragma once

#include <cstdint>

namespace verbatim::shim {

bool memory_is_watched();
// The call would have passed (filter.cc) if memory were not watched.
bool came_to_be_watched(long number, const long (&arguments)[6]);
unsigned long end_of_heap();
// The call has been answered with `result`; `heap_end` is where the heap ended before, of brk.
void tell_memory_gone(long number, const long (&arguments)[6], long result, unsigned long heap_end);
// Where the stack begins that fill_frames() looks at; 0: in a trapped call, where that call's does.
inline __thread std::uint64_t stack_of_call __attribute__((visibility("hidden"))) = 0;
// A segment has been detached.
void tell_segment_gone(unsigned long start, unsigned long size);

}  // namespace verbatim::shim
