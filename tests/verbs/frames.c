#include "frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct Station me;
const uint8_t kBroadcast[kMacBytes] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static char line[8192];
static size_t line_length;

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int printed = vsnprintf(line + line_length, sizeof(line) - line_length, format, arguments);
  va_end(arguments);
  if (printed > 0) line_length += (size_t)printed;
}

void end_line(const char* name) {
  printf("%s:%s\n", name, line);
  fflush(stdout);
  line_length = 0;
  line[0] = 0;
}

const char* error_name(int error) {
  switch (error) {
    case 0:
      return "0";
    case EINVAL:
      return "EINVAL";
    case EBUSY:
      return "EBUSY";
    case ENOMEM:
      return "ENOMEM";
    case EPERM:
      return "EPERM";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    default:
      return strerror(error);
  }
}

static void fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

void open_station(struct Station* station) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  station->context = devices == NULL || devices[0] == NULL ? NULL : ibv_open_device(devices[0]);
  if (station->context == NULL) fail("ibv_open_device");
  station->pd = ibv_alloc_pd(station->context);
  struct ibv_cq_init_attr_ex init = {
      .cqe = 256,
      .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_QP_NUM};
  station->cq = ibv_create_cq_ex(station->context, &init);
  station->buffer = aligned_alloc(4096, 2 * kSlots * kSlotBytes);
  if (station->pd == NULL || station->cq == NULL || station->buffer == NULL) fail("resources");
  memset(station->buffer, 0xee, 2 * kSlots * kSlotBytes);
  station->mr = ibv_reg_mr(station->pd, station->buffer, 2 * kSlots * kSlotBytes, IBV_ACCESS_LOCAL_WRITE);
  if (station->mr == NULL) fail("ibv_reg_mr");
  // The first GID of an Ethernet port is its link-local address, derived from the MAC address (RFC 4291, appendix A).
  union ibv_gid gid;
  if (ibv_query_gid(station->context, 1, 0, &gid) != 0) fail("ibv_query_gid");
  const uint8_t mac[kMacBytes] = {gid.raw[8] ^ 2, gid.raw[9], gid.raw[10], gid.raw[13], gid.raw[14], gid.raw[15]};
  memcpy(station->mac, mac, sizeof(mac));
}

int to_rts(struct ibv_qp* qp) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  int error = ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT);
  if (error == 0) error = (attributes.qp_state = IBV_QPS_RTR, ibv_modify_qp(qp, &attributes, IBV_QP_STATE));
  if (error == 0) error = (attributes.qp_state = IBV_QPS_RTS, ibv_modify_qp(qp, &attributes, IBV_QP_STATE));
  return error;
}

struct ibv_qp* make_qp(struct Station* station, uint32_t create_flags) {
  struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RAW_PACKET,
                                     .send_cq = ibv_cq_ex_to_cq(station->cq),
                                     .recv_cq = ibv_cq_ex_to_cq(station->cq),
                                     .cap = {kSlots, kSlots, 2, 2, 64},
                                     .sq_sig_all = 1,
                                     .pd = station->pd,
                                     .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
                                     .create_flags = create_flags};
  struct ibv_qp* qp = ibv_create_qp_ex(station->context, &init);
  if (qp == NULL) return NULL;
  if ((errno = to_rts(qp)) != 0) fail("ibv_modify_qp");
  return qp;
}

uint8_t* send_slot(struct Station* station, int slot) { return station->buffer + slot * kSlotBytes; }
uint8_t* receive_slot(struct Station* station, int slot) { return send_slot(station, kSlots + slot); }

static uint8_t* put(uint8_t* to, const void* bytes, size_t count) {
  memcpy(to, bytes, count);
  return to + count;
}
static uint8_t* put16(uint8_t* to, unsigned value) {
  *to++ = (uint8_t)(value >> 8);
  *to++ = (uint8_t)value;
  return to;
}
static uint8_t* put32(uint8_t* to, uint32_t value) { return put16(put16(to, value >> 16), value & 0xffff); }

static uint8_t* put_headers(struct Station* station, uint8_t* to, const struct FrameOf* frame) {
  to = put(to, frame->to != NULL ? frame->to : station->mac, kMacBytes);
  to = put(to, frame->from != NULL ? frame->from : station->mac, kMacBytes);
  if (frame->vlan != 0) to = put16(put16(to, 0x8100), (unsigned)frame->vlan);
  const uint8_t protocol = frame->is_tcp ? IPPROTO_TCP : IPPROTO_UDP;
  if (frame->is_v6) {
    to = put32(put16(to, 0x86dd), 0x60000000);
    const uint8_t rest[4] = {0, 0, protocol, 64}, prefix[12] = {0x20, 1, 0x0d, 0xb8};
    to = put(to, rest, sizeof(rest));
    to = put32(put(to, prefix, sizeof(prefix)), frame->source);
    to = put32(put(to, prefix, sizeof(prefix)), frame->destination);
  } else {
    const uint8_t head[12] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0};
    to = put(put16(to, 0x0800), head, sizeof(head));
    to = put32(put32(to, frame->source), frame->destination);
  }
  to = put16(put16(to, frame->source_port), frame->inside != NULL ? 4789 : frame->destination_port);
  to = put32(to, 0);
  if (frame->inside == NULL) return to;
  return put_headers(station, put32(put32(to, 0x08000000), frame->vxlan << 8), frame->inside);
}

