// Attributes of files in folders of the host's own: virtual times, numbers and figures in place of the machine's.
#pragma once

#include <cstdint>

namespace verbatim::shim {

// A file as the kernel finds it: a descriptor, or a path when `path` is not nullptr.
struct NativeFile {
  long fd;
  const char* path;
  bool follow;
};

// After fstat, stat and their relatives (`number`) have filled the program's memory at `address`.
void tell_attributes(long number, long address, const NativeFile& file);
// After fstatfs or statfs.
void tell_file_system(long address);
// The file has just been changed, or made, and so has the folder it is in.
void note_change(const NativeFile& file);
void note_made(const NativeFile& file);
void note_folder_of(const char* native_path);
// utimensat and its relatives: `times` as the call `number` has them, 0: now.
long set_times(long number, long times, const NativeFile& file);
// The same of `count` entries of getdents64 of `folder`, each of which begins with its number.
void tell_entry_numbers(long folder, std::uint64_t** entries, long count);
// Of a device that is the machine's, such as /dev/null; false: it is none.
bool tell_machine_device(long number, long address);

}  // namespace verbatim::shim
