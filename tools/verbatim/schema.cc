#include "sim/config/schema.h"

#include <cstdio>

#include "tools/verbatim/cli.h"
#include "tools/verbatim/labs/grade_file.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

int write_schemas(const std::string& folder) {
  auto schemas = config::published_schemas();
  schemas.push_back(grade_schema());
  for (const auto& [name, text] : schemas) {
    const std::string path = folder + "/" + name;
    if (const std::string failure = write_document(path, text); !failure.empty()) {
      complain(failure);
      return kUsage;
    }
    std::printf("%s\n", path.c_str());
  }
  return kAsExpected;
}

}  // namespace verbatim::cli
