// Disk space that a run takes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace verbatim::cli {

// Bytes on the disk of all files below `folder`.
std::uintmax_t bytes_below(const std::filesystem::path& folder);
// Bytes of the folders of the run that the first process makes (run_folder.h), and of deleted files that any of the processes
// has open on the disk of these folders.
std::uintmax_t bytes_of_run(const std::vector<pid_t>& processes);

}  // namespace verbatim::cli
