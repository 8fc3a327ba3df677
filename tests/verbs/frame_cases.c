// Results of raw packet queue pairs, flow rules, receive work queues, their tables and flow counters, a line
// per case: frames of a program to its own port or to groups.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frames.h"

static const uint8_t kOther[kMacBytes] = {2, 2, 2, 2, 2, 2}, kGroup[kMacBytes] = {1, 0, 0x5e, 1, 2, 3};

static void capabilities(void) {
  struct ibv_device_attr_ex attributes;
  ibv_query_device_ex(me.context, NULL, &attributes);
  say(" steering=%d fcs=%d padding=%d raw=%x wqs=%d",
      (attributes.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING) != 0,
      (attributes.device_cap_flags_ex & IBV_DEVICE_RAW_SCATTER_FCS) != 0,
      (attributes.device_cap_flags_ex & IBV_DEVICE_PCI_WRITE_END_PADDING) != 0, attributes.raw_packet_caps,
      attributes.max_wq_type_rq > 0);
  const struct ibv_rss_caps* rss = &attributes.rss_caps;
  say(" rss=%x,%d,%d,%llx,%d", rss->supported_qpts, rss->max_rwq_indirection_tables > 0,
      rss->max_rwq_indirection_table_size, (unsigned long long)rss->rx_hash_fields_mask, rss->rx_hash_function);
  say(" tso=%u", attributes.tso_caps.max_tso);
  end_line("capabilities");
}

static void lengths(void) {
  struct ibv_qp* qp = make_qp(&me, 0);
  struct ibv_flow* flow = flow_to_mac(qp, me.mac);
  for (int i = 0; i < 4; ++i) post_receive(&me, qp, i);
  tell("shortest", qp, &(struct FrameOf){.source = 1, .destination = 2});
  say(" padding=%d%d", receive_slot(&me, 0)[42], receive_slot(&me, 0)[59]);
  tell("long", qp, &(struct FrameOf){.source = 1, .length = 1514});
  say(" same=%d", memcmp(send_slot(&me, 0), receive_slot(&me, 1), 1514) == 0);
  // Inline, and from two entries.
  const size_t length = build_frame(&me, 0, &(struct FrameOf){.source = 1, .length = 60});
  struct ibv_sge sges[2] = {{(uintptr_t)send_slot(&me, 0), 20, me.mr->lkey},
                            {(uintptr_t)send_slot(&me, 0) + 20, 40, me.mr->lkey}};
  struct ibv_send_wr wr = {.wr_id = 100,
                           .sg_list = sges,
                           .num_sge = 2,
                           .opcode = IBV_WR_SEND,
                           .send_flags = IBV_SEND_INLINE},
                     *bad;
  SAY("post", ibv_post_send(qp, &wr, &bad));
  settle();
  wr.send_flags = 0;
  SAY("post", ibv_post_send(qp, &wr, &bad));
  settle();
  say_completions(&me);
  say(" same=%d", memcmp(send_slot(&me, 0), receive_slot(&me, 2), length) == 0 &&
                      memcmp(send_slot(&me, 0), receive_slot(&me, 3), length) == 0);
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  SAY("post", ibv_post_send(qp, &wr, &bad));
  SAY("destroy_qp", ibv_destroy_qp(qp));
  say(" no header:");
  send_bytes(&me, qp, 0, 13);
  settle();
  say_completions(&me);
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr init;
  ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init);
  say(" state=%d", attributes.qp_state);
  SAY("destroy_flow", ibv_destroy_flow(flow));
  SAY("destroy_flow", ibv_destroy_flow(flow));
  SAY("destroy_qp", ibv_destroy_qp(qp));
  end_line("lengths");
}

