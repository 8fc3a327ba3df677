#include "tools/verbatim/run_series.h"

#include <cstdio>
#include <string_view>

namespace verbatim::cli {

std::string RunSeries::open(const std::string& path, const ComponentTable& components, Duration step, Tracer& tracer) {
  if (std::string failure = file_.open(path); !failure.empty()) return failure;
  const auto write = [this](std::string_view text) { std::fwrite(text.data(), 1, text.size(), file_.get()); };
  observe::Series& series = series_.emplace(components, step, write);
  tracer.add(static_cast<TraceSink&>(series));
  tracer.add(static_cast<ib::PacketObserver&>(series));
  tracer.add(static_cast<FactObserver&>(series));
  return "";
}

std::string RunSeries::finish(Instant end) {
  if (!series_) return "";
  series_->finish(to_ps(end));
  return file_.close();
}

}  // namespace verbatim::cli
