// `run --series FILE`: time series of a run (sim/observe/series.h) in a file.
#pragma once

#include <optional>
#include <string>

#include "sim/core/trace.h"
#include "sim/observe/series.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

class RunSeries {
 public:
  // A sentence when the file cannot be opened. The components outlive this.
  std::string open(const std::string& path, const ComponentTable& components, Duration step, Tracer& tracer);
  // The run ends. A sentence when the file could not be written.
  std::string finish(Instant end);

 private:
  OutputStream file_;
  std::optional<observe::Series> series_;
};

}  // namespace verbatim::cli
