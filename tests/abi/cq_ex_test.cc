#include "tests/abi/fixture.h"

namespace verbatim::fake {
namespace {

class CqEx : public VerbsTest {
 protected:
  ibv_cq_ex* make(std::uint64_t wc_flags, std::uint32_t comp_mask = 0, std::uint32_t flags = 0) {
    ibv_cq_init_attr_ex init{};
    init.cqe = 8;
    init.wc_flags = wc_flags;
    init.comp_mask = comp_mask;
    init.flags = flags;
    return ibv_create_cq_ex(context, &init);
  }
};

TEST_F(CqEx, supported_fields_are_granted_and_others_fail_the_creation) {
  EXPECT_NE(make(IBV_WC_STANDARD_FLAGS), nullptr);
  for (std::uint64_t flag : {IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
                             IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO}) {
    EXPECT_NE(make(flag), nullptr) << flag;
  }
  EXPECT_EQ(make(1ull << 40), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_NE(make(0, IBV_CQ_INIT_ATTR_MASK_FLAGS, IBV_CREATE_CQ_ATTR_SINGLE_THREADED), nullptr);
  EXPECT_NE(make(0, IBV_CQ_INIT_ATTR_MASK_FLAGS, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN), nullptr);
  EXPECT_EQ(make(0, IBV_CQ_INIT_ATTR_MASK_FLAGS, 1 << 2), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(make(0, 1 << 7), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CqEx, every_slot_is_filled) {
  ibv_cq_ex* made = make(IBV_WC_STANDARD_FLAGS);
  ASSERT_NE(made, nullptr);
  void* slots[18];
  static_assert(sizeof(ibv_cq_ex) - offsetof(ibv_cq_ex, start_poll) == sizeof(slots));
  std::memcpy(slots, &made->start_poll, sizeof(slots));
  for (void* slot : slots) EXPECT_NE(slot, nullptr);
}

// Costs: start_poll takes poll_empty, each completion poll_cqe; end_poll returns the CQ slots.
TEST_F(CqEx, a_session_reads_fields_and_costs_its_formula) {
  ibv_cq_ex* made =
      make(std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
  ASSERT_NE(made, nullptr);
  Cq& fake = fake_cq(ibv_cq_ex_to_cq(made));
  world().spent.clear();
  ibv_poll_cq_attr attributes{};
  EXPECT_EQ(ibv_start_poll(made, &attributes), ENOENT);
  protocol::Cqe cqe = send_cqe(qp, 0, 5);
  cqe.byte_length = 6;
  cqe.immediate = 7;
  cqe.source_qp = 8;
  cqe.source_lid = 9;
  cqe.service_level = 10;
  cqe.dlid_path_bits = 11;
  cqe.flags = IBV_WC_GRH;
  cqe.vendor_error = 12;
  cqe.opcode = IBV_WC_RDMA_READ;
  cqe.timestamp = 400'000'000;  // one second of the 400 MHz clock
  world().complete(fake, cqe);
  cqe = send_cqe(qp, 1, 6);
  cqe.status = IBV_WC_WR_FLUSH_ERR;
  world().complete(fake, cqe);

  ASSERT_EQ(ibv_start_poll(made, &attributes), 0);
  EXPECT_EQ(made->wr_id, 5u);
  EXPECT_EQ(made->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(made), IBV_WC_RDMA_READ);
  EXPECT_EQ(ibv_wc_read_vendor_err(made), 12u);
  EXPECT_EQ(ibv_wc_read_byte_len(made), 6u);
  EXPECT_EQ(ibv_wc_read_imm_data(made), 7u);
  EXPECT_EQ(ibv_wc_read_qp_num(made), qp->qp_num);
  EXPECT_EQ(ibv_wc_read_src_qp(made), 8u);
  EXPECT_EQ(ibv_wc_read_slid(made), 9u);
  EXPECT_EQ(ibv_wc_read_sl(made), 10);
  EXPECT_EQ(ibv_wc_read_dlid_path_bits(made), 11);
  EXPECT_EQ(ibv_wc_read_wc_flags(made), static_cast<unsigned>(IBV_WC_GRH));
  EXPECT_EQ(ibv_wc_read_completion_ts(made), 400'000'000u);
  EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(made), static_cast<std::uint64_t>(kEpochNs) + 1'000'000'000u);
  ASSERT_EQ(ibv_next_poll(made), 0);
  EXPECT_EQ(made->wr_id, 6u);
  EXPECT_EQ(made->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(ibv_next_poll(made), ENOENT);
  EXPECT_EQ(world().consumer(fake), 0u);
  ibv_end_poll(made);
  EXPECT_EQ(world().consumer(fake), 2u);
  EXPECT_THAT(world().spent, testing::ElementsAre(400, 400, 60, 60));
}

TEST_F(CqEx, another_thread_s_poll_waits_for_the_end_of_a_session) {
  ibv_cq_ex* made = make(IBV_WC_STANDARD_FLAGS);
  Cq& fake = fake_cq(ibv_cq_ex_to_cq(made));
  for (std::uint32_t i = 0; i < 2; ++i) world().complete(fake, send_cqe(qp, i, i));
  ibv_poll_cq_attr attributes{};
  ASSERT_EQ(ibv_start_poll(made, &attributes), 0);
  int waits = 0;
  world().on_time = [&] {
    if (++waits == 5) ibv_end_poll(made);
  };
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(made), 1, &wc), 1);
  EXPECT_GE(waits, 5);
  EXPECT_EQ(wc.wr_id, 1u);
}

TEST_F(CqEx, unknown_poll_attributes_are_refused) {
  ibv_cq_ex* made = make(0);
  ibv_poll_cq_attr attributes{.comp_mask = 1};
  EXPECT_EQ(ibv_start_poll(made, &attributes), EINVAL);
}

}  // namespace
}  // namespace verbatim::fake
