#include "tests/abi/fixture.h"

namespace verbatim::fake {
namespace {

using Poll = VerbsTest;

TEST_F(Poll, every_field_reaches_the_completion) {
  protocol::Cqe cqe{};
  cqe.wr_id = 1;
  cqe.qpn = qp->qp_num;
  cqe.byte_length = 2;
  cqe.immediate = 3;
  cqe.source_qp = 4;
  cqe.source_lid = 5;
  cqe.pkey_index = 6;
  cqe.status = IBV_WC_REM_ACCESS_ERR;
  cqe.opcode = IBV_WC_RECV;
  cqe.flags = IBV_WC_WITH_IMM;
  cqe.vendor_error = 7;
  cqe.service_level = 8;
  cqe.dlid_path_bits = 9;
  cqe.queue = protocol::CqeQueue::kReceive;
  world().complete(fake_cq(cq), cqe);
  ibv_wc wc{};
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 1u);
  EXPECT_EQ(wc.qp_num, qp->qp_num);
  EXPECT_EQ(wc.byte_len, 2u);
  EXPECT_EQ(wc.imm_data, 3u);
  EXPECT_EQ(wc.src_qp, 4u);
  EXPECT_EQ(wc.slid, 5u);
  EXPECT_EQ(wc.pkey_index, 6u);
  EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV);
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(wc.vendor_err, 7u);
  EXPECT_EQ(wc.sl, 8);
  EXPECT_EQ(wc.dlid_path_bits, 9);
}

// A poll reads the CQ poll_empty after its call: a completion that becomes visible 1 ps later is not
// returned.
TEST_F(Poll, sees_what_is_visible_when_it_looks) {
  world().now_ps = 1000;
  world().complete(fake_cq(cq), send_cqe(qp, 0), 1000 + 400 + 1);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
  EXPECT_EQ(world().now_ps, 1400);
  world().now_ps = 1001;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(world().now_ps, 1001 + 400 + 60);
}

// A poll of n completions takes poll_empty + n * poll_cqe; its end returns the CQ slots.
TEST_F(Poll, costs_its_formula) {
  for (std::uint32_t i = 0; i < 3; ++i) world().complete(fake_cq(cq), send_cqe(qp, i));
  ibv_wc wcs[8];
  std::vector<std::uint32_t> consumer;
  world().on_time = [&] { consumer.push_back(world().consumer(fake_cq(cq))); };
  EXPECT_EQ(ibv_poll_cq(cq, 8, wcs), 3);
  EXPECT_THAT(world().spent, testing::ElementsAre(400, 3 * 60));
  EXPECT_THAT(consumer, testing::ElementsAre(0, 0));
  EXPECT_EQ(world().consumer(fake_cq(cq)), 3u);
}

TEST_F(Poll, takes_no_more_than_asked) {
  for (std::uint32_t i = 0; i < 3; ++i) world().complete(fake_cq(cq), send_cqe(qp, i, i));
  ibv_wc wcs[2];
  EXPECT_EQ(ibv_poll_cq(cq, 2, wcs), 2);
  EXPECT_EQ(wcs[1].wr_id, 1u);
  EXPECT_EQ(ibv_poll_cq(cq, 2, wcs), 1);
  EXPECT_EQ(wcs[0].wr_id, 2u);
}

TEST_F(Poll, the_ring_wraps_and_old_entries_are_not_new) {
  ibv_wc wc;
  for (std::uint32_t i = 0; i < 30; ++i) {
    EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0) << i;
    world().complete(fake_cq(cq), send_cqe(qp, 0, i));
    ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1) << i;
    EXPECT_EQ(wc.wr_id, i);
  }
}

// Another thread may poll the same CQ while the time of a poll passes; each completion is returned once.
TEST_F(Poll, two_threads_never_return_the_same_completion) {
  for (std::uint32_t i = 0; i < 2; ++i) world().complete(fake_cq(cq), send_cqe(qp, i, i));
  ibv_wc mine, other{};
  int others = -1;
  int passes = 0;
  world().on_time = [&] {
    if (++passes == 2) others = ibv_poll_cq(cq, 1, &other);
  };
  ASSERT_EQ(ibv_poll_cq(cq, 1, &mine), 1);
  EXPECT_EQ(others, 1);
  EXPECT_EQ(mine.wr_id, 0u);
  EXPECT_EQ(other.wr_id, 1u);
  EXPECT_EQ(world().consumer(fake_cq(cq)), 2u);
}

TEST_F(Poll, arming_rings_its_doorbell) {
  ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(cq, 1), 0);
  ASSERT_EQ(world().doorbells.size(), 2u);
  EXPECT_EQ(world().doorbells[0].kind, protocol::DoorbellKind::kCompletionQueueArm);
  EXPECT_EQ(world().doorbells[0].number, fake_cq(cq).number);
  EXPECT_EQ(world().doorbells[0].cost_ps, 800);
  EXPECT_EQ(world().doorbells[0].value, protocol::kArmAny);
  EXPECT_EQ(world().doorbells[1].value, protocol::kArmSolicited);
}

TEST_F(Poll, creation_refuses_bad_sizes_and_vectors) {
  EXPECT_EQ(ibv_create_cq(context, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(context, 1, nullptr, nullptr, 2), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(context, 1, nullptr, nullptr, -1), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Poll, resizing_goes_on_in_the_new_ring) {
  world().complete(fake_cq(cq), send_cqe(qp, 0, 41));
  world().on_command = [&](protocol::CommandHeader* header) {
    if (header->type != protocol::CommandType::kResizeCq) return false;
    auto& resize = *reinterpret_cast<protocol::ResizeCq*>(header);
    Cq& fake = fake_cq(cq);
    const protocol::Cqe waiting = *world().cqe(fake, 0);
    fake.ring = 1 << 20;
    fake.entries = 32;
    fake.producer = 0;
    world().complete(fake, waiting);
    resize.ring_offset = fake.ring;
    resize.ring_entries = 32;
    resize.cqe = 32;
    header->status = 0;
    return true;
  };
  ASSERT_EQ(ibv_resize_cq(cq, 20), 0);
  EXPECT_EQ(cq->cqe, 32);
  ibv_wc wc;
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 41u);
}

}  // namespace
}  // namespace verbatim::fake
