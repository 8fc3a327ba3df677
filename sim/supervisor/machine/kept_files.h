// Copies files that programs leave in the folders of their hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace verbatim::supervisor {

// Limits, since a program can leave more than the disk has room for.
struct KeptLimits {
  std::uint64_t bytes = std::uint64_t{16} << 30;  // of data; holes do not count
  std::uint64_t files = 1'000'000;                // including folders and links
};

struct KeptFiles {
  // files that were not copied, with the reason; one sentence for each reason
  std::vector<std::string> failures;
  std::string left_out;               // sentence that names FIFOs, sockets and devices; empty: none
  bool is_interrupted = false;
};

// Copies the folder `from` with its content to `to`, which is created. Preserves holes, hard links and
// symbolic links. Leaves out FIFOs, sockets and devices. Calls `is_interrupted` often.
KeptFiles keep_files(const std::string& from, const std::string& to, const KeptLimits& limits,
                     const std::function<bool()>& is_interrupted);

}  // namespace verbatim::supervisor
