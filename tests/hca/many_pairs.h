// Several connected queue pairs between the two adapters of a Pair, with the Pair's CQs; the Pair's own queue
// pair is not used.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/hca/driver.h"

namespace verbatim::test {

struct ManyPairs : Pair {
  static constexpr std::uint64_t kArea = 4096;  // size of each queue pair's area in both buffers

  ManyPairs(const PairOptions& options, std::uint32_t count) : Pair(options) {
    EXPECT_TRUE(ready);
    for (std::uint32_t i = 0; i < count; ++i) {
      Qp mine = a.program.create_qp(a.send_cq, a.recv_cq, options.capabilities, options.type);
      Qp theirs = b.program.create_qp(b.send_cq, b.recv_cq, options.capabilities, options.type);
      EXPECT_EQ(a.program.to_init(mine, options.path), 0);
      EXPECT_EQ(b.program.to_init(theirs, options.path), 0);
      EXPECT_EQ(a.program.to_rtr(mine, 2, theirs.made.number, options.path), 0);
      EXPECT_EQ(b.program.to_rtr(theirs, 1, mine.made.number, options.path), 0);
      EXPECT_EQ(a.program.to_rts(mine, options.path), 0);
      EXPECT_EQ(b.program.to_rts(theirs, options.path), 0);
      of_a.push_back(mine);
      of_b.push_back(theirs);
    }
  }

  SendRequest request(std::uint32_t i, WqeOpcode opcode, std::uint32_t length) const {
    return {.wr_id = i,
            .opcode = opcode,
            .sges = {a.sge(i * kArea, length)},
            .remote_va = Program::kBuffer + i * kArea,
            .rkey = b.mr.rkey};
  }
  SendRequest write(std::uint32_t i, std::uint32_t length) const {
    return request(i, WqeOpcode::kRdmaWrite, length);
  }

  std::vector<Qp> of_a, of_b;
};

}  // namespace verbatim::test
