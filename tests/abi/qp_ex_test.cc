#include "tests/abi/fixture.h"

namespace verbatim::fake {
namespace {

using QpEx = VerbsTest;

constexpr std::uint64_t kAllOfRc =
    std::uint64_t{IBV_QP_EX_WITH_RDMA_WRITE} | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
    IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE;

TEST_F(QpEx, unsupported_operations_fail_the_creation) {
  EXPECT_NE(make_qp_ex(kAllOfRc), nullptr);
  errno = 0;
  EXPECT_EQ(make_qp_ex(kAllOfRc | IBV_QP_EX_WITH_TSO), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(make_qp_ex(IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_QPT_UC), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(make_qp_ex(IBV_QP_EX_WITH_RDMA_READ, IBV_QPT_UD), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(make_qp_ex(1ull << 50), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(QpEx, only_a_queue_pair_made_with_operations_is_extended) { EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr); }

TEST_F(QpEx, every_slot_is_filled) {
  ibv_qp_ex* ex = make_qp_ex(IBV_QP_EX_WITH_SEND);
  ASSERT_NE(ex, nullptr);
  constexpr std::size_t kCount = (sizeof(ibv_qp_ex) - offsetof(ibv_qp_ex, wr_atomic_cmp_swp)) / sizeof(void*);
  static_assert(kCount == 21);
  void* slots[kCount];
  std::memcpy(slots, &ex->wr_atomic_cmp_swp, sizeof(slots));
  for (void* slot : slots) EXPECT_NE(slot, nullptr);
}

// The same list through both interfaces gives the same ring and takes the same time.
TEST_F(QpEx, a_session_equals_post_send_of_the_same_list) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc);
  char data[] = "hello";
  ibv_wr_start(ex);
  ex->wr_id = 1;
  ex->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_write_imm(ex, 9, 0x5000, 0x77);
  ibv_wr_set_sge(ex, 3, 0x4000, 16);
  ex->wr_id = 2;
  ex->wr_flags = 0;
  ibv_wr_send(ex);
  ibv_wr_set_inline_data(ex, data, 5);
  EXPECT_EQ(send_producer(&ex->qp_base), 0u);
  EXPECT_TRUE(world().doorbells.empty());
  ASSERT_EQ(ibv_wr_complete(ex), 0);

  ibv_sge inline_sge{reinterpret_cast<std::uint64_t>(data), 5, 0}, gather{0x4000, 16, 3};
  ibv_send_wr second = send_wr(2);
  second.sg_list = &inline_sge;
  second.num_sge = 1;
  second.send_flags = IBV_SEND_INLINE;
  ibv_send_wr first = send_wr(1);
  first.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  first.send_flags = IBV_SEND_SIGNALED;
  first.imm_data = 0x77;
  first.wr.rdma = {.remote_addr = 0x5000, .rkey = 9};
  first.sg_list = &gather;
  first.num_sge = 1;
  first.next = &second;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(qp, &first, &bad), 0);

  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::memcmp(world().send_slot(fake_qp(qp), i), world().send_slot(fake_qp(&ex->qp_base), i), 80),
              0)
        << i;
  }
  ASSERT_EQ(world().doorbells.size(), 2u);
  EXPECT_EQ(world().doorbells[0].cost_ps, world().doorbells[1].cost_ps);
  EXPECT_EQ(world().doorbells[0].value, 2u);
  EXPECT_EQ(world().doorbells[0].number, ex->qp_base.qp_num);
}

TEST_F(QpEx, builders_carry_their_operands) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc);
  ibv_wr_start(ex);
  ibv_wr_atomic_cmp_swp(ex, 1, 2, 3, 4);
  ibv_wr_atomic_fetch_add(ex, 5, 6, 7);
  ibv_wr_send_inv(ex, 8);
  ibv_wr_local_inv(ex, 9);
  ASSERT_EQ(ibv_wr_complete(ex), 0);
  ibv_qp* base = &ex->qp_base;
  EXPECT_EQ(send_wqe(base, 0).opcode, protocol::WqeOpcode::kAtomicCompareSwap);
  EXPECT_EQ(send_wqe(base, 0).rkey, 1u);
  EXPECT_EQ(send_wqe(base, 0).remote_va, 2u);
  EXPECT_EQ(send_wqe(base, 0).compare_add, 3u);
  EXPECT_EQ(send_wqe(base, 0).swap, 4u);
  EXPECT_EQ(send_wqe(base, 1).compare_add, 7u);
  EXPECT_EQ(send_wqe(base, 2).immediate, 8u);
  EXPECT_EQ(send_wqe(base, 3).opcode, protocol::WqeOpcode::kLocalInvalidate);
  EXPECT_EQ(send_wqe(base, 3).rkey, 9u);
}

