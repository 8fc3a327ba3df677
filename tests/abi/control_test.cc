// Devices, contexts and the control path.
#include <endian.h>
#include <sys/syscall.h>

#include "tests/abi/fixture.h"

namespace verbatim::fake {
namespace {

using Control = VerbsTest;
using protocol::CommandType;

TEST_F(Control, outside_a_simulation_there_are_no_devices) {
  world().attached = false;
  int count = 5;
  EXPECT_EQ(ibv_get_device_list(&count), nullptr);
  EXPECT_EQ(errno, ENOSYS);
  EXPECT_EQ(count, 0);
}

TEST_F(Control, a_device_has_its_names_and_guid) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(list[1], nullptr);
  EXPECT_STREQ(ibv_get_device_name(list[0]), "fake0");
  EXPECT_STREQ(list[0]->dev_name, "uverbs0");
  EXPECT_STREQ(list[0]->dev_path, "/sys/class/infiniband_verbs/uverbs0");
  EXPECT_STREQ(list[0]->ibdev_path, "/sys/class/infiniband/fake0");
  EXPECT_EQ(list[0]->node_type, IBV_NODE_CA);
  EXPECT_EQ(list[0]->transport_type, IBV_TRANSPORT_IB);
  EXPECT_EQ(be64toh(ibv_get_device_guid(list[0])), kNodeGuid);
  EXPECT_EQ(ibv_get_device_index(list[0]), 0);
  EXPECT_EQ(context->device, list[0]);  // the context keeps a valid pointer to the device
  free(list);  // the caller owns the returned list; qperf frees it with free()
}

TEST_F(Control, vendor_libraries_find_a_readable_foreign_table) {
  void* const* ops = nullptr;
  std::memcpy(&ops, reinterpret_cast<const char*>(context->device) + 664, sizeof(ops));
  ASSERT_NE(ops, nullptr);
  EXPECT_EQ(ops[0], nullptr);
}

TEST_F(Control, every_slot_of_a_context_is_filled) {
  void* slots[sizeof(ibv_context_ops) / sizeof(void*)];
  std::memcpy(slots, &context->ops, sizeof(slots));
  for (void* slot : slots) EXPECT_NE(slot, nullptr);
  const verbs_context* verbs = verbs_get_ctx(context);
  ASSERT_NE(verbs, nullptr);
  EXPECT_EQ(verbs->sz, sizeof(verbs_context));
  void* extended[offsetof(verbs_context, _ABI_placeholder3) / sizeof(void*)];
  std::memcpy(extended, verbs, sizeof(extended));
  for (std::size_t i = 0; i < std::size(extended); ++i) {
    if (i == offsetof(verbs_context, priv) / sizeof(void*)) continue;
    EXPECT_NE(extended[i], nullptr) << i;
  }
  EXPECT_EQ(context->cmd_fd, 520);
  EXPECT_EQ(context->async_fd, 521);
  EXPECT_EQ(context->num_comp_vectors, 2);
}

TEST_F(Control, closing_ends_the_context_and_frees_the_descriptors) {
  std::vector<long> closed;
  world().on_system_call = [&](long number, long fd, long, long) {
    if (number == SYS_close) closed.push_back(fd);
    return 0L;
  };
  world().commands.clear();
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_THAT(world().commands, testing::ElementsAre(CommandType::kCloseDevice));
  EXPECT_THAT(closed, testing::UnorderedElementsAre(520, 521));
  EXPECT_EQ(ibv_close_device(context), EINVAL);
}

TEST_F(Control, device_attributes) {
  ibv_device_attr attributes;
  ASSERT_EQ(ibv_query_device(context, &attributes), 0);
  EXPECT_STREQ(attributes.fw_ver, "20.1.2");
  EXPECT_EQ(be64toh(attributes.node_guid), kNodeGuid);
  EXPECT_EQ(be64toh(attributes.sys_image_guid), kNodeGuid + 1);
  EXPECT_EQ(attributes.max_qp, 100);
  EXPECT_EQ(attributes.phys_port_cnt, 1);
  ibv_device_attr_ex extended;
  ASSERT_EQ(ibv_query_device_ex(context, nullptr, &extended), 0);
  EXPECT_EQ(extended.hca_core_clock, kCoreClockKhz);
  EXPECT_EQ(extended.device_cap_flags_ex, (1ull << 36) | 1);
  EXPECT_EQ(extended.orig_attr.device_cap_flags, 1u);
  EXPECT_EQ(extended.phys_port_cnt_ex, 1u);
  ibv_query_device_ex_input input{.comp_mask = 1};
  EXPECT_EQ(ibv_query_device_ex(context, &input, &extended), EINVAL);
}

TEST_F(Control, both_forms_of_query_port) {
  ibv_port_attr attributes;
  ASSERT_EQ(ibv_query_port(context, 1, &attributes), 0);
  EXPECT_EQ(attributes.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(attributes.lid, 17);
  EXPECT_EQ(attributes.link_layer, IBV_LINK_LAYER_INFINIBAND);
  EXPECT_EQ(attributes.flags, 0x5a);
  EXPECT_EQ(attributes.port_cap_flags2, 0x33);
  EXPECT_EQ(ibv_query_port(context, 2, &attributes), EINVAL);
  // ibv_query_port() without flags2 writes nothing after `flags`, where the structure of old callers ends.
  unsigned char old_struct[52];
  std::memset(old_struct, 0xee, sizeof(old_struct));
  ASSERT_EQ((ibv_query_port)(context, 1, reinterpret_cast<_compat_ibv_port_attr*>(old_struct)), 0);
  EXPECT_EQ(old_struct[46], IBV_LINK_LAYER_INFINIBAND);
  EXPECT_EQ(old_struct[48], 0xee);
}

TEST_F(Control, gid_table) {
  ibv_gid gid;
  ASSERT_EQ(ibv_query_gid(context, 1, 2, &gid), 0);
  EXPECT_EQ(gid.raw[15], 3);
  ASSERT_EQ(ibv_query_gid(context, 1, 1, &gid), 0);  // empty: zeroes
  EXPECT_EQ(gid.raw[0], 0);
  EXPECT_EQ(ibv_query_gid(context, 1, 4, &gid), -1);
  ibv_gid_entry entry;
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 2, &entry, 0), 0);
  EXPECT_EQ(entry.gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V2));
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 1, &entry, 0), ENODATA);
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 9, &entry, 0), EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 1), EINVAL);
  ibv_gid_entry table[2];
  EXPECT_EQ(ibv_query_gid_table(context, table, 2, 0), 2);
  EXPECT_EQ(table[1].gid_index, 2u);
  EXPECT_EQ(ibv_query_gid_table(context, table, 1, 0), -EINVAL);
}

