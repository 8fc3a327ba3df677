// `verbatim search-code FILE`, a step of the build: analyses the code that nearly every program maps, for all
// later runs.
#include <link.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "sim/supervisor/code/code_table.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

// Objects loaded by the simulator itself: the loader, the C library and others.
std::vector<std::string> loaded_objects() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* to) {
        if (object->dlpi_name[0] == '/') static_cast<std::vector<std::string>*>(to)->push_back(object->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

}  // namespace

int search_code(const std::string& file) {
  std::vector<std::string> paths = loaded_objects();
  std::set<std::string> folders;
  for (const std::string& path : paths) folders.insert(fs::path(path).parent_path());
  for (const std::string& folder : folders) {
    for (const char* const library : {"libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
                                      "libtinfo.so.6", "libresolv.so.2", "libselinux.so.1", "libpcre2-8.so.0", "libnuma.so.1"})
      paths.push_back(folder + "/" + library);
  }
  for (const char* const program : {"sh", "bash", "true", "false", "cat", "echo", "sleep", "ls"})
    paths.push_back(std::string("/bin/") + program);
  if (const std::string ours = shim_directory(); !ours.empty()) {
    for (const char* const part : kShimParts) paths.push_back(ours + "/" + part);
  }
  std::set<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (const fs::path real = fs::canonical(path, error); !error) files.insert(real);
  }
  const std::string failure = code::CodeTable::write(file, {files.begin(), files.end()});
  if (failure.empty()) return kAsExpected;
  complain(failure);
  return kUsage;
}

}  // namespace verbatim::cli
