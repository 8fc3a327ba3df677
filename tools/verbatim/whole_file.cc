#include "tools/verbatim/whole_file.h"

#include <filesystem>
#include <fstream>

#include "tools/verbatim/interrupted.h"

namespace verbatim::cli {

std::string write_whole_file(const std::string& path, const std::string& text) {
  const std::string part = path + ".part";
  const TemporaryPath temporary(part);
  std::ofstream file(part, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, path, error);
  if (file && !error) return "";
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  std::filesystem::remove(path, ignored);  // what an earlier run left tells nothing of this one
  return "cannot write " + path;
}

}  // namespace verbatim::cli
