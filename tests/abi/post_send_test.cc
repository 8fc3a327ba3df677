#include "tests/abi/fixture.h"

namespace verbatim::fake {
namespace {

using PostSend = VerbsTest;

TEST_F(PostSend, encodes_header_and_gather_list) {
  ibv_sge sges[2] = {{0x1000, 10, 0xaa}, {0x2000, 20, 0xbb}};
  ibv_send_wr wr = send_wr(77);
  wr.sg_list = sges;
  wr.num_sge = 2;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_FENCE;
  wr.imm_data = 0x01020304;
  wr.wr.rdma.remote_addr = 0xabcdef;
  wr.wr.rdma.rkey = 99;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  const protocol::SendWqe wqe = send_wqe(qp, 0);
  EXPECT_EQ(wqe.wr_id, 77u);
  EXPECT_EQ(wqe.opcode, protocol::WqeOpcode::kRdmaWriteWithImm);
  EXPECT_EQ(wqe.flags, protocol::kWqeSignaled | protocol::kWqeSolicited | protocol::kWqeFence);
  EXPECT_EQ(wqe.immediate, 0x01020304u);
  EXPECT_EQ(wqe.remote_va, 0xabcdefu);
  EXPECT_EQ(wqe.rkey, 99u);
  EXPECT_EQ(wqe.sge_count, 2);
  EXPECT_EQ(send_sge(qp, 0, 1).va, 0x2000u);
  EXPECT_EQ(send_sge(qp, 0, 1).length, 20u);
  EXPECT_EQ(send_sge(qp, 0, 1).lkey, 0xbbu);
}

TEST_F(PostSend, atomics_carry_their_operands) {
  ibv_send_wr wr = send_wr();
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wr.wr.atomic = {.remote_addr = 8, .compare_add = 11, .swap = 12, .rkey = 13};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(send_wqe(qp, 0).compare_add, 11u);
  EXPECT_EQ(send_wqe(qp, 0).swap, 12u);
  EXPECT_EQ(send_wqe(qp, 0).rkey, 13u);
  wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(send_wqe(qp, 1).compare_add, 11u);
  EXPECT_EQ(send_wqe(qp, 1).swap, 0u);
}

// cost = post_send + n * wqe + lines * inline_line + doorbell, and the record is stored before the doorbell.
TEST_F(PostSend, a_list_costs_its_formula_and_rings_one_doorbell) {
  char data[70] = {};
  ibv_sge inline_sge = {reinterpret_cast<std::uint64_t>(data), 65, 0};
  ibv_send_wr second = send_wr(2);
  second.sg_list = &inline_sge;
  second.num_sge = 1;
  second.send_flags = IBV_SEND_INLINE;
  ibv_send_wr first = send_wr(1);
  first.next = &second;
  ibv_send_wr* bad = nullptr;
  const std::int64_t before = world().now_ps;
  ASSERT_EQ(ibv_post_send(qp, &first, &bad), 0);
  ASSERT_EQ(world().doorbells.size(), 1u);
  const Doorbell& bell = world().doorbells[0];
  EXPECT_EQ(bell.cost_ps, 1000 + 2 * 200 + 2 * 33 + 5000);
  EXPECT_EQ(bell.sent_at_ps, before + bell.cost_ps);
  EXPECT_EQ(world().now_ps, before + bell.cost_ps);
  EXPECT_EQ(bell.kind, protocol::DoorbellKind::kSendQueue);
  EXPECT_EQ(bell.context, kContext);
  EXPECT_EQ(bell.number, qp->qp_num);
  EXPECT_EQ(bell.value, 2u);
  EXPECT_EQ(bell.send_producer, 2u);
}

TEST_F(PostSend, inline_data_is_copied_at_once) {
  char one[] = "abc", two[] = "defgh";
  ibv_sge sges[2] = {{reinterpret_cast<std::uint64_t>(one), 3, 0},
                     {reinterpret_cast<std::uint64_t>(two), 5, 0}};
  ibv_send_wr wr = send_wr();
  wr.sg_list = sges;
  wr.num_sge = 2;
  wr.send_flags = IBV_SEND_INLINE;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  one[0] = 'X';
  const protocol::SendWqe wqe = send_wqe(qp, 0);
  EXPECT_EQ(wqe.inline_length, 8u);
  EXPECT_EQ(wqe.sge_count, 0);
  EXPECT_TRUE(wqe.flags & protocol::kWqeInline);
  EXPECT_EQ(std::memcmp(world().send_slot(fake_qp(qp), 0) + sizeof(wqe), "abcdefgh", 8), 0);
}

TEST_F(PostSend, inline_limit_is_exact) {
  std::vector<char> data(101);
  ibv_sge sge = {reinterpret_cast<std::uint64_t>(data.data()), 100, 0};
  ibv_send_wr wr = send_wr();
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.send_flags = IBV_SEND_INLINE;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  sge.length = 101;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
}

TEST_F(PostSend, read_takes_no_inline_data) {
  ibv_send_wr wr = send_wr();
  wr.opcode = IBV_WR_RDMA_READ;
  wr.send_flags = IBV_SEND_INLINE;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);
}

TEST_F(PostSend, too_long_a_gather_list_is_refused) {
  ibv_sge sges[3] = {};
  ibv_send_wr wr = send_wr();
  wr.sg_list = sges;
  wr.num_sge = 3;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);
  wr.num_sge = -1;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), EINVAL);
  EXPECT_EQ(send_producer(qp), 0u);
  EXPECT_TRUE(world().doorbells.empty());
}

