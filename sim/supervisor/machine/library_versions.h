// Symbol versions that a program needs of the libraries that the simulator replaces. The loader ends a program if one of
// them is missing, therefore they are compared before a run starts.
#pragma once

#include <map>
#include <string>

namespace verbatim::supervisor {

// Returns which version is missing, and which file needs it; empty: none. `program`: path of the file. `environment`: of
// the program (LD_LIBRARY_PATH). `shim_directory` has the simulator's libraries. Looks at the program and at the libraries
// that it needs, directly or not, in the folders where the loader looks for them: LD_LIBRARY_PATH, the run path of the
// file that needs the library, and the system's folders; not at /etc/ld.so.cache. A library that is not found there is
// not looked at, nor is one that the program loads by dlopen().
std::string missing_version(const std::string& program, const std::map<std::string, std::string>& environment,
                            const std::string& shim_directory);

}  // namespace verbatim::supervisor
