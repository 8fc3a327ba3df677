// Attributes of files in the host's own folders: virtual times, inode numbers and sizes in place of the
// machine's. ("The machine" is the computer that runs the simulator.)
#pragma once

#include <cstdint>

namespace verbatim::shim {

// A file for the kernel: a descriptor, or a path when `path` is not nullptr.
struct NativeFile {
  long fd;
  const char* path;
  bool follow;
};

// Virtualizes the attributes that fstat, stat or a relative (`number`) has written to program memory at
// `address`.
void replace_attributes(long number, long address, const NativeFile& file);
// Replaces the result of fstatfs or statfs, since the free space of the machine's file systems changes from
// run to run. `own`: the path is in one of the host's own folders. `huge_page`: page size of hugetlbfs, 0: another file
// system.
void replace_file_system_status(long address, bool own, unsigned long huge_page);
// Sets the virtual change time of a changed file.
void note_change(const NativeFile& file);
// The same for a created file, which also gets its inode number and owners. `native_path`: its path; for a file of
// O_TMPFILE (`is_nameless`) its folder's.
void note_made(const NativeFile& file, const char* native_path, bool is_nameless);
// The same for the folder that contains `native_path`.
void note_folder_of(const char* native_path);
// utimensat and its relatives: `times` is the argument of the call `number`; 0: the present.
long set_times(long number, long times, const NativeFile& file);
// Replaces the inode numbers in `count` entries of getdents64 of `folder`; each entry begins with its number.
void replace_entry_numbers(long folder, std::uint64_t** entries, long count);
// As replace_attributes(), for a file of the machine. Hidden are the user who runs the simulator, access times,
// and the statx fields about the mount. A file that has changed since the run began shows the start of
// virtual time.
void replace_machine_attributes(long number, long address);
// chown and its relatives; -1 leaves an id unchanged. `own`: the file is in one of the host's own folders.
long change_owner(const NativeFile& file, bool own, long user, long group);
// access(2) as Linux answers root, for a file in one of the host's own folders.
long access_as_root(const char* path, long wanted);
// Adds the owner's permissions so that the machine user can open the file as root could; `mode` gets the
// permissions before. False: they were sufficient, or the file is of another type.
bool open_to_owner(const char* path, std::uint32_t* mode);
// Replaces the attributes of /dev/null, /dev/zero and /dev/full; false: the file is none of them.
bool replace_device_attributes(long number, long address);

}  // namespace verbatim::shim