size_t build_frame(struct Station* station, int slot, const struct FrameOf* frame) {
  uint8_t* begin = send_slot(station, slot);
  for (size_t i = 0; i < kSlotBytes; ++i) begin[i] = (uint8_t)(i * 7);
  const size_t headers = (size_t)(put_headers(station, begin, frame) - begin);
  return frame->length > headers ? frame->length : headers;
}

int send_bytes(struct Station* station, struct ibv_qp* qp, int slot, size_t length) {
  struct ibv_sge sge = {(uintptr_t)send_slot(station, slot), (uint32_t)length, station->mr->lkey};
  struct ibv_send_wr wr = {.wr_id = 100, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  return ibv_post_send(qp, &wr, &bad);
}

int send_frame(struct Station* station, struct ibv_qp* qp, const struct FrameOf* frame) {
  return send_bytes(station, qp, 0, build_frame(station, 0, frame));
}

struct ibv_recv_wr receive_of(struct Station* station, int slot, uint32_t length, struct ibv_sge* sge) {
  *sge = (struct ibv_sge){(uintptr_t)receive_slot(station, slot), length, station->mr->lkey};
  return (struct ibv_recv_wr){.wr_id = (uint64_t)slot, .sg_list = sge, .num_sge = 1};
}

int post_receive(struct Station* station, struct ibv_qp* qp, int slot) {
  struct ibv_sge sge;
  struct ibv_recv_wr wr = receive_of(station, slot, kSlotBytes, &sge), *bad;
  return ibv_post_recv(qp, &wr, &bad);
}

int post_wq_receive(struct Station* station, struct ibv_wq* wq, int slot) {
  struct ibv_sge sge;
  struct ibv_recv_wr wr = receive_of(station, slot, kSlotBytes, &sge), *bad;
  return ibv_post_wq_recv(wq, &wr, &bad);
}

void begin_flow(struct FlowOf* flow, enum ibv_flow_attr_type type, int priority) {
  memset(flow, 0, sizeof(*flow));
  flow->attributes.type = type;
  flow->attributes.priority = (uint16_t)priority;
  flow->attributes.port = 1;
  flow->attributes.size = sizeof(flow->attributes);
}

void* add_spec(struct FlowOf* flow, int type, size_t size) {
  uint8_t* at = flow->specs + flow->used;
  const uint32_t as_type = (uint32_t)type;
  const uint16_t as_size = (uint16_t)size;
  memcpy(at, &as_type, sizeof(as_type));
  memcpy(at + sizeof(as_type), &as_size, sizeof(as_size));
  flow->used += size;
  flow->attributes.size = (uint16_t)(flow->attributes.size + size);
  ++flow->attributes.num_of_specs;
  return at;
}

void add_mac(struct FlowOf* flow, const uint8_t* to) {
  struct ibv_flow_spec_eth* spec = add_spec(flow, IBV_FLOW_SPEC_ETH, sizeof(*spec));
  memcpy(spec->val.dst_mac, to, kMacBytes);
  memset(spec->mask.dst_mac, 0xff, kMacBytes);
}

struct ibv_flow* make_flow(struct ibv_qp* qp, struct FlowOf* flow) {
  _Static_assert(offsetof(struct FlowOf, specs) == sizeof(struct ibv_flow_attr), "specs follow the attributes");
  errno = 0;
  return ibv_create_flow(qp, &flow->attributes);
}

void settle(void) {
  const struct timespec time = {0, 200000};
  nanosleep(&time, NULL);
}

void say_completions(struct Station* station) {
  struct ibv_poll_cq_attr attributes = {0};
  if (ibv_start_poll(station->cq, &attributes) != 0) return say(" nothing");
  do {
    struct ibv_cq_ex* cq = station->cq;
    if (cq->wr_id >= 100) {
      if (cq->status != IBV_WC_SUCCESS) say(" send=%s", ibv_wc_status_str(cq->status));
      continue;
    }
    say(" %d=", (int)cq->wr_id);
    if (cq->status != IBV_WC_SUCCESS) {
      say("%s", ibv_wc_status_str(cq->status));
      continue;
    }
    say("%u", ibv_wc_read_byte_len(cq));
    if (ibv_wc_read_flow_tag(cq) != 0) say(",tag %u", ibv_wc_read_flow_tag(cq));
    if (ibv_wc_read_cvlan(cq) != 0) say(",vlan 0x%x", ibv_wc_read_cvlan(cq));
    if (ibv_wc_read_slid(cq) != 0 || ibv_wc_read_imm_data(cq) != 0 || ibv_wc_read_opcode(cq) != IBV_WC_RECV)
      say(",WRONG");
  } while (ibv_next_poll(station->cq) == 0);
  ibv_end_poll(station->cq);
}

const char* made(const void* object) { return object != NULL ? "made" : error_name(errno); }

void tell(const char* what, struct ibv_qp* qp, const struct FrameOf* frame) {
  say(" %s", what);
  const int error = send_frame(&me, qp, frame);
  if (error != 0) say("(%s)", error_name(error));
  settle();
  say_completions(&me);
}

struct ibv_flow* flow_to_mac(struct ibv_qp* qp, const uint8_t* mac) {
  struct FlowOf flow;
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
  add_mac(&flow, mac);
  return make_flow(qp, &flow);
}
