// Bytes as the overview of a run in a recording: whatever is readable is written back unchanged, and shown as
// in the page of report.
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/check.h"
#include "tests/fuzz/show_run.h"
#include "tools/verbatim/overview_page.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  cli::RunOverview overview, again;
  std::string problem;
  const bool is_good = overview.read(bytes, &problem);
  CHECK(is_good == problem.empty());
  if (!is_good) return 0;
  const std::string written = overview.bytes();
  CHECK(again.read(written, &problem) && again.bytes() == written);
  if (fuzz::is_shown(bytes)) CHECK(cli::overview_blocks(overview, nullptr).index.is_object());
  return 0;
}
