// Responses of commands agree with queries, and with the adapter's behaviour.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::QpState;
using ib::WcStatus;

TEST(AgreementTest, a_query_tells_the_psns_that_come_next) {
  PairOptions options = small_mtu();
  options.path.sq_psn = options.path.rq_psn = 0xfffffe;
  Pair pair(options);
  const auto psns = [](Pair::Side& side) {
    const auto attributes = side.program.query(side.qp).attributes;
    return std::pair(attributes.sq_psn, attributes.rq_psn);
  };
  EXPECT_EQ(psns(pair.a), std::pair(0xfffffeu, 0xfffffeu));
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, 700));   // three packets
  pair.a.program.post_send(pair.a.qp, read_from(pair, 0, 500));  // a response of two
  pair.world.run();
  EXPECT_EQ(psns(pair.a), std::pair(3u, 0xfffffeu));
  EXPECT_EQ(psns(pair.b), std::pair(0xfffffeu, 3u));
  ASSERT_EQ(pair.a.program.to_state(pair.a.qp, QpState::kReset), 0);
  EXPECT_EQ(psns(pair.a), std::pair(0u, 0u));
}

// A packet without acknowledgement counts as sent, also during retransmission.
TEST(AgreementTest, a_query_tells_the_first_psn_that_was_never_sent) {
  PairOptions options = small_mtu();
  options.path.timeout = 5;
  Pair pair(options);
  pair.world.to_server.keep = [n = 0](ib::Packet&) mutable { return n++ >= 8; };
  pair.a.program.post_send(pair.a.qp, write_to(pair, 0, 1000));
  while (pair.world.trace.count(TraceEvent::kRetransmission) == 0) ASSERT_TRUE(pair.world.engine.step());
  EXPECT_EQ(pair.a.program.query(pair.a.qp).attributes.sq_psn, 1004u);
}

TEST(AgreementTest, the_notice_of_a_drained_queue_is_asked_for_each_time) {
  Pair pair;
  const auto drain = [&](std::uint8_t asks) {
    protocol::QpAttributes attributes{};
    attributes.qp_state = static_cast<std::uint32_t>(QpState::kSqd);
    attributes.en_sqd_async_notify = asks;
    const std::uint32_t mask = ib::kQpState | (asks != 0 ? std::uint32_t{ib::kQpEnSqdAsyncNotify} : 0u);
    EXPECT_EQ(pair.a.program.modify(pair.a.qp, mask, attributes), 0);
    pair.world.run();
    EXPECT_EQ(pair.a.program.to_state(pair.a.qp, QpState::kRts), 0);
    std::size_t told = 0;
    for (const auto& event : pair.a.program.async_events) {
      told += event.event_type == static_cast<std::uint32_t>(AsyncEventType::kSqDrained) ? 1 : 0;
    }
    return told;
  };
  EXPECT_EQ(drain(1), 1u);
  EXPECT_EQ(drain(0), 1u);
  EXPECT_EQ(drain(1), 2u);
}

TEST(AgreementTest, a_shared_queue_has_the_entries_that_were_granted) {
  Pair pair;
  for (const std::uint32_t asked : {0u, 1u, 2u, 4u}) {
    const Srq srq = pair.a.program.create_srq(10, asked);
    const auto now = pair.a.program.query(srq);
    EXPECT_GE(srq.made.max_sge, asked);
    EXPECT_EQ(now.max_sge, srq.made.max_sge);
    EXPECT_EQ(now.max_wr, srq.made.max_wr);
  }
}

TEST(AgreementTest, a_completion_queue_is_no_longer_than_the_device_says) {
  PairOptions options;
  options.world.profile.max_cqe = 1000;
  Pair pair(options);
  protocol::QueryDevice device{};
  ASSERT_EQ(pair.a.program.command(device), 0);
  protocol::CreateCq create{};
  create.cqe = 1000;
  create.channel_fd = -1;
  ASSERT_EQ(pair.a.program.command(create), 0);
  EXPECT_GE(create.cqe, 1000u);
  EXPECT_LE(create.cqe, device.attributes.max_cqe);
  protocol::ResizeCq resize{};
  resize.handle = create.handle;
  resize.cqe = 999;
  ASSERT_EQ(pair.a.program.command(resize), 0);
  EXPECT_GE(resize.cqe, 999u);
  EXPECT_LE(resize.cqe, device.attributes.max_cqe);
}