TEST_F(Control, partition_keys) {
  __be16 key = 0;
  ASSERT_EQ(ibv_query_pkey(context, 1, 0, &key), 0);
  EXPECT_EQ(be16toh(key), 0xfff1);
  EXPECT_EQ(ibv_query_pkey(context, 1, 1, &key), -1);
  EXPECT_EQ(ibv_get_pkey_index(context, 1, key), 0);
  EXPECT_EQ(ibv_get_pkey_index(context, 1, htobe16(1)), -1);
}

TEST_F(Control, the_hca_clock_counts_its_cycles) {
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  ASSERT_EQ(ibv_query_rt_values_ex(context, &values), 0);
  world().now_ps = 1'000'000'000'000 - 25;  // a read of the clock takes 25 ps
  ASSERT_EQ(ibv_query_rt_values_ex(context, &values), 0);
  EXPECT_EQ(values.raw_clock.tv_nsec, 400'000'000);
}

TEST_F(Control, registration_passes_and_checks_access) {
  char buffer[64];
  ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, buffer);
  EXPECT_EQ(mr->length, sizeof(buffer));
  EXPECT_EQ(world().last_mr.iova, reinterpret_cast<std::uint64_t>(buffer));
  EXPECT_EQ(mr->lkey, world().last_mr.lkey);
  EXPECT_EQ(mr->rkey, world().last_mr.rkey);
  for (unsigned access : {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC}) {
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(pd, buffer, sizeof(buffer), access), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_EQ(ibv_reg_mr(pd, buffer, sizeof(buffer), 1 << 8), nullptr);
  EXPECT_EQ(errno, EINVAL);
  // Relaxed ordering reaches the adapter; other optional flags are dropped, not refused.
  const int optional = IBV_ACCESS_RELAXED_ORDERING;
  EXPECT_NE(ibv_reg_mr(pd, buffer, sizeof(buffer), optional), nullptr);
  EXPECT_EQ(world().last_mr.access, static_cast<unsigned>(IBV_ACCESS_RELAXED_ORDERING));
  EXPECT_NE(ibv_reg_mr_iova(pd, buffer, sizeof(buffer), 0x123000, 0), nullptr);
  EXPECT_EQ(world().last_mr.iova, 0x123000u);
  world().failures[CommandType::kRegMr] = EFAULT;
  EXPECT_EQ(ibv_reg_mr(pd, buffer, sizeof(buffer), 0), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), EINVAL);
}

