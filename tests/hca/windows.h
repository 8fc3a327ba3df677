// Memory windows of the programs of driver.h.
#pragma once

#include <cstdint>

#include "tests/hca/driver.h"

namespace verbatim::test {

struct Window {
  std::uint32_t handle = 0, rkey = 0;
};

// `type` is ibv_mw_type 1 or 2.
inline Window alloc_mw(Program& program, std::uint32_t type, int* status = nullptr) {
  protocol::AllocMw alloc{};
  alloc.pd = program.pd;
  alloc.type = type;
  const int result = program.command(alloc);
  if (status != nullptr) *status = result;
  return {alloc.handle, alloc.rkey};
}

}  // namespace verbatim::test