// By the calls of ibv_qp_ex.
static void extended_sends(void) {
  struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RAW_PACKET,
                                     .send_cq = ibv_cq_ex_to_cq(me.cq),
                                     .recv_cq = ibv_cq_ex_to_cq(me.cq),
                                     .cap = {4, 4, 2, 2, 64},
                                     .sq_sig_all = 1,
                                     .pd = me.pd,
                                     .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                     .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM};
  errno = 0;
  say(" with_immediate=%s", made(ibv_create_qp_ex(me.context, &init)));
  init.send_ops_flags = IBV_QP_EX_WITH_SEND;
  struct ibv_qp* qp = ibv_create_qp_ex(me.context, &init);
  SAY("modify_qp", to_rts(qp));
  struct ibv_flow* flow = flow_to_mac(qp, me.mac);
  for (int i = 0; i < 3; ++i) post_receive(&me, qp, i);
  const uint32_t length = (uint32_t)build_frame(&me, 0, &(struct FrameOf){.source = 1, .length = 62});
  struct ibv_qp_ex* extended = ibv_qp_to_qp_ex(qp);
  const struct ibv_data_buf parts[2] = {{send_slot(&me, 0), 30}, {send_slot(&me, 0) + 30, length - 30}};
  ibv_wr_start(extended);
  extended->wr_id = 100;
  ibv_wr_send(extended);
  ibv_wr_set_sge(extended, me.mr->lkey, (uintptr_t)send_slot(&me, 0), length);
  ibv_wr_send(extended);
  ibv_wr_set_inline_data_list(extended, 2, parts);
  SAY("complete", ibv_wr_complete(extended));
  settle();
  say_completions(&me);
  say(" same=%d", memcmp(receive_slot(&me, 0), receive_slot(&me, 1), length) == 0);
  ibv_destroy_flow(flow);
  ibv_destroy_qp(qp);
  end_line("extended sends");
}

static void receives(void) {
  struct ibv_qp *to = make_qp(&me, 0), *from = make_qp(&me, 0);
  const struct FrameOf frame = {.length = 100};
  tell("no rule", from, &frame);
  struct ibv_flow* flow = flow_to_mac(to, me.mac);
  tell("no receive", from, &frame);
  struct ibv_sge sge;
  struct ibv_recv_wr wr = receive_of(&me, 1, 99, &sge), *bad;
  post_receive(&me, to, 0);
  ibv_post_recv(to, &wr, &bad);
  tell("fits", from, &frame);
  tell("too long", from, &frame);
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr init;
  ibv_query_qp(to, &attributes, IBV_QP_STATE, &init);
  say(" state=%d", attributes.qp_state);
  SAY("destroy_flow", ibv_destroy_flow(flow));
  ibv_destroy_qp(to);
  ibv_destroy_qp(from);
  end_line("receives");
}

static void options(void) {
  struct ibv_qp* from = make_qp(&me, 0);
  const uint32_t flags[] = {IBV_QP_CREATE_CVLAN_STRIPPING, IBV_QP_CREATE_SCATTER_FCS,
                            IBV_QP_CREATE_PCI_WRITE_END_PADDING,
                            IBV_QP_CREATE_CVLAN_STRIPPING | IBV_QP_CREATE_SCATTER_FCS};
  for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); ++i) {
    struct ibv_qp* to = make_qp(&me, flags[i]);
    struct ibv_flow* flow = flow_to_mac(to, me.mac);
    post_receive(&me, to, 0);
    post_receive(&me, to, 1);
    memset(receive_slot(&me, 0), 0xee, 2 * kSlotBytes);
    char name[16];
    snprintf(name, sizeof(name), "%x", flags[i]);
    tell(name, from, &(struct FrameOf){.vlan = 0x6005, .length = 70});
    const uint8_t* got = receive_slot(&me, 0);
    say(" type=%02x%02x end=", got[12], got[13]);
    for (int at = 65; at < 75; ++at) say("%02x", got[at]);
    say(" line=%02x%02x", got[127], got[128]);
    tell("untagged", from, &(struct FrameOf){.length = 70});
    SAY("destroy_flow", ibv_destroy_flow(flow));
    ibv_destroy_qp(to);
  }
  struct ibv_qp* blocked = make_qp(&me, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
  struct ibv_flow *first = flow_to_mac(blocked, kGroup), *second = flow_to_mac(from, kGroup);
  post_receive(&me, blocked, 5);
  post_receive(&me, from, 6);
  tell("own copy", blocked, &(struct FrameOf){.to = kGroup});
  tell("another's", from, &(struct FrameOf){.to = kGroup});
  ibv_destroy_flow(first);
  ibv_destroy_flow(second);
  ibv_destroy_qp(blocked);
  ibv_destroy_qp(from);
  errno = 0;
  say(" source_qpn=%s", made(make_qp(&me, IBV_QP_CREATE_SOURCE_QPN)));
  end_line("options");
}

