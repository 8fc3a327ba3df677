// Records the content of a folder in the trace, and so in the digest: for each entry below it, sorted by the
// bytes of its path, its kind, length, content and the target of a symbolic link. Owners, permissions, times,
// inode numbers and disk usage are left out, because they depend on the machine or the user's umask.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/core/trace.h"

namespace verbatim::observe {

// Adds a record of `component` for each entry; its bytes are the path below the folder. A missing folder has
// no entries. Folders in `known` (paths below the folder) existed before the run and get no record, but their
// content does. Returns one sentence for each entry that could not be read; the content of these is not in
// the trace.
std::vector<std::string> record_folder(Tracer& tracer, ComponentId component, const std::string& folder,
                                       const std::set<std::string>& known = {});

// Hash of a file's content in 32 digits; empty if it cannot be read.
std::string content_digest(const std::string& path);

}  // namespace verbatim::observe
