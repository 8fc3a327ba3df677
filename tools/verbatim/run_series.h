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
  // Returns a sentence if the file cannot be opened, else "". The components must outlive this object.
  std::string open(const std::string& path, const ComponentTable& components, Duration step, Tracer& tracer);
  // Ends the run. Returns a sentence if the file could not be written, else "".
  std::string finish(Instant end);

 private:
  OutputStream file_;
  std::optional<observe::Series> series_;
};

}  // namespace verbatim::cli
