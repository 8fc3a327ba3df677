// Where a path leads. The one resolver of the runtime: whatever way a path is spelled, it ends at the same place.
#pragma once

#include "verbs_shim/protocol/path_view.h"

namespace verbatim::shim {

using protocol::kPathRoom;

struct ResolvedPath {
  enum class Where {
    kReal,    // the machine's, or nowhere: the kernel takes the call as it is
    kElsewhere,  // the machine's, but the kernel would not come there by the program's spelling: `native`
    kMoved,   // in a folder of the host's own; `native` is its name on the machine
    kTree,    // the supervisor's; from the place where it enters a tree on, `seen` is as it was written
    kFolder,  // starts at a virtual descriptor, and only the supervisor knows where that is
    kWrong,   // `error`
  };
  Where where = Where::kReal;
  long error = 0;
  bool known = false;     // `seen` is told
  char seen[kPathRoom];   // absolute
  char native[kPathRoom];
  // Of kMoved: where in `native` the folder ends from which the way leads: the host's, or where a relative path starts.
  std::uint32_t begin = 0;
  // With kElsewhere: `native` is in a view of a working folder (folder_view.h).
  bool in_view = false;
};

// `path`: in the program's memory.
void resolve_path(long folder, long path, bool follow, ResolvedPath& resolved);
// The same of a path that is ours.
void resolve_text(const char* path, bool follow, ResolvedPath& resolved);

// What the program calls the machine's `real`, in place; false: it becomes too long.
bool seen_from_real(char (&real)[kPathRoom]);
// Whether the open file `fd` lies in a folder of the host's own.
bool is_own_file(long fd);
// The machine's name of it, if it does; its length, or 0.
long name_of_own_file(long fd, char (&name)[kPathRoom]);
// Whether `seen` is in a folder of the machine that programs work in; its path goes to `folder`.
bool is_in_shared_folder(const char* seen, char (&folder)[kPathRoom]);
// Whether the open file `fd` is in a view of a working folder; `name` gets the machine's name of it.
bool leads_into_view(long fd, char (&name)[kPathRoom]);
// Whether what the kernel calls `link`, such as /proc/self/fd/3, is a link to a file that does not.
bool leads_to_machine_file(const char* link);

}  // namespace verbatim::shim