// Three interfaces to the same operation.
TEST_F(QpEx, windows_are_bound_by_requests) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc);
  ibv_qp* base = &ex->qp_base;
  char bytes[64];
  ibv_mr* mr = ibv_reg_mr(pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  ibv_mw* one = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  ibv_mw* two = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  ASSERT_NE(two, nullptr);
  const ibv_mw_bind_info info{mr, 0x5000, 32, IBV_ACCESS_REMOTE_READ};
  ibv_wr_start(ex);
  ibv_wr_bind_mw(ex, two, 0x30007, &info);
  ASSERT_EQ(ibv_wr_complete(ex), 0);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw = {two, 0x30008, info};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(base, &wr, &bad), 0);
  ibv_mw_bind bind{77, IBV_SEND_SIGNALED, info};
  ASSERT_EQ(ibv_bind_mw(base, one, &bind), 0);
  EXPECT_EQ(one->rkey, 0x30000u);  // the last byte of 0x300ff, increased
  const std::uint32_t keys[] = {0x30007, 0x30008, 0x30000};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const protocol::SendWqe wqe = send_wqe(base, i);
    EXPECT_EQ(wqe.opcode, protocol::WqeOpcode::kBindMemoryWindow);
    EXPECT_EQ(wqe.rkey, keys[i]);
    EXPECT_EQ(wqe.address_handle, i < 2 ? two->handle : one->handle);
    EXPECT_EQ(wqe.remote_va, 0x5000u);
    EXPECT_EQ(wqe.compare_add, 32u);
    EXPECT_EQ(wqe.swap, mr->lkey);
    EXPECT_EQ(wqe.immediate, static_cast<std::uint32_t>(IBV_ACCESS_REMOTE_READ));
  }
  EXPECT_EQ(send_wqe(base, 2).wr_id, 77u);
  EXPECT_EQ(send_wqe(base, 2).flags, protocol::kWqeSignaled);
  // Windows of the other type, or that are no more, are refused before anything is written, and the key stays.
  wr.bind_mw.mw = one;
  EXPECT_EQ(ibv_post_send(base, &wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
  EXPECT_EQ(ibv_dealloc_mw(one), 0);
  EXPECT_EQ(ibv_dealloc_mw(one), EINVAL);
  EXPECT_EQ(ibv_bind_mw(base, one, &bind), EINVAL);
  EXPECT_EQ(one->rkey, 0x30000u);
  EXPECT_EQ(send_producer(base), 3u);
}

TEST_F(QpEx, an_atomic_write_carries_its_eight_bytes) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc);
  std::uint64_t value = 0x1122334455667788;
  ibv_wr_start(ex);
  ibv_wr_atomic_write(ex, 7, 0x4000, &value);
  ASSERT_EQ(ibv_wr_complete(ex), 0);
  ibv_sge sge{reinterpret_cast<std::uint64_t>(&value), sizeof value, 0};
  ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_WRITE};
  wr.wr.rdma = {0x4000, 7};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(&ex->qp_base, &wr, &bad), 0);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const protocol::SendWqe wqe = send_wqe(&ex->qp_base, i);
    EXPECT_EQ(wqe.opcode, protocol::WqeOpcode::kAtomicWrite);
    EXPECT_EQ(wqe.swap, value);
    EXPECT_EQ(wqe.remote_va, 0x4000u);
    EXPECT_EQ(wqe.rkey, 7u);
    EXPECT_EQ(wqe.sge_count, 0);
  }
  sge.length = 4;
  EXPECT_EQ(ibv_post_send(&ex->qp_base, &wr, &bad), EINVAL);
}

