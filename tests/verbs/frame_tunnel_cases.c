// Rules for contents of GRE and MPLS tunnels, and for ESP: one line per rule, with the frames that it matches.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

// After the Ethernet addresses. IPv4 headers differ in protocol and destination.
#define IPV4(protocol) "0800 45000000 00004000 40" protocol "0000 01010101 02020202 "
#define INNER_IPV4(protocol) "45000000 00004000 40" protocol "0000 03030303 04040404 "
#define PORTS "04d2162e 00000000 "

static const struct {
  const char *name, *bytes;
} frames[] = {
    {"gre", IPV4("2f") "0000 0800 " INNER_IPV4("06") PORTS},
    {"gre key", IPV4("2f") "2000 0800 0000004d " INNER_IPV4("11") PORTS},
    {"gre ethernet", IPV4("2f") "b000 6558 00000000 0000004e 00000001 0c0000000003 0d0000000004 " IPV4("06") PORTS},
    {"gre version 1", IPV4("2f") "0001 0800 " INNER_IPV4("06") PORTS},
    {"gre mpls", IPV4("2f") "0000 8847 0004d140 " INNER_IPV4("06") PORTS},
    {"mpls", "8847 0004d040 0004e140 " INNER_IPV4("11") PORTS},
    {"mpls over udp", IPV4("11") "04d219eb 00000000 0004d140 " INNER_IPV4("06") PORTS},
    {"esp", IPV4("32") "00001234 00000005 "},
    {"udp", IPV4("11") PORTS},
};
enum { kFrames = sizeof(frames) / sizeof(frames[0]) };

static size_t put_frame(int which) {
  uint8_t* const begin = send_slot(&me, 0);
  memset(begin, 0, kSlotBytes);
  memcpy(begin, me.mac, kMacBytes);
  memcpy(begin + kMacBytes, me.mac, kMacBytes);
  size_t length = 2 * kMacBytes;
  for (const char* digit = frames[which].bytes; *digit != 0; digit += 2) {
    while (*digit == ' ') ++digit;
    if (*digit == 0) break;
    const char pair[3] = {digit[0], digit[1], 0};
    begin[length++] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return length;
}

static void tell_rule(const char* name, struct ibv_qp* qp, struct FlowOf* flow) {
  struct ibv_flow* const rule = make_flow(qp, flow);
  if (rule == NULL) {
    say(" %s", made(rule));
    return end_line(name);
  }
  for (int i = 0; i < kFrames; ++i) {
    post_receive(&me, qp, i);
    send_bytes(&me, qp, 0, put_frame(i));
    settle();
    struct ibv_wc wc[4];
    int got = 0;
    for (int n = ibv_poll_cq(ibv_cq_ex_to_cq(me.cq), 4, wc); n > 0; --n) got |= wc[n - 1].wr_id < 100;
    if (got) say(" [%s]", frames[i].name);
  }
  ibv_destroy_flow(rule);
  struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
  ibv_modify_qp(qp, &reset, IBV_QP_STATE);
  to_rts(qp);
  end_line(name);
}

static void add_gre(struct FlowOf* flow, uint16_t flags, uint16_t protocol, uint32_t key) {
  struct ibv_flow_spec_gre* spec = add_spec(flow, IBV_FLOW_SPEC_GRE, sizeof(*spec));
  spec->val = (struct ibv_flow_gre_filter){htons(flags), htons(protocol), htonl(key)};
  spec->mask = (struct ibv_flow_gre_filter){flags != 0 ? 0xffff : 0, protocol != 0 ? 0xffff : 0, key != 0 ? ~0u : 0};
}

static void add_mpls(struct FlowOf* flow, int inner, uint32_t label) {
  struct ibv_flow_spec_mpls* spec = add_spec(flow, IBV_FLOW_SPEC_MPLS | inner, sizeof(*spec));
  spec->val.label = htonl(label << 12);
  spec->mask.label = label != 0 ? htonl(0xfffff000) : 0;
}

static void add_ports(struct FlowOf* flow, int type) { add_spec(flow, type, sizeof(struct ibv_flow_spec_tcp_udp)); }

void tunnel_cases(void) {
  struct ibv_qp* const qp = make_qp(&me, 0);
  struct FlowOf flow;
#define BEGIN begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0)
  BEGIN, add_gre(&flow, 0, 0, 0);
  tell_rule("rule gre", qp, &flow);
  BEGIN, add_gre(&flow, 0, 0, 77);
  tell_rule("rule gre key", qp, &flow);
  BEGIN, add_gre(&flow, 0xb000, 0x6558, 0);
  tell_rule("rule gre flags and protocol", qp, &flow);
  BEGIN, add_gre(&flow, 0, 0, 0), add_ports(&flow, IBV_FLOW_SPEC_TCP | IBV_FLOW_SPEC_INNER);
  tell_rule("rule gre inner tcp", qp, &flow);
  BEGIN, add_mac(&flow, me.mac), add_mpls(&flow, 0, 77);
  tell_rule("rule mpls", qp, &flow);
  BEGIN, add_mpls(&flow, 0, 78);
  tell_rule("rule mpls second label", qp, &flow);
  BEGIN, add_ports(&flow, IBV_FLOW_SPEC_UDP), add_mpls(&flow, 0, 77);
  tell_rule("rule mpls over udp", qp, &flow);
  BEGIN, add_gre(&flow, 0, 0, 0), add_mpls(&flow, 0, 77);
  tell_rule("rule mpls over gre", qp, &flow);
  BEGIN, add_gre(&flow, 0, 0, 0), add_mpls(&flow, IBV_FLOW_SPEC_INNER, 77);
  tell_rule("rule inner mpls over gre", qp, &flow);
  BEGIN, add_mpls(&flow, 0, 0), add_ports(&flow, IBV_FLOW_SPEC_UDP);
  tell_rule("rule udp below labels", qp, &flow);
  BEGIN;
  struct ibv_flow_spec_esp* esp = add_spec(&flow, IBV_FLOW_SPEC_ESP, sizeof(*esp));
  esp->val.spi = htonl(0x1234);
  esp->mask.spi = 0xffffffff;
  tell_rule("rule esp", qp, &flow);
  BEGIN;
  esp = add_spec(&flow, IBV_FLOW_SPEC_ESP, sizeof(*esp));
  esp->val.seq = htonl(6);
  esp->mask.seq = 0xffffffff;
  tell_rule("rule esp other number", qp, &flow);
  ibv_destroy_qp(qp);
}
