// The program's side of copy-on-write views of working folders (verbs_shim/protocol/folder_view.h).
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/folder_view.h"
#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/runtime/path.h"

namespace verbatim::shim {

// Makes what is needed of the copy at `native_path`; `use`: bits kView…. 0, 1: the path is now that of the original, or -errno.
long prepare_in_view(char (&native_path)[kPathRoom], std::int64_t use);
// The same of what the call `number` does with its path number `i`, which leads into a view.
long prepare_in_view(long number, const long (&a)[6], const protocol::PathCall& call, int i, char (&native_path)[kPathRoom]);

// The call `number` has changed what `path` of it leads to: whoever works in the same folder may find that.
void note_shared_change(long number, const long (&a)[6], const protocol::PathCall& call, int i, const ResolvedPath& path);

// Whether the open file `fd` is in a view.
bool is_in_view(long fd);
// The program has just made the file that `fd` is, or the one at `native_path` (not nullptr).
void note_made_in_view(long fd, const char* native_path);
// After fstat, stat and their relatives (`number`) have filled the program's memory at `address` with the attributes of a file in
// a view; before tell_machine_attributes().
void tell_view_attributes(long number, long address);
// Attributes of the machine's file `fd`, whether or not it is in a view.
void tell_attributes_of_machine_file(long number, long fd, long address);
// Replaces the `count` inode numbers that getdents64 of `folder` has given.
void tell_view_numbers(long folder, std::uint64_t** entries, long count);

}  // namespace verbatim::shim
