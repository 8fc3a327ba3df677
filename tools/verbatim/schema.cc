#include "sim/config/schema.h"

#include <cstdio>
#include <fstream>

#include "tools/verbatim/cli.h"

namespace verbatim::cli {

int write_schemas(const std::string& folder) {
  for (const auto& [name, text] : config::published_schemas()) {
    const std::string path = folder + "/" + name;
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      complain("cannot write " + path + "; make the folder first, or check its permissions");
      return kUsage;
    }
    std::printf("%s\n", path.c_str());
  }
  return kAsExpected;
}

}  // namespace verbatim::cli
