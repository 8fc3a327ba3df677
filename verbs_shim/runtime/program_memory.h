// Memory at addresses that the program has given with a call, which may be wrong: a call answers EFAULT then, as the kernel
// does, where a plain access would be a fault of the shim's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_shim/protocol/region.h"

namespace verbatim::shim {

// False: not all of it is there, or may be written.
bool copy_bytes(void* to, const void* from, std::size_t size);

template <class T>
bool read_program(long address, T& value) {
  return copy_bytes(&value, reinterpret_cast<const void*>(address), sizeof value);
}
template <class T>
bool write_program(long address, const T& value) {
  return copy_bytes(reinterpret_cast<void*>(address), &value, sizeof value);
}
// What is optional and not asked for has been written.
template <class T>
bool write_if_asked(long address, const T& value) {
  return address == 0 || write_program(address, value);
}

// Copies lines of `count` pages, one after the other. False: one of them is not mapped.
bool copy_lines(void* to, const protocol::PageLines* pages, std::uint64_t count);

// For the handler of faults: whether the instruction at `rip` is a copy's, and where it goes on then.
bool is_failed_copy(std::uint64_t rip, std::uint64_t* goes_on);

}  // namespace verbatim::shim