TEST_F(Control, reregistration_is_refused_as_its_manual_says) {
  char buffer[64];
  ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  EXPECT_EQ(ibv_rereg_mr(mr, 1 << 5, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 0, 0),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(mr, 0, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 1), IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Control, a_busy_object_stays_usable) {
  world().failures[CommandType::kDeallocPd] = EBUSY;
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  world().failures.clear();
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), EINVAL);
  world().failures[CommandType::kDestroyQp] = EBUSY;
  EXPECT_EQ(ibv_destroy_qp(qp), EBUSY);
  ibv_send_wr wr = send_wr();
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
}

TEST_F(Control, modify_passes_what_the_mask_names_and_keeps_the_state) {
  ibv_qp_attr attributes;
  std::memset(&attributes, 0xab, sizeof(attributes));
  attributes.dest_qp_num = 42;
  attributes.ah_attr = {};
  attributes.ah_attr.dlid = 9;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.grh.dgid.raw[15] = 7;
  attributes.ah_attr.grh.hop_limit = 3;
  ASSERT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_DEST_QPN | IBV_QP_AV), 0);
  EXPECT_EQ(qp->state, IBV_QPS_RTS);
  const protocol::QpAttributes& sent = world().last_modify.attributes;
  EXPECT_EQ(world().last_modify.mask, static_cast<unsigned>(IBV_QP_DEST_QPN | IBV_QP_AV));
  EXPECT_EQ(sent.dest_qp_num, 42u);
  EXPECT_EQ(sent.path.dlid, 9);
  EXPECT_EQ(sent.path.dgid[15], 7);
  EXPECT_EQ(sent.path.hop_limit, 3);
  EXPECT_EQ(sent.qkey, 0u);  // IBV_QP_QKEY is not in the mask
  world().failures[CommandType::kModifyQp] = EINVAL;
  attributes.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(qp->state, IBV_QPS_RTS);
}

TEST_F(Control, query_qp_answers_everything) {
  world().qp_attributes.qp_state = IBV_QPS_SQE;
  world().qp_attributes.rq_psn = 0x123456;
  world().qp_attributes.path.service_level = 3;
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  ASSERT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_SQE);
  EXPECT_EQ(attributes.rq_psn, 0x123456u);
  EXPECT_EQ(attributes.ah_attr.sl, 3);
  EXPECT_EQ(attributes.cap.max_send_wr, 4u);
  EXPECT_EQ(qp->state, IBV_QPS_SQE);
  EXPECT_EQ(init.send_cq, cq);
  EXPECT_EQ(init.qp_type, IBV_QPT_RC);
  EXPECT_EQ(init.sq_sig_all, 0);
}

