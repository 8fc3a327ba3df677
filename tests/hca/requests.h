// Requests between the two ends of a Pair, and faults of their packets.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "tests/hca/driver.h"

namespace verbatim::test {

inline std::uint8_t code(ib::WcStatus status) { return static_cast<std::uint8_t>(status); }

// A path MTU of 256 bytes.
inline PairOptions small_mtu() {
  PairOptions options;
  options.path.mtu = 1;
  return options;
}

// A request of a that reads from or writes to b, `offset` bytes after the beginning of b's buffer.
inline SendRequest read_from(const Pair& pair, std::uint64_t offset, std::uint32_t length, std::uint64_t to = 0) {
  return {.wr_id = 4,
          .opcode = WqeOpcode::kRdmaRead,
          .sges = {pair.a.sge(to, length)},
          .remote_va = Program::kBuffer + offset,
          .rkey = pair.b.mr.rkey};
}
// Adds 1 to the word at that offset of the peer's buffer. The old value goes to the same offset of the own one.
inline SendRequest add_one_at(const Pair& pair, std::uint64_t offset) {
  SendRequest add = read_from(pair, offset, 8, offset);
  add.opcode = WqeOpcode::kAtomicFetchAdd;
  add.compare_add = 1;
  return add;
}
inline SendRequest write_to(const Pair& pair, std::uint64_t offset, std::uint32_t length) {
  return {.wr_id = 4,
          .opcode = WqeOpcode::kRdmaWrite,
          .sges = {pair.a.sge(0, length)},
          .remote_va = Program::kBuffer + offset,
          .rkey = pair.b.mr.rkey};
}

// 8 bytes of a side's buffer.
inline std::uint64_t word(Pair::Side& side, std::uint64_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, side.program.memory.at(Program::kBuffer + offset, 8).data(), 8);
  return value;
}
inline void set_word(Pair::Side& side, std::uint64_t offset, std::uint64_t value) {
  std::memcpy(side.program.memory.at(Program::kBuffer + offset, 8).data(), &value, 8);
}

// Loses packets of one direction with these numbers, counted among all packets of that direction.
inline std::function<bool(ib::Packet&)> lose(std::vector<std::uint32_t> which) {
  return [which, n = 0u](ib::Packet&) mutable {
    return std::find(which.begin(), which.end(), n++) == which.end();
  };
}

}  // namespace verbatim::test
