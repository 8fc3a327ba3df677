// Replay files: any text is valid, or gives a sentence with its name.
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/check.h"
#include "tools/verbatim/replay_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string failure;
  const auto replay = cli::parse_replay(text, "race.replay", &failure);
  CHECK(replay.has_value() == failure.empty());
  if (!replay) {
    CHECK(failure.starts_with("race.replay"));
    return 0;
  }
  CHECK(text.find('\0') == text.npos);
  for (const explore::Decision& decision : replay->decisions)
    CHECK(decision.answer >= 1 && decision.answer < decision.alternatives);
  return 0;
}