TEST_F(Control, queue_pairs_need_their_parts) {
  ibv_qp_init_attr init{};
  init.send_cq = cq;
  init.qp_type = IBV_QPT_RC;
  EXPECT_EQ(ibv_create_qp(pd, &init), nullptr);  // no receive CQ
  EXPECT_EQ(errno, EINVAL);
  init.recv_cq = cq;
  init.qp_type = static_cast<ibv_qp_type>(1);
  EXPECT_EQ(ibv_create_qp(pd, &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
  world().failures[CommandType::kCreateQp] = ENOMEM;
  init.qp_type = IBV_QPT_RC;
  EXPECT_EQ(ibv_create_qp(pd, &init), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  ibv_qp_init_attr_ex extended{};
  extended.send_cq = extended.recv_cq = cq;
  extended.qp_type = IBV_QPT_RC;
  extended.pd = pd;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD | (1u << 20);
  EXPECT_EQ(ibv_create_qp_ex(context, &extended), nullptr);
  EXPECT_EQ(errno, EINVAL);
  extended.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH;
  EXPECT_EQ(ibv_create_qp_ex(context, &extended), nullptr);  // no indirection table for RSS
  EXPECT_EQ(errno, EINVAL);
  extended.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  EXPECT_EQ(ibv_create_qp_ex(context, &extended), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Control, what_is_not_there_says_so) {
  errno = 0;
  ibv_wq_init_attr queue{};
  queue.pd = pd;
  queue.cq = cq;
  EXPECT_EQ(ibv_create_wq(context, &queue), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  ibv_flow_attr flow{};
  EXPECT_EQ(ibv_create_flow(qp, &flow), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(ibv_import_device(3), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  ibv_srq_init_attr srq{};
  EXPECT_EQ(ibv_create_srq(pd, &srq), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ibv_modify_cq_attr moderation{};
  moderation.attr_mask = IBV_CQ_ATTR_MODERATE;
  EXPECT_EQ(ibv_modify_cq(cq, &moderation), EOPNOTSUPP);
  EXPECT_EQ(ibv_modify_qp_rate_limit(qp, nullptr), EOPNOTSUPP);
  ibv_gid gid{};
  EXPECT_EQ(ibv_attach_mcast(qp, &gid, 0xc000), EOPNOTSUPP);
  ibv_ece ece{};
  EXPECT_EQ(ibv_set_ece(qp, &ece), EOPNOTSUPP);  // ECE with a vendor ID is not supported
  EXPECT_EQ(ibv_fork_init(), 0);
}

TEST_F(Control, an_answer_goes_back_where_a_datagram_came_from) {
  ibv_wc wc{};
  wc.slid = 21;
  wc.sl = 2;
  wc.dlid_path_bits = 1;
  ibv_ah_attr attributes;
  ASSERT_EQ(ibv_init_ah_from_wc(context, 1, &wc, nullptr, &attributes), 0);
  EXPECT_EQ(attributes.dlid, 21);
  EXPECT_EQ(attributes.sl, 2);
  EXPECT_EQ(attributes.src_path_bits, 1);
  EXPECT_EQ(attributes.is_global, 0);
  wc.wc_flags = IBV_WC_GRH;
  ibv_grh grh{};
  grh.version_tclass_flow = htobe32(6u << 28 | 0x5au << 20 | 0xabcde);
  grh.hop_limit = 9;
  grh.sgid.raw[0] = 0x11;
  ibv_query_gid(context, 1, 2, &grh.dgid);
  ASSERT_EQ(ibv_init_ah_from_wc(context, 1, &wc, &grh, &attributes), 0);
  EXPECT_EQ(attributes.is_global, 1);
  EXPECT_EQ(attributes.grh.dgid.raw[0], 0x11);
  EXPECT_EQ(attributes.grh.sgid_index, 2);
  EXPECT_EQ(attributes.grh.flow_label, 0xabcdeu);
  EXPECT_EQ(attributes.grh.traffic_class, 0x5a);
  EXPECT_EQ(attributes.grh.hop_limit, 9);
  grh.dgid.raw[15] = 0x77;  // not ours
  EXPECT_EQ(ibv_init_ah_from_wc(context, 1, &wc, &grh, &attributes), -1);
}

}  // namespace
}  // namespace verbatim::fake
