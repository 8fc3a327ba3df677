// Copy-on-write views of working folders: the part in the program's process
// (verbs_shim/protocol/folder_view.h).
#pragma once

#include <cstdint>

#include "verbs_shim/protocol/folder_view.h"
#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/runtime/path.h"

namespace verbatim::shim {

// Copies into the view what `use` (bits kView…) requires at `native_path`. kUseCopy (0), kUseOriginal (1: the
// path has been replaced by the original's), or -errno.
long prepare_in_view(char (&native_path)[kPathRoom], std::int64_t use);
// The same for the use that the call `number` makes of its path number `i`, which leads into a view.
long prepare_in_view(long number, const long (&a)[6], const protocol::PathCall& call, int i, char (&native_path)[kPathRoom]);

// The call `number` has changed the file that `path` of it names: other processes with the same working
// folder may see it.
void note_shared_change(long number, const long (&a)[6], const protocol::PathCall& call, int i, const ResolvedPath& path);

// Whether the open file `fd` is in a view.
bool is_in_view(long fd);
// The program has just created the file open at `fd`, or the one at `native_path` if that is not nullptr.
void note_made_in_view(long fd, const char* native_path);
// Replaces the attributes that fstat, stat or a relative (`number`) has written to program memory at
// `address` for a file in a view. Precedes replace_machine_attributes().
void replace_view_attributes(long number, long address);
// Replaces the attributes of the machine's file `fd`, whether or not it is in a view.
void replace_attributes_of_machine_file(long number, long fd, long address);
// Replaces the `count` inode numbers in entries of getdents64 of `folder`.
void replace_view_numbers(long folder, std::uint64_t** entries, long count);

}  // namespace verbatim::shim
