// Path resolution. The runtime's only resolver: all spellings of a path lead to the same result.
#pragma once

#include "verbs_shim/protocol/path_view.h"

namespace verbatim::shim {

using protocol::kPathRoom;

struct ResolvedPath {
  enum class Where {
    kReal,    // a file of the machine, or an invalid path: the kernel executes the call unchanged
    kElsewhere,  // a file of the machine that the kernel would not find by the program's spelling: `native`
    kMoved,   // in one of the host's own folders; `native` is its name on the machine
    kTree,    // in a tree of the supervisor; `seen` is unresolved from the entry into the tree on
    kFolder,  // starts at a virtual descriptor, which only the supervisor can resolve
    kWrong,   // fails with `error`
  };
  Where where = Where::kReal;
  long error = 0;
  bool known = false;     // `seen` is valid
  char seen[kPathRoom];   // absolute
  char native[kPathRoom];
  // kMoved: offset in `native` at which the starting folder ends: the host's own folder, or that of a
  // relative path.
  std::uint32_t begin = 0;
  // kElsewhere: `native` is in a view of a working folder (folder_view.h).
  bool in_view = false;
};

// How a call treats the last component of its path.
enum class LastName {
  kFollowed,  // a symbolic link there is followed
  kKept,      // it is followed only if a slash or "." ends the path
  kEntry,     // made or removed: never followed, and "." and ".." are refused by the kernel
};

// `path` is an address in the program's memory.
void resolve_path(long folder, long path, LastName last, ResolvedPath& resolved);
// The same for a path of the shim.
void resolve_text(const char* path, LastName last, ResolvedPath& resolved);

// Replaces the machine's path `real` by the program's name for it; false: that is too long.
bool seen_from_real(char (&real)[kPathRoom]);
// Whether the open file `fd` is in one of the host's own folders.
bool is_own_file(long fd);
// The machine's name of that file; returns its length, or 0 if the file is elsewhere.
long name_of_own_file(long fd, char (&name)[kPathRoom]);
// Whether `seen` is in a shared working folder of the machine; `folder` gets that folder's path.
bool is_in_shared_folder(const char* seen, char (&folder)[kPathRoom]);
// Whether the open file `fd` is in a view of a working folder; `name` gets the machine's name of the file.
bool leads_into_view(long fd, char (&name)[kPathRoom]);
// Whether `link`, a link such as /proc/self/fd/3, leads to a file outside the host's own folders.
bool leads_to_machine_file(const char* link);

}  // namespace verbatim::shim