// One rule each, a frame that it is meant for and one that it is not.
static void specs(void) {
  struct ibv_qp* qp = make_qp(&me, 0);
  const struct FrameOf plain = {
      .source = 0x01010101, .destination = 0x02020202, .source_port = 1234, .destination_port = 5678};
  struct FrameOf tagged = plain, tcp = plain, six = plain, six_tcp = plain, other = plain, tunnel = plain,
                 tunnel_tcp = plain;
  tagged.vlan = 0xa00c;
  tcp.is_tcp = six.is_v6 = six_tcp.is_v6 = six_tcp.is_tcp = 1;
  other.source = 0x01010102;
  other.source_port = 1235;
  tunnel.inside = &other;
  tunnel.vxlan = 77;
  tunnel_tcp.inside = &six_tcp;
  tunnel_tcp.vxlan = 78;
  const struct FrameOf* frames[] = {&plain, &tagged, &tcp, &six, &six_tcp, &other, &tunnel, &tunnel_tcp};
  const char* names[] = {"plain", "tagged", "tcp", "six", "six tcp", "other", "tunnel", "tunnel tcp"};
  for (int kind = 0; kind < 12; ++kind) {
    struct FlowOf flow;
    begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
    const int inner = kind >= 9 ? IBV_FLOW_SPEC_INNER : 0;
    const char* rule = "";
    if (kind == 0) {
      rule = "everything";
    } else if (kind == 1 || kind == 2) {
      rule = kind == 1 ? "type" : "vlan";
      struct ibv_flow_spec_eth* spec = add_spec(&flow, IBV_FLOW_SPEC_ETH, sizeof(*spec));
      spec->val.ether_type = htons(0x0800);
      spec->mask.ether_type = 0xffff;
      spec->val.vlan_tag = htons(0xffff & 0xf00c);
      if (kind == 2) spec->mask.vlan_tag = htons(0x0fff);
    } else if (kind == 3 || kind == 9) {
      rule = kind == 3 ? "ipv4" : "inner ipv4";
      struct ibv_flow_spec_ipv4* spec = add_spec(&flow, IBV_FLOW_SPEC_IPV4 | inner, sizeof(*spec));
      spec->val.src_ip = htonl(kind == 3 ? plain.source : other.source);
      spec->mask.src_ip = 0xffffffff;
    } else if (kind == 4) {
      rule = "ipv4_ext udp";
      struct ibv_flow_spec_ipv4_ext* spec = add_spec(&flow, IBV_FLOW_SPEC_IPV4_EXT, sizeof(*spec));
      spec->val.proto = IPPROTO_UDP;
      spec->val.ttl = 64;
      spec->val.flags = 2;
      spec->mask.proto = spec->mask.ttl = spec->mask.flags = 0xff;
    } else if (kind == 5 || kind == 10) {
      rule = kind == 5 ? "ipv6" : "inner ipv6";
      struct ibv_flow_spec_ipv6* spec = add_spec(&flow, IBV_FLOW_SPEC_IPV6 | inner, sizeof(*spec));
      const uint8_t prefix[4] = {0x20, 1, 0x0d, 0xb8};
      memcpy(spec->val.src_ip, prefix, sizeof(prefix));
      memset(spec->mask.src_ip, 0xff, sizeof(prefix));
      spec->val.hop_limit = 64;
      spec->mask.hop_limit = 0xff;
    } else if (kind == 6 || kind == 7 || kind == 11) {
      rule = kind == 6 ? "udp" : kind == 7 ? "tcp" : "inner tcp";
      struct ibv_flow_spec_tcp_udp* spec =
          add_spec(&flow, (kind == 6 ? IBV_FLOW_SPEC_UDP : IBV_FLOW_SPEC_TCP) | inner, sizeof(*spec));
      spec->val.src_port = htons(1234);
      spec->mask.src_port = 0xffff;
      spec->val.dst_port = htons(5678);
      spec->mask.dst_port = 0xffff;
    } else {
      rule = "vxlan";
      struct ibv_flow_spec_tunnel* spec = add_spec(&flow, IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof(*spec));
      spec->val.tunnel_id = htonl(77);
      spec->mask.tunnel_id = 0xffffffff;
    }
    struct ibv_flow* made_flow = make_flow(qp, &flow);
    if (made_flow == NULL) say(" (%s)", error_name(errno));
    for (int i = 0; i < 8; ++i) {
      post_receive(&me, qp, i);
      send_frame(&me, qp, frames[i]);
      settle();
      struct ibv_wc completions[4];
      int got = 0;
      for (int n = ibv_poll_cq(ibv_cq_ex_to_cq(me.cq), 4, completions); n > 0; --n)
        got |= completions[n - 1].wr_id < 100;
      if (got) say(" [%s]", names[i]);
    }
    ibv_destroy_flow(made_flow);
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    ibv_modify_qp(qp, &reset, IBV_QP_STATE);
    to_rts(qp);
    char name[64];
    snprintf(name, sizeof(name), "rule %s", rule);
    end_line(name);
  }
  ibv_destroy_qp(qp);
}

