// An opened fake device with one PD, one CQ and one RC queue pair in RTS.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstring>

#include "tests/abi/fake_runtime.h"

namespace verbatim::fake {

class VerbsTest : public testing::Test {
 protected:
  void SetUp() override {
    reset();
    world().costs = {.post_send_ps = 1000,
                     .post_send_wqe_ps = 200,
                     .post_recv_ps = 700,
                     .post_recv_wqe_ps = 90,
                     .doorbell_ps = 5000,
                     .inline_line_ps = 33,
                     .poll_empty_ps = 400,
                     .poll_cqe_ps = 60,
                     .arm_cq_ps = 800,
                     .system_call_ps = 0,
                     .clock_read_ps = 25,
                     .timestamp_counter_ps = 0};
    ibv_device** list = ibv_get_device_list(nullptr);
    ASSERT_NE(list, nullptr);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    ASSERT_NE(context, nullptr);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
    ASSERT_NE(cq, nullptr);
    qp = make_qp(IBV_QPT_RC);
    ASSERT_NE(qp, nullptr);
    world().spent.clear();
  }

  ibv_qp* make_qp(ibv_qp_type type, ibv_qp_state state = IBV_QPS_RTS, std::uint32_t depth = 4,
                  bool signal_all = false) {
    ibv_qp_init_attr init{};
    init.send_cq = cq;
    init.recv_cq = cq;
    init.cap = {.max_send_wr = depth,
                .max_recv_wr = depth,
                .max_send_sge = 2,
                .max_recv_sge = 2,
                .max_inline_data = 100};
    init.qp_type = type;
    init.sq_sig_all = signal_all ? 1 : 0;
    ibv_qp* made = ibv_create_qp(pd, &init);
    if (made != nullptr) move_to(made, state);
    return made;
  }

  ibv_qp_ex* make_qp_ex(std::uint64_t ops, ibv_qp_type type = IBV_QPT_RC, ibv_qp_state state = IBV_QPS_RTS) {
    ibv_qp_init_attr_ex init{};
    init.send_cq = cq;
    init.recv_cq = cq;
    init.cap = {
        .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 100};
    init.qp_type = type;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = pd;
    init.send_ops_flags = ops;
    ibv_qp* made = ibv_create_qp_ex(context, &init);
    if (made == nullptr) return nullptr;
    move_to(made, state);
    return ibv_qp_to_qp_ex(made);
  }

  static void move_to(ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
  }

  Qp& fake_qp(const ibv_qp* qp) { return world().qps.at(qp->handle); }
  Cq& fake_cq(const ibv_cq* cq) { return world().cqs.at(cq->handle); }

  protocol::SendWqe send_wqe(const ibv_qp* qp, std::uint32_t number) {
    protocol::SendWqe wqe;
    std::memcpy(&wqe, world().send_slot(fake_qp(qp), number), sizeof(wqe));
    return wqe;
  }
  protocol::Sge send_sge(const ibv_qp* qp, std::uint32_t number, std::size_t index) {
    protocol::Sge sge;
    std::memcpy(&sge,
                world().send_slot(fake_qp(qp), number) + sizeof(protocol::SendWqe) + index * sizeof(sge),
                sizeof(sge));
    return sge;
  }
  std::uint32_t send_producer(const ibv_qp* qp) { return world().record(fake_qp(qp)).send_producer.load(); }
  std::uint32_t recv_producer(const ibv_qp* qp) { return world().record(fake_qp(qp)).recv_producer.load(); }

  static ibv_send_wr send_wr(std::uint64_t id = 1) {
    ibv_send_wr wr{};
    wr.wr_id = id;
    wr.opcode = IBV_WR_SEND;
    return wr;
  }

  // A completion of send WQE `number`.
  static protocol::Cqe send_cqe(const ibv_qp* qp, std::uint32_t number, std::uint64_t id = 0) {
    protocol::Cqe cqe{};
    cqe.wr_id = id;
    cqe.qpn = qp->qp_num;
    cqe.wqe_counter = number;
    return cqe;
  }

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
};

}  // namespace verbatim::fake