TEST_F(PostSend, the_part_of_a_list_before_a_bad_request_runs) {
  ibv_send_wr third = send_wr(3);
  ibv_send_wr second = send_wr(2);
  second.num_sge = 9;
  second.next = &third;
  ibv_send_wr first = send_wr(1);
  first.next = &second;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp, &first, &bad), EINVAL);
  EXPECT_EQ(bad, &second);
  EXPECT_EQ(send_producer(qp), 1u);
  ASSERT_EQ(world().doorbells.size(), 1u);
  EXPECT_EQ(world().doorbells[0].value, 1u);
}

TEST_F(PostSend, states_before_rts_are_refused_and_later_ones_are_not) {
  for (ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
    move_to(qp, state);
    ibv_send_wr wr = send_wr();
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(qp, &wr, &bad), EINVAL) << state;
    EXPECT_EQ(bad, &wr);
  }
  for (ibv_qp_state state : {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
    move_to(qp, state);
    ibv_send_wr wr = send_wr();
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0) << state;
  }
}

// Behaviour of mlx4/mlx5: slots are freed only by polling a completion of the same or a later request.
TEST_F(PostSend, a_full_queue_frees_slots_only_when_a_completion_is_polled) {
  ibv_send_wr* bad = nullptr;
  ibv_send_wr wr = send_wr();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
  EXPECT_EQ(bad, &wr);
  world().complete(fake_cq(cq), send_cqe(qp, 1));
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);  // not polled yet
  ibv_wc wc;
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
  EXPECT_EQ(send_producer(qp), 6u);
}

TEST_F(PostSend, the_depth_is_the_granted_one_and_not_the_ring_s) {
  ibv_qp* three = make_qp(IBV_QPT_RC, IBV_QPS_RTS, 3);
  ibv_send_wr* bad = nullptr;
  ibv_send_wr wr = send_wr();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ibv_post_send(three, &wr, &bad), 0);
  EXPECT_EQ(ibv_post_send(three, &wr, &bad), ENOMEM);
}

TEST_F(PostSend, a_completion_from_before_a_reset_frees_nothing_twice) {
  ibv_send_wr* bad = nullptr;
  ibv_send_wr wr = send_wr();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  world().complete(fake_cq(cq), send_cqe(qp, 0));
  move_to(qp, IBV_QPS_RESET);
  move_to(qp, IBV_QPS_RTS);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);  // the reset took it out of the queue
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
}

TEST_F(PostSend, numbers_start_again_after_a_reset) {
  ibv_send_wr* bad = nullptr;
  ibv_send_wr wr = send_wr();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  move_to(qp, IBV_QPS_RESET);
  EXPECT_EQ(send_producer(qp), 0u);
  move_to(qp, IBV_QPS_RTS);
  wr.wr_id = 55;
  ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(send_producer(qp), 1u);
  EXPECT_EQ(send_wqe(qp, 0).wr_id, 55u);
  // Completions of the new life count, the first as well.
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  world().complete(fake_cq(cq), send_cqe(qp, 0));
  ibv_wc wc;
  ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
}