static void priorities(void) {
  struct ibv_qp *a = make_qp(&me, 0), *b = make_qp(&me, 0), *c = make_qp(&me, 0), *from = make_qp(&me, 0);
  for (int i = 0; i < 4; ++i) post_receive(&me, a, i), post_receive(&me, b, 4 + i), post_receive(&me, c, 8 + i);
  struct FlowOf flow;
  const struct FrameOf frame = {0}, to_group = {.to = kGroup};
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 5);
  struct ibv_flow* low = make_flow(a, &flow);
  tell("low alone", from, &frame);
  struct ibv_flow* high = flow_to_mac(b, me.mac);
  tell("high first", from, &frame);
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
  add_mac(&flow, me.mac);
  struct ibv_flow* same = make_flow(c, &flow);
  tell("two alike", from, &frame);
  ibv_destroy_flow(high);
  ibv_destroy_flow(same);
  flow.attributes.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  high = make_flow(b, &flow);
  tell("not trapped", from, &frame);
  ibv_destroy_flow(high);
  ibv_destroy_flow(low);
  begin_flow(&flow, IBV_FLOW_ATTR_ALL_DEFAULT, 0);
  struct ibv_flow* all = make_flow(a, &flow);
  begin_flow(&flow, IBV_FLOW_ATTR_MC_DEFAULT, 0);
  struct ibv_flow* groups = make_flow(b, &flow);
  tell("default", from, &frame);
  tell("group", from, &to_group);
  ibv_destroy_flow(all);
  tell("default of groups", from, &frame);
  begin_flow(&flow, IBV_FLOW_ATTR_SNIFFER, 0);
  struct ibv_flow* sniffer = make_flow(c, &flow);
  tell("leaves by the port", from, &(struct FrameOf){.to = kOther});
  ibv_destroy_flow(sniffer);
  ibv_destroy_flow(groups);
  ibv_destroy_qp(a);
  ibv_destroy_qp(b);
  ibv_destroy_qp(c);
  ibv_destroy_qp(from);
  end_line("priorities");
}

static struct ibv_flow* with_counters(struct ibv_qp* qp, struct ibv_counters* counters, int drops, uint32_t tag,
                                      int priority) {
  struct FlowOf flow;
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, priority);
  add_mac(&flow, me.mac);
  if (counters != NULL) {
    struct ibv_flow_spec_counter_action* spec = add_spec(&flow, IBV_FLOW_SPEC_ACTION_COUNT, sizeof(*spec));
    spec->counters = counters;
  }
  if (drops) add_spec(&flow, IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ibv_flow_spec_action_drop));
  if (tag != 0) {
    struct ibv_flow_spec_action_tag* spec = add_spec(&flow, IBV_FLOW_SPEC_ACTION_TAG, sizeof(*spec));
    spec->tag_id = tag;
  }
  return make_flow(qp, &flow);
}

