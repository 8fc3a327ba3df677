// Sessions: any text is valid, or gives a sentence with its name.
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/check.h"
#include "tools/verbatim/shell/session_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim;
  std::string failure;
  const auto session = cli::parse_session({reinterpret_cast<const char*>(data), size}, "one.session", &failure);
  CHECK(session.has_value() == failure.empty());
  if (!session) {
    CHECK(failure.starts_with("one.session"));
    return 0;
  }
  CHECK(!session->replay.words.empty());
  std::int64_t last = 0;
  for (const cli::Session::Event& event : session->events) {
    CHECK(event.time_ps >= last && event.time_ps <= to_ps(kEndOfTime));
    CHECK(event.input.terminal < 1000 && event.shows.value_or(0) < 1000);
    last = event.time_ps;
  }
  return 0;
}
