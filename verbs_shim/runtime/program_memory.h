// Access to memory at addresses that the program has passed. A wrong address makes the call fail with EFAULT,
// as in the kernel, where a plain access would fault in the shim.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_shim/protocol/region.h"

namespace verbatim::shim {

// False: not all of the memory is mapped with the needed permission.
bool copy_bytes(void* to, const void* from, std::size_t size);

template <class T>
bool read_program(long address, T& value) {
  return copy_bytes(&value, reinterpret_cast<const void*>(address), sizeof value);
}
template <class T>
bool write_program(long address, const T& value) {
  return copy_bytes(reinterpret_cast<void*>(address), &value, sizeof value);
}
// Writes an optional result; true also if `address` is null.
template <class T>
bool write_if_asked(long address, const T& value) {
  return address == 0 || write_program(address, value);
}

// Copies the marked lines of `count` pages, concatenated. False: one of them is not mapped.
bool copy_lines(void* to, const protocol::PageLines* pages, std::uint64_t count);

// For the fault handler: whether the instruction at `rip` belongs to a copy, and where execution continues
// then.
bool is_failed_copy(std::uint64_t rip, std::uint64_t* goes_on);

}  // namespace verbatim::shim
