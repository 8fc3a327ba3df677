// Calls on descriptors of the machine's files.
#pragma once

#include <cstdint>

namespace verbatim::shim {

// fcntl and ioctl: commands that name a process or depend on the file system do not reach the kernel.
long control_file(long number, const long (&arguments)[6]);
// copy_file_range
long copy_file_range(const long (&arguments)[6]);
// Action::kSpliceFile: one end of the splice is a virtual pipe, which has room for or holds `most` bytes.
long splice_file(const long (&arguments)[6], std::int64_t most);
bool is_regular_file(long fd);
// For calls that the kernel does not make: -EBADF if the descriptor is not open, or is one of O_PATH, else 0.
long error_of_descriptor(long fd);
// Whether mknod or mknodat asks for a device, which is refused.
bool makes_device(long number, const long (&arguments)[6]);

}  // namespace verbatim::shim
