// Virtual lanes are independent inside an adapter, too (IBA 7.6): what waits for the credits of one holds up no other.
#include <gtest/gtest.h>

#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

constexpr ib::VirtualLane kLane0{0};
constexpr std::uint32_t kLong = 512 << 10;  // more than input buffer, output queue and gather buffer together

// A pair on lane 0, and one more on lane 1.
struct TwoLanes : Pair {
  TwoLanes() : Pair(options()) {
    EXPECT_TRUE(ready);
    PathOptions path;
    path.service_level = 1;
    for (Side* side : {&a, &b}) {
      Qp& mine = side == &a ? of_a : of_b;
      mine = side->program.create_qp(side->send_cq, side->recv_cq);
      EXPECT_EQ(side->program.to_init(mine, path), 0);
    }
    EXPECT_EQ(a.program.to_rtr(of_a, 2, of_b.made.number, path), 0);
    EXPECT_EQ(b.program.to_rtr(of_b, 1, of_a.made.number, path), 0);
    EXPECT_EQ(a.program.to_rts(of_a, path), 0);
    EXPECT_EQ(b.program.to_rts(of_b, path), 0);
  }
  static PairOptions options() {
    PairOptions options;
    options.world.profile.virtual_lanes = 2;
    options.path.timeout = 0;  // what is held is not lost
    return options;
  }
  static bool is_on_lane_0(const ib::Packet& packet) { return packet.lrh.lane == kLane0; }

  void write(Side& from, Side& to, Qp& qp, std::uint64_t wr_id, std::uint32_t length) {
    from.program.post_send(qp, {.wr_id = wr_id,
                                .opcode = WqeOpcode::kRdmaWrite,
                                .sges = {from.sge(0, length)},
                                .remote_va = Program::kBuffer,
                                .rkey = to.mr.rkey});
  }
  std::vector<std::uint64_t> completed() {
    std::vector<std::uint64_t> all;
    for (const protocol::Cqe& entry : a.program.drain(a.send_cq)) {
      EXPECT_EQ(entry.status, 0);
      all.push_back(entry.wr_id);
    }
    return all;
  }

  Qp of_a, of_b;  // on lane 1
};

constexpr Duration kLongEnough{1'000'000'000};

TEST(LaneTest, requests_of_a_lane_without_credits_hold_up_no_other_lane) {
  TwoLanes pair;
  pair.world.to_server.holds = TwoLanes::is_on_lane_0;
  pair.write(pair.a, pair.b, pair.a.qp, 1, kLong);
  pair.world.run_for(kLongEnough);
  ASSERT_FALSE(pair.world.client_port->has_room(kLane0));
  pair.write(pair.a, pair.b, pair.of_a, 2, 64 << 10);
  pair.world.run_for(kLongEnough);
  EXPECT_EQ(pair.completed(), std::vector<std::uint64_t>{2});
  // The lane then continues where it was.
  pair.world.to_server.let_go(pair.world.engine.now());
  pair.world.run();
  EXPECT_EQ(pair.completed(), std::vector<std::uint64_t>{1});
}

TEST(LaneTest, acknowledgements_of_a_lane_without_credits_hold_up_no_other_lane) {
  TwoLanes pair;
  pair.world.to_client.holds = TwoLanes::is_on_lane_0;
  pair.write(pair.b, pair.a, pair.b.qp, 9, kLong);
  pair.world.run_for(kLongEnough);
  ASSERT_FALSE(pair.world.server_port->has_room(kLane0));
  pair.write(pair.a, pair.b, pair.a.qp, 1, 8);
  pair.world.run_for(kLongEnough);
  pair.write(pair.a, pair.b, pair.of_a, 2, 8);
  pair.world.run_for(kLongEnough);
  EXPECT_EQ(pair.completed(), std::vector<std::uint64_t>{2});
  pair.world.to_client.let_go(pair.world.engine.now());
  pair.world.run();
  EXPECT_EQ(pair.completed(), std::vector<std::uint64_t>{1});
}

TEST(LaneTest, a_queue_pair_that_waits_for_the_gather_buffer_of_its_lane_keeps_its_turn) {
  TwoLanes pair;
  pair.world.to_server.holds = TwoLanes::is_on_lane_0;
  pair.write(pair.a, pair.b, pair.a.qp, 1, kLong);
  pair.world.run_for(kLongEnough);
  for (std::uint64_t i = 2; i < 20; ++i) pair.write(pair.a, pair.b, i % 2 == 0 ? pair.of_a : pair.a.qp, i, 4096);
  pair.world.run_for(kLongEnough);
  EXPECT_EQ(pair.completed(), (std::vector<std::uint64_t>{2, 4, 6, 8, 10, 12, 14, 16, 18}));
  pair.world.to_server.let_go(pair.world.engine.now());
  pair.world.run();
  EXPECT_EQ(pair.completed(), (std::vector<std::uint64_t>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}));
}

}  // namespace
}  // namespace verbatim::test