// ibv_reg_mr_iova(3), as the Linux core checks for every adapter.
TEST(AgreementTest, an_iova_has_the_place_in_its_page_that_the_address_has) {
  Pair pair;
  const auto status = [&](std::uint64_t offset, std::uint64_t iova) {
    protocol::RegMr reg{};
    reg.start = Program::kBuffer + offset;
    reg.length = 100;
    reg.iova = iova;
    reg.pd = pair.a.program.pd;
    return pair.a.program.command(reg);
  };
  EXPECT_EQ(status(0, 0x7000), 0);
  EXPECT_EQ(status(40, 0x7028), 0);
  EXPECT_EQ(status(40, 0x7000), EINVAL);
  EXPECT_EQ(status(0, 0x7008), EINVAL);
}

int create_ah(Pair& pair, const protocol::AddressVector& path) {
  protocol::CreateAh create{};
  create.pd = pair.a.program.pd;
  create.address = path;
  create.address.port = 1;
  return pair.a.program.command(create);
}

TEST(AgreementTest, an_address_handle_goes_to_a_lid_that_can_be) {
  Pair pair;
  for (const auto& [lid, status] :
       {std::pair(0, EINVAL), {1, 0}, {0xbfff, 0}, {0xc000, 0}, {0xfffe, 0}, {0xffff, EINVAL}}) {
    EXPECT_EQ(create_ah(pair, {.dlid = static_cast<std::uint16_t>(lid)}), status) << lid;
  }
}

TEST(AgreementTest, an_empty_index_of_the_gid_table_is_refused_and_never_answered_by_another) {
  for (const bool roce : {false, true}) {
    PairOptions options;
    options.world.roce = roce;
    options.path.is_global = true;
    Pair pair(options, false);
    ASSERT_EQ(pair.a.program.to_init(pair.a.qp, options.path), 0);
    protocol::QpAttributes rtr{};
    rtr.qp_state = static_cast<std::uint32_t>(QpState::kRtr);
    rtr.path.dlid = 2;
    rtr.path.is_global = 1;
    rtr.path.sgid_index = 1;
    rtr.path.port = 1;
    rtr.path.dgid[15] = 2;
    rtr.path_mtu = 5;
    constexpr std::uint32_t kMask = ib::kQpState | ib::kQpAv | ib::kQpPathMtu | ib::kQpDestQpn | ib::kQpRqPsn |
                                    ib::kQpMaxDestRdAtomic | ib::kQpMinRnrTimer;
    EXPECT_EQ(pair.a.program.modify(pair.a.qp, kMask, rtr), ENODATA) << roce;
    EXPECT_EQ(create_ah(pair, rtr.path), ENODATA) << roce;
    rtr.path.sgid_index = 0;
    EXPECT_EQ(create_ah(pair, rtr.path), 0) << roce;
    EXPECT_EQ(pair.a.program.modify(pair.a.qp, kMask, rtr), 0) << roce;
  }
}

TEST(AgreementTest, an_ethernet_address_that_cannot_be_is_no_neighbour_to_wait_for) {
  PairOptions options;
  options.world.roce = options.path.is_global = true;
  Pair pair(options);
  protocol::AddressVector path{.is_global = 1};
  EXPECT_EQ(create_ah(pair, path), EINVAL) << "zero";
  path.dgid[15] = 9;
  EXPECT_EQ(create_ah(pair, path), ETIMEDOUT);
  path.dgid[10] = path.dgid[11] = 0xff;
  EXPECT_EQ(create_ah(pair, path), EINVAL) << "of another IP version than the source";
}

// IBA 9.6.1.2: without the GRH that its path has, or with another one, a packet is not the peer's.
TEST(AgreementTest, the_grh_of_a_connection_is_that_of_its_path) {
  for (int kind = 0; kind < 5; ++kind) {
    PairOptions options;
    options.path.is_global = kind != 4;
    options.path.timeout = 5;
    Pair pair(options);
    pair.world.to_server.keep = [kind](ib::Packet& packet) {
      if (kind == 1) packet.grh.reset();
      if (kind == 2) packet.grh->source.raw[0] ^= 1;
      if (kind == 3) packet.grh->destination.raw[0] ^= 1;
      if (kind == 4) packet.grh.emplace();
      return true;
    };
    pair.a.program.post_send(pair.a.qp, write_to(pair, 0, 100));
    pair.world.run();
    const WcStatus expected = kind == 0 ? WcStatus::kSuccess : WcStatus::kRetryExceeded;
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, code(expected)) << kind;
  }
}

}  // namespace
}  // namespace verbatim::test