static void actions(void) {
  struct ibv_qp* qp = make_qp(&me, 0);
  const struct FrameOf frame = {.length = 100};
  for (int i = 0; i < 4; ++i) post_receive(&me, qp, i);
  struct ibv_counters_init_attr init = {0}, unknown = {.comp_mask = 1};
  say(" unknown_bit=%s", made(ibv_create_counters(me.context, &unknown)));
  struct ibv_counters* counters = ibv_create_counters(me.context, &init);
  struct ibv_counter_attach_attr point = {.counter_desc = IBV_COUNTER_PACKETS, .index = 0};
  SAY("attach", ibv_attach_counters_point_flow(counters, &point, NULL));
  point = (struct ibv_counter_attach_attr){.counter_desc = IBV_COUNTER_BYTES, .index = 1};
  SAY("attach", ibv_attach_counters_point_flow(counters, &point, NULL));
  point = (struct ibv_counter_attach_attr){.counter_desc = 2, .index = 1};
  SAY("attach", ibv_attach_counters_point_flow(counters, &point, NULL));
  point = (struct ibv_counter_attach_attr){.index = 64};
  SAY("attach", ibv_attach_counters_point_flow(counters, &point, NULL));
  struct ibv_flow* marks = with_counters(qp, counters, 0, 0xabcdef, 1);
  point.index = 2;
  say(" bound:");
  SAY("attach", ibv_attach_counters_point_flow(counters, &point, NULL));
  SAY("destroy_counters", ibv_destroy_counters(counters));
  tell("marked", qp, &frame);
  struct ibv_flow* drops = with_counters(qp, counters, 1, 0, 0);
  tell("dropped", qp, &frame);
  // To a flow that is there already.
  SAY("attach_to_flow", ibv_attach_counters_point_flow(counters, &point, drops));
  tell("dropped", qp, &frame);
  uint64_t values[4] = {9, 9, 9, 9};
  SAY("read", ibv_read_counters(counters, values, 3, IBV_READ_COUNTERS_ATTR_PREFER_CACHED));
  say(" values=%d,%d,%d,%d", (int)values[0], (int)values[1], (int)values[2], (int)values[3]);
  SAY("read_65", ibv_read_counters(counters, values, 65, 0));
  SAY("read_flags", ibv_read_counters(counters, values, 1, 2));
  errno = 0;
  say(" drop_and_tag=%s", made(with_counters(qp, NULL, 1, 1, 0)));
  ibv_destroy_flow(marks);
  ibv_destroy_flow(drops);
  SAY("destroy_counters", ibv_destroy_counters(counters));
  SAY("read", ibv_read_counters(counters, values, 1, 0));
  errno = 0;
  say(" gone_counters=%s", made(with_counters(qp, counters, 0, 0, 0)));
  ibv_destroy_qp(qp);
  end_line("actions");
}

