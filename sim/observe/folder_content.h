// What a folder of a run holds, as records of the trace, and so part of the digest: for every entry below it, in the order
// of the bytes of its path, its kind, its length, its content and where a symbolic link leads. Not part of it is what the
// machine decides or a user's mask does: owners, permissions, times, numbers of inodes, how much room a file takes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/core/trace.h"

namespace verbatim::observe {

// A record for each entry, of the component; its bytes are the path from the folder on. A folder that is not there has no
// entries. Folders in `known`, paths from the folder on, were there before the run: they have no record of their own, but
// what is in them has. Returns one sentence for each entry that could not be read, whose content is then not in the trace.
std::vector<std::string> record_folder(Tracer& tracer, ComponentId component, const std::string& folder,
                                       const std::set<std::string>& known = {});

// What identifies the content of a file, as 32 digits; empty when it cannot be read.
std::string content_digest(const std::string& path);

}  // namespace verbatim::observe
