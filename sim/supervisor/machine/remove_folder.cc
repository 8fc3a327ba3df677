#include "sim/supervisor/machine/remove_folder.h"

#include <filesystem>
#include <system_error>

namespace verbatim::supervisor {

void remove_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  // A folder that its owner may not write to cannot be emptied.
  for (auto it = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) fs::permissions(it->path(), fs::perms::owner_all, ignored);
  }
  fs::remove_all(path, error);
}

}  // namespace verbatim::supervisor
