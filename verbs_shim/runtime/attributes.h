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
// After fstatfs or statfs; `own`: of a folder of the host's own. How full the machine's are changes from run to run.
void tell_file_system(long address, bool own, unsigned long huge_page);
// The file has just been changed, or made, and so has the folder it is in.
void note_change(const NativeFile& file);
void note_made(const NativeFile& file);
void note_folder_of(const char* native_path);
// utimensat and its relatives: `times` as the call `number` has them, 0: now.
long set_times(long number, long times, const NativeFile& file);
// The same of `count` entries of getdents64 of `folder`, each of which begins with its number.
void tell_entry_numbers(long folder, std::uint64_t** entries, long count);
// After the same of a file of the machine's: who runs the simulator does not show, nor when somebody has read the file last, nor
// what Linux tells besides of its mount. What has changed since the run began has changed at the beginning of virtual time.
void tell_machine_attributes(long number, long address);
// chown and its relatives: -1 leaves it; `own`: the file is in a folder of the host's own.
long change_owner(const NativeFile& file, bool own, long user, long group);
// access(2) as Linux answers root, of a file in a folder of the host's own.
long access_as_root(const char* path, long wanted);
// The same file is made to be opened by its owner as root opens it; its permissions before are in `mode`. False: it was so.
bool open_to_owner(const char* path, std::uint32_t* mode);
// Of a device that is the machine's, such as /dev/null; false: it is none.
bool tell_machine_device(long number, long address);

}  // namespace verbatim::shim
