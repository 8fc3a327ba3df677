#include "tests/abi/fixture.h"

namespace verbatim::fake {
namespace {

using PostRecv = VerbsTest;

TEST_F(PostRecv, encodes_the_scatter_list) {
  ibv_sge sges[2] = {{0x1000, 10, 0xaa}, {0x2000, 20, 0xbb}};
  ibv_recv_wr wr{.wr_id = 5, .next = nullptr, .sg_list = sges, .num_sge = 2};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
  protocol::RecvWqe header;
  protocol::Sge second;
  std::memcpy(&header, world().recv_slot(fake_qp(qp), 0), sizeof(header));
  std::memcpy(&second, world().recv_slot(fake_qp(qp), 0) + sizeof(header) + sizeof(second), sizeof(second));
  EXPECT_EQ(header.wr_id, 5u);
  EXPECT_EQ(header.sge_count, 2u);
  EXPECT_EQ(second.va, 0x2000u);
  EXPECT_EQ(second.length, 20u);
  EXPECT_EQ(second.lkey, 0xbbu);
  EXPECT_EQ(recv_producer(qp), 1u);
  EXPECT_TRUE(world().doorbells.empty());
}

// post_recv + n * wqe, spent before the adapter can see the requests.
TEST_F(PostRecv, time_passes_before_the_record_changes) {
  ibv_recv_wr second{.wr_id = 2};
  ibv_recv_wr first{.wr_id = 1, .next = &second};
  ibv_recv_wr* bad = nullptr;
  std::uint32_t seen = 99;
  world().on_time = [&] { seen = recv_producer(qp); };
  ASSERT_EQ(ibv_post_recv(qp, &first, &bad), 0);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(recv_producer(qp), 2u);
  EXPECT_THAT(world().spent, testing::ElementsAre(700 + 2 * 90));
}

TEST_F(PostRecv, reset_is_refused_and_every_other_state_accepted) {
  ibv_recv_wr wr{.wr_id = 1};
  ibv_recv_wr* bad = nullptr;
  move_to(qp, IBV_QPS_RESET);
  EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
  for (ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR}) {
    move_to(qp, state);
    EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), 0) << state;
  }
}

TEST_F(PostRecv, full_queue_and_bad_wr) {
  ibv_recv_wr wrs[5] = {};
  for (int i = 0; i < 4; ++i) wrs[i].next = &wrs[i + 1];
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(qp, wrs, &bad), ENOMEM);
  EXPECT_EQ(bad, &wrs[4]);
  EXPECT_EQ(recv_producer(qp), 4u);
  protocol::Cqe cqe = send_cqe(qp, 0);
  cqe.queue = protocol::CqeQueue::kReceive;
  world().complete(fake_cq(cq), cqe);
  ibv_wc wc;
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(ibv_post_recv(qp, &wrs[4], &bad), 0);
  EXPECT_EQ(ibv_post_recv(qp, &wrs[4], &bad), ENOMEM);
}

TEST_F(PostRecv, too_long_a_scatter_list_is_refused) {
  ibv_sge sges[3] = {};
  ibv_recv_wr wr{.wr_id = 1, .next = nullptr, .sg_list = sges, .num_sge = 3};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), EINVAL);
  EXPECT_EQ(recv_producer(qp), 0u);
}

// In the error state the adapter looks at nothing by itself; doorbell_ps is the price of telling it.
TEST_F(PostRecv, rings_the_doorbell_only_while_the_adapter_wants_it) {
  ibv_recv_wr second{.wr_id = 2};
  ibv_recv_wr first{.wr_id = 1, .next = &second};
  ibv_recv_wr* bad = nullptr;
  auto& record =
      *reinterpret_cast<protocol::QueuePairRecord*>(world().arena.data() + fake_qp(qp).made.record_offset);
  ASSERT_EQ(ibv_post_recv(qp, &first, &bad), 0);
  EXPECT_TRUE(world().doorbells.empty());
  record.recv_doorbell_wanted = 1;
  world().spent.clear();
  ASSERT_EQ(ibv_post_recv(qp, &second, &bad), 0);
  ASSERT_EQ(world().doorbells.size(), 1u);
  EXPECT_EQ(world().doorbells[0].kind, protocol::DoorbellKind::kReceiveQueue);
  EXPECT_EQ(world().doorbells[0].number, qp->qp_num);
  EXPECT_EQ(world().doorbells[0].context, kContext);
  EXPECT_EQ(world().doorbells[0].value, 3u);
  EXPECT_THAT(world().spent, testing::ElementsAre(700 + 90, 5000));
}

// Without a new request there is no doorbell.
TEST_F(PostRecv, a_refused_request_rings_no_doorbell) {
  ibv_sge sges[3] = {};
  ibv_recv_wr wr{.wr_id = 1, .next = nullptr, .sg_list = sges, .num_sge = 3};
  ibv_recv_wr* bad = nullptr;
  auto& record =
      *reinterpret_cast<protocol::QueuePairRecord*>(world().arena.data() + fake_qp(qp).made.record_offset);
  record.recv_doorbell_wanted = 1;
  EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), EINVAL);
  EXPECT_TRUE(world().doorbells.empty());
}

// The adapter fetches a shared queue in order, so any completion frees the oldest slot.
TEST_F(PostRecv, a_shared_queue_frees_one_slot_per_completion) {
  world().on_command = [&](protocol::CommandHeader* header) {
    if (header->type != protocol::CommandType::kCreateSrq) return false;
    auto& create = *reinterpret_cast<protocol::CreateSrq*>(header);
    create.handle = 900;
    create.number = 901;
    create.recv_entries = 2;
    create.recv_stride = 32;
    create.max_wr = 2;
    create.max_sge = 1;
    create.recv_offset = 1 << 20;
    create.record_offset = (1 << 20) + 4096;
    header->status = 0;
    return true;
  };
  ibv_srq_init_attr init{};
  init.attr = {.max_wr = 2, .max_sge = 1, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(pd, &init);
  ASSERT_NE(srq, nullptr);
  std::uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(srq, &number), 0);
  EXPECT_EQ(number, 901u);
  ibv_qp_init_attr qp_init{};
  qp_init.send_cq = cq;
  qp_init.recv_cq = cq;
  qp_init.srq = srq;
  qp_init.qp_type = IBV_QPT_RC;
  ibv_qp* sharing = ibv_create_qp(pd, &qp_init);
  ASSERT_NE(sharing, nullptr);
  move_to(sharing, IBV_QPS_RTS);
  ibv_recv_wr wr{.wr_id = 1};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(sharing, &wr, &bad), EINVAL);  // it has no queue of its own
  EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
  protocol::Cqe cqe = send_cqe(sharing, 1);
  cqe.queue = protocol::CqeQueue::kReceive;
  world().complete(fake_cq(cq), cqe);
  ibv_wc wc;
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
}

}  // namespace
}  // namespace verbatim::fake
