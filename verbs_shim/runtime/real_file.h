// Calls on descriptors that are the machine's files.
#pragma once

namespace verbatim::shim {

// fcntl and ioctl: what names a process or is up to the file system is not the kernel's.
long control_file(long number, const long (&arguments)[6]);
// copy_file_range
long copy_file_range(const long (&arguments)[6]);
bool is_regular_file(long fd);
// mknod and mknodat: devices are nobody's to make.
bool makes_device(long number, const long (&arguments)[6]);

}  // namespace verbatim::shim