TEST_F(PostSend, completions_of_a_number_s_former_owner_free_nothing) {
  const std::uint32_t number = qp->qp_num;
  world().complete(fake_cq(cq), send_cqe(qp, 3));
  ASSERT_EQ(ibv_destroy_qp(qp), 0);
  world().next_handle = number - 0x100;  // the fake adapter's QPN follows the handle
  qp = make_qp(IBV_QPT_RC);
  ASSERT_EQ(qp->qp_num, number);
  ibv_send_wr* bad = nullptr;
  ibv_send_wr wr = send_wr();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);  // it went with the queue pair
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), ENOMEM);
}

TEST_F(PostSend, opcodes_are_legal_by_queue_pair_type) {
  struct Case {
    ibv_qp_type type;
    ibv_wr_opcode opcode;
    int expected;
  };
  const Case cases[] = {
      {IBV_QPT_RC, IBV_WR_RDMA_READ, 0},
      {IBV_QPT_UC, IBV_WR_RDMA_READ, EINVAL},
      {IBV_QPT_UC, IBV_WR_RDMA_WRITE, 0},
      {IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD, EINVAL},
      {IBV_QPT_UD, IBV_WR_RDMA_WRITE, EINVAL},
      {IBV_QPT_UD, IBV_WR_SEND_WITH_INV, EINVAL},
      {IBV_QPT_RC, IBV_WR_TSO, EOPNOTSUPP},
      {IBV_QPT_RC, IBV_WR_BIND_MW, EINVAL},  // it names no window
      {IBV_QPT_UD, IBV_WR_BIND_MW, EINVAL},
      {IBV_QPT_RC, static_cast<ibv_wr_opcode>(16), EINVAL},
      {IBV_QPT_RC, static_cast<ibv_wr_opcode>(-1), EINVAL},
  };
  for (const Case& c : cases) {
    ibv_qp* made = make_qp(c.type);
    ibv_send_wr wr = send_wr();
    wr.opcode = c.opcode;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(made, &wr, &bad), c.expected) << c.type << " " << c.opcode;
  }
}

TEST_F(PostSend, datagrams_name_their_address) {
  ibv_qp* ud = make_qp(IBV_QPT_UD);
  ibv_ah_attr attributes{};
  attributes.dlid = 5;
  attributes.port_num = 1;
  ibv_ah* ah = ibv_create_ah(pd, &attributes);
  ASSERT_NE(ah, nullptr);
  ibv_send_wr wr = send_wr();
  wr.wr.ud = {.ah = ah, .remote_qpn = 21, .remote_qkey = 22};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(ud, &wr, &bad), 0);
  EXPECT_EQ(send_wqe(ud, 0).address_handle, ah->handle);
  EXPECT_EQ(send_wqe(ud, 0).remote_qpn, 21u);
  EXPECT_EQ(send_wqe(ud, 0).remote_qkey, 22u);
  ASSERT_EQ(ibv_destroy_ah(ah), 0);
  EXPECT_EQ(ibv_post_send(ud, &wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
}

TEST_F(PostSend, signal_all_signals_every_request) {
  ibv_qp* all = make_qp(IBV_QPT_RC, IBV_QPS_RTS, 4, true);
  ibv_send_wr wr = send_wr();
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(all, &wr, &bad), 0);
  ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_TRUE(send_wqe(all, 0).flags & protocol::kWqeSignaled);
  EXPECT_FALSE(send_wqe(qp, 0).flags & protocol::kWqeSignaled);
}

TEST_F(PostSend, a_destroyed_queue_pair_is_refused) {
  ASSERT_EQ(ibv_destroy_qp(qp), 0);
  ibv_send_wr wr = send_wr();
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(context->ops.post_send(qp, &wr, &bad), EINVAL);
  EXPECT_EQ(ibv_destroy_qp(qp), EINVAL);
}

TEST_F(PostSend, posting_allocates_nothing) {
  const std::size_t before = world().allocations;
  ibv_send_wr wr = send_wr();
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp, &wr, &bad), 0);
  EXPECT_EQ(world().allocations, before);
}

}  // namespace
}  // namespace verbatim::fake
