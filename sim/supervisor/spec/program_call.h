// A call of a program, reported at its begin and at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "sim/core/time.h"
#include "verbs_shim/protocol/reported_calls.h"

namespace verbatim::supervisor {

struct ProgramCall {
  const std::string& host;
  std::uint32_t pid = 0, tid = 0;
  Instant now{};
  std::uint64_t place =
      0;  // equal at begin and end of a call; differs from the thread's other current calls
  protocol::ReportedCall call{};
  // Copies program memory from the beginning as far as it is mapped; returns the number of bytes.
  std::function<std::size_t(std::uint64_t address, std::span<std::byte> to)> read;
};

}  // namespace verbatim::supervisor
