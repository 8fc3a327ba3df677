// A call of a program as it begins and when it has ended, for whoever wants to see calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "sim/core/time.h"
#include "verbs_shim/protocol/told_calls.h"

namespace verbatim::supervisor {

struct ProgramCall {
  const std::string& host;
  std::uint32_t pid = 0, tid = 0;
  Instant now{};
  std::uint64_t place =
      0;  // the same as the call begins and when it has ended, and no other's of the thread meanwhile
  protocol::ToldCall call{};
  // Copies from the program's memory as much as is mapped there, from the beginning on; how many bytes.
  std::function<std::size_t(std::uint64_t address, std::span<std::byte> to)> read;
};

}  // namespace verbatim::supervisor
