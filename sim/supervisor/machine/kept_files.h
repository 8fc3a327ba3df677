// Copies of what programs leave in the folders of their hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace verbatim::supervisor {

// A program can leave any number and size of files, the disk cannot take any.
struct KeptLimits {
  std::uint64_t bytes = std::uint64_t{16} << 30;  // of data; holes in files cost nothing
  std::uint64_t files = 1'000'000;                // with folders and links
};

struct KeptFiles {
  std::vector<std::string> failures;  // what should have been copied, and why it was not; one for each reason
  std::string left_out;               // a sentence that names FIFOs, sockets and devices; empty: there were none
  bool is_interrupted = false;
};

// Copies the folder `from` with all that is in it to `to`, which is made. Holes stay holes, files with several names stay one,
// and symbolic links are copied as they are. FIFOs, sockets and devices are left out. `is_interrupted` is asked often.
KeptFiles keep_files(const std::string& from, const std::string& to, const KeptLimits& limits,
                     const std::function<bool()>& is_interrupted);

}  // namespace verbatim::supervisor