static void wrong_rules(void) {
  struct ibv_qp* qp = make_qp(&me, 0);
  struct FlowOf flow;
#define SAY_RULE(what) say(" " what "=%s", made(make_flow(qp, &flow)))
  const size_t sizes[] = {0, 5, 8, sizeof(struct ibv_flow_spec_eth) - 3};
  for (int i = 0; i < 4; ++i) {
    begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
    add_spec(&flow, IBV_FLOW_SPEC_ETH, sizes[i]);
    SAY_RULE("short");
  }
  const int types[] = {0,
                       0x21,
                       0x100,
                       0x1004,
                       0x50 | 0x100,
                       IBV_FLOW_SPEC_GRE | IBV_FLOW_SPEC_INNER,
                       IBV_FLOW_SPEC_ACTION_HANDLE};
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
    begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
    add_spec(&flow, types[i], 64);
    say(" %x", types[i]);
    SAY_RULE("rule");
  }
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
  for (int i = 0; i < 11; ++i) add_spec(&flow, IBV_FLOW_SPEC_TCP, sizeof(struct ibv_flow_spec_tcp_udp));
  SAY_RULE("eleven_specs");
  begin_flow(&flow, 4, 0);
  SAY_RULE("type");
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
  flow.attributes.port = 2;
  SAY_RULE("port");
  flow.attributes.port = 1;
  flow.attributes.flags = 1;
  SAY_RULE("flags");
  flow.attributes.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
  SAY_RULE("egress");
  begin_flow(&flow, IBV_FLOW_ATTR_SNIFFER, 0);
  flow.attributes.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  SAY_RULE("sniffer_dont_trap");
  flow.attributes.flags = 0;
  flow.attributes.comp_mask = 1;
  SAY_RULE("comp_mask");
  flow.attributes.comp_mask = 0;
  add_mac(&flow, me.mac);
  SAY_RULE("sniffer_with_specs");
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
  add_spec(&flow, IBV_FLOW_SPEC_ACTION_COUNT, sizeof(struct ibv_flow_spec_counter_action));
  SAY_RULE("no_counters");
  struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
                                  .send_cq = ibv_cq_ex_to_cq(me.cq),
                                  .recv_cq = ibv_cq_ex_to_cq(me.cq),
                                  .cap = {1, 1, 1, 1, 0}};
  struct ibv_qp* connected = ibv_create_qp(me.pd, &init);
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
  say(" connected=%s", made(make_flow(connected, &flow)));
  ibv_destroy_qp(connected);
  say(" gone=%s", made(make_flow(connected, &flow)));
  init.qp_type = IBV_QPT_UD;
  struct ibv_qp* datagrams = ibv_create_qp(me.pd, &init);
  say(" datagrams=%s", made(make_flow(datagrams, &flow)));
  ibv_destroy_qp(datagrams);
  struct ibv_srq_init_attr shared = {.attr = {4, 1, 0}};
  init.qp_type = IBV_QPT_RAW_PACKET;
  init.srq = ibv_create_srq(me.pd, &shared);
  errno = 0;
  say(" with_srq=%s", made(ibv_create_qp(me.pd, &init)));
  ibv_destroy_srq(init.srq);
  ibv_destroy_qp(qp);
  end_line("wrong rules");
}

// Without CAP_NET_RAW; the last case, as it cannot be undone.
static void rights(void) {
  struct ibv_qp* qp = make_qp(&me, 0);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) say(" capget=%s", error_name(errno));
  data[0].effective &= ~(1u << CAP_NET_RAW);
  if (syscall(SYS_capset, &header, data) != 0) say(" capset=%s", error_name(errno));
  errno = 0;
  say(" qp=%s", made(make_qp(&me, 0)));
  say(" flow=%s", made(flow_to_mac(qp, me.mac)));
  end_line("rights");
}

static void on_infiniband(void) {
  struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RAW_PACKET,
                                  .send_cq = ibv_cq_ex_to_cq(me.cq),
                                  .recv_cq = ibv_cq_ex_to_cq(me.cq),
                                  .cap = {1, 1, 1, 1, 0}};
  errno = 0;
  say(" qp=%s", made(ibv_create_qp(me.pd, &init)));
  struct ibv_wq_init_attr queue = {.max_wr = 1, .max_sge = 1, .pd = me.pd, .cq = ibv_cq_ex_to_cq(me.cq)};
  say(" wq=%s", made(ibv_create_wq(me.context, &queue)));
  struct ibv_counters_init_attr counters = {0};
  say(" counters=%s", made(ibv_create_counters(me.context, &counters)));
  init.qp_type = IBV_QPT_UD;
  struct FlowOf flow;
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
  say(" flow=%s", made(make_flow(ibv_create_qp(me.pd, &init), &flow)));
  end_line("infiniband");
}

int main(int count, char** arguments) {
  open_station(&me);
  capabilities();
  if (count > 1 && strcmp(arguments[1], "infiniband") == 0) {
    on_infiniband();
    return 0;
  }
  lengths();
  extended_sends();
  receives();
  options();
  specs();
  priorities();
  actions();
  wrong_rules();
  queue_cases();
  tunnel_cases();
  rights();
  return 0;
}
