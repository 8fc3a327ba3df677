// Descriptor numbers in the kernel's table. A simulated object's number is reserved by a copy of the
// placeholder. The shim's own descriptors move when the program needs their numbers.
#pragma once

#include <cstdint>

namespace verbatim::shim {

// Reserves `fd` for a simulated object.
void reserve_descriptor(std::int64_t fd, bool close_on_exec);
// Releases `fd` again.
void release_descriptor(std::int64_t fd);
// Receives the next file from the passage, at the lowest free number; -errno if there is none.
long fetch_passed_file(bool close_on_exec);
// The same, at number `fd`.
void take_passed_file(std::int64_t fd, bool close_on_exec);

// A native call that may create a descriptor. Moves the shim's descriptors when they keep the program below
// its limit.
long call_with_room(long number, const long (&arguments)[6]);
// dup, dup2, dup3, and fcntl and ioctl on a simulated object that the supervisor leaves to the kernel. Other
// calls are made unchanged.
long call_on_number(long number, const long (&arguments)[6]);
// fcntl(F_DUPFD) and F_DUPFD_CLOEXEC on a real file.
long duplicate_from(const long (&arguments)[6]);

// The kernel's part of close_range: all numbers but the shim's own. The supervisor closes the simulated
// objects.
void close_descriptors(const long (&arguments)[6]);
// The kernel has closed the number `fd`.
void note_closed(long fd);

// Moves a new descriptor `fd` of the shim above the program's range. Returns its new number, or `fd` if it could
// not be moved or is negative.
long move_out_of_the_way(long fd);
// Raises the process's soft limit on descriptors to the hard limit during its lifetime.
class AnyDescriptor {
 public:
  AnyDescriptor();
  ~AnyDescriptor();
  AnyDescriptor(const AnyDescriptor&) = delete;
  AnyDescriptor& operator=(const AnyDescriptor&) = delete;

 private:
  unsigned long before_[2];
};

}  // namespace verbatim::shim
