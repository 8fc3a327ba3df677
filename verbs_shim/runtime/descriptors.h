// Numbers of descriptors, as the kernel's table has them: those of simulated objects are held by copies of the placeholder,
// and the shim's own make room when the program needs their numbers.
#pragma once

#include <cstdint>

namespace verbatim::shim {

// `fd` is a simulated object's from now on.
void reserve_descriptor(std::int64_t fd, bool close_on_exec);
// And no more.
void release_descriptor(std::int64_t fd);
// The file that is next in the passage, at the lowest free number; -errno: there is none.
long fetch_passed_file(bool close_on_exec);
// It becomes `fd`.
void take_passed_file(std::int64_t fd, bool close_on_exec);

// A native call that may make a descriptor: the kernel's limit is the program's.
long call_with_room(long number, const long (&arguments)[6]);
// dup, dup2, dup3, and fcntl and ioctl on a simulated object, which the supervisor leaves to the kernel; others are made as they
// are.
long call_on_number(long number, const long (&arguments)[6]);
// fcntl(F_DUPFD) and its like on a real file.
long duplicate_from(const long (&arguments)[6]);

// The kernel's part of close_range: of every number but the shim's own. The supervisor closes what they stood for.
void close_descriptors(const long (&arguments)[6]);
// The kernel has closed a number.
void note_closed(long fd);

// The shim's own number for a new descriptor `fd` of its own, out of the program's way; -errno is handed on.
long move_out_of_the_way(long fd);
// Lifts the program's limit on descriptors while it lives.
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
