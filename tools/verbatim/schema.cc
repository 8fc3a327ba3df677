#include "sim/config/schema.h"

#include <cstdio>
#include <fstream>

#include "tools/verbatim/cli.h"
#include "tools/verbatim/labs/grade_file.h"

namespace verbatim::cli {

int write_schemas(const std::string& folder) {
  auto schemas = config::published_schemas();
  schemas.push_back(grade_schema());
  for (const auto& [name, text] : schemas) {
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