TEST_F(QpEx, an_operation_the_queue_pair_lacks_is_told_by_complete) {
  ibv_qp_ex* ex = make_qp_ex(IBV_QP_EX_WITH_SEND);
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  ibv_wr_rdma_write(ex, 1, 2);
  ibv_wr_set_sge(ex, 1, 2, 3);
  EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
  ibv_wr_start(ex);
  ibv_wr_send_tso(ex, nullptr, 0, 0);
  EXPECT_EQ(ibv_wr_complete(ex), EOPNOTSUPP);
  ibv_wr_start(ex);
  ibv_wr_bind_mw(ex, nullptr, 0, nullptr);
  EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
  ibv_wr_start(ex);
  ibv_wr_atomic_write(ex, 0, 0, nullptr);
  EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
  EXPECT_EQ(send_producer(&ex->qp_base), 0u);
  EXPECT_TRUE(world().doorbells.empty());
  ibv_wr_start(ex);  // and the queue pair is usable
  ibv_wr_send(ex);
  EXPECT_EQ(ibv_wr_complete(ex), 0);
  EXPECT_EQ(send_producer(&ex->qp_base), 1u);
}

TEST_F(QpEx, a_full_queue_fails_the_whole_session) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc);
  ibv_wr_start(ex);
  for (int i = 0; i < 5; ++i) ibv_wr_send(ex);
  EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
  EXPECT_EQ(send_producer(&ex->qp_base), 0u);
}

TEST_F(QpEx, limits_of_setters) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc);
  std::vector<char> data(101);
  ibv_sge sges[3] = {};
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  ibv_wr_set_inline_data(ex, data.data(), 100);
  EXPECT_EQ(ibv_wr_complete(ex), 0);
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  ibv_wr_set_inline_data(ex, data.data(), 101);
  EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
  const ibv_data_buf huge[2] = {{data.data(), 1}, {data.data(), ~std::size_t{0}}};
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  ibv_wr_set_inline_data_list(ex, 2, huge);
  EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  ibv_wr_set_sge_list(ex, 3, sges);
  EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
  ibv_wr_start(ex);
  ibv_wr_rdma_read(ex, 1, 2);
  ibv_wr_set_inline_data(ex, data.data(), 1);
  EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
}

TEST_F(QpEx, abort_leaves_nothing) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc);
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  ibv_wr_abort(ex);
  EXPECT_TRUE(world().doorbells.empty());
  ibv_wr_start(ex);
  ex->wr_id = 4;
  ibv_wr_send(ex);
  ASSERT_EQ(ibv_wr_complete(ex), 0);
  EXPECT_EQ(send_producer(&ex->qp_base), 1u);
  EXPECT_EQ(send_wqe(&ex->qp_base, 0).wr_id, 4u);
}

TEST_F(QpEx, state_is_checked_at_start) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc, IBV_QPT_RC, IBV_QPS_RTR);
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
}

TEST_F(QpEx, datagrams_need_an_address) {
  ibv_qp_ex* ex = make_qp_ex(IBV_QP_EX_WITH_SEND, IBV_QPT_UD);
  ASSERT_NE(ex, nullptr);
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
  ibv_ah_attr attributes{};
  ibv_ah* ah = ibv_create_ah(pd, &attributes);
  ibv_wr_start(ex);
  ibv_wr_send(ex);
  ibv_wr_set_ud_addr(ex, ah, 3, 4);
  ASSERT_EQ(ibv_wr_complete(ex), 0);
  EXPECT_EQ(send_wqe(&ex->qp_base, 0).address_handle, ah->handle);
  EXPECT_EQ(send_wqe(&ex->qp_base, 0).remote_qkey, 4u);
}

TEST_F(QpEx, another_thread_s_post_waits_for_the_end_of_a_session) {
  ibv_qp_ex* ex = make_qp_ex(kAllOfRc);
  ibv_wr_start(ex);
  ex->wr_id = 1;
  ibv_wr_send(ex);
  bool completed = false;
  world().on_time = [&] {
    if (completed) return;
    completed = true;
    EXPECT_EQ(ibv_wr_complete(ex), 0);
  };
  ibv_send_wr wr = send_wr(2);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(&ex->qp_base, &wr, &bad), 0);
  EXPECT_TRUE(completed);
  EXPECT_EQ(send_wqe(&ex->qp_base, 0).wr_id, 1u);
  EXPECT_EQ(send_wqe(&ex->qp_base, 1).wr_id, 2u);
}

}  // namespace
}  // namespace verbatim::fake
