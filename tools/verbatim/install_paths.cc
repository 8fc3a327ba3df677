#include "tools/verbatim/install_paths.h"

#include <algorithm>
#include <filesystem>

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

fs::path executable_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : self.parent_path();
}

// The existing folders of the two: beside the executable in a build tree, and in an installation's data.
std::vector<std::string> existing(const char* in_build, const char* in_data) {
  const fs::path here = executable_folder();
  std::vector<std::string> folders;
  std::error_code error;
  for (const fs::path& folder : {here / in_build, here.parent_path() / "share" / "verbatim" / in_data}) {
    if (fs::is_directory(folder, error)) folders.push_back(folder.lexically_normal());
  }
  return folders;
}

}  // namespace

std::string shim_directory() {
  const fs::path here = executable_folder();
  const fs::path libdir = VERBATIM_LIBDIR;  // "lib" or "lib/x86_64-linux-gnu"
  std::vector<fs::path> candidates = {here / "lib"};
  if (libdir.is_relative()) candidates.push_back(here.parent_path() / libdir / "verbatim");
  candidates.push_back(here.parent_path() / "lib" / "verbatim");
  candidates.push_back(here.parent_path() / "lib64" / "verbatim");
  std::error_code error;
  const auto is_complete = [&](const fs::path& folder) {
    return std::ranges::all_of(kShimParts, [&](const char* part) { return fs::is_regular_file(folder / part, error); });
  };
  const auto found = std::ranges::find_if(candidates, is_complete);
  return found == candidates.end() ? "" : found->lexically_normal();
}

std::vector<std::string> profile_folders() { return existing("topologies/profiles", "topologies/profiles"); }
std::vector<std::string> topology_folders() { return existing("topologies", "topologies"); }
std::vector<std::string> lab_folders() { return existing("labs", "scenarios/labs"); }

}  // namespace verbatim::cli
