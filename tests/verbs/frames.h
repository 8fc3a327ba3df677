// Raw packet queue pairs and what belongs to them, for programs that send Ethernet frames: plain verbs.
#pragma once

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

enum { kSlots = 16, kSlotBytes = 2048, kMacBytes = 6 };

struct Station {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq_ex* cq;  // of everything
  struct ibv_mr* mr;
  uint8_t* buffer;         // kSlots for sending, then as many for receiving
  uint8_t mac[kMacBytes];  // of the port
};

// Parts of a frame; zero members are left out or zero.
struct FrameOf {
  const uint8_t *to, *from;  // NULL: this port
  int vlan;                  // tag, 0: none
  int is_v6, is_tcp;
  uint32_t source, destination;  // IPv4, or the last four bytes of IPv6
  uint16_t source_port, destination_port;
  const struct FrameOf* inside;  // of a VXLAN tunnel, by the identifier
  uint32_t vxlan;
  size_t length;  // of the whole, filled with a pattern; 0: as long as the headers
};

extern const uint8_t kBroadcast[kMacBytes];
extern struct Station me;  // of the program

void open_station(struct Station* station);
// A raw packet queue pair in RTS.
struct ibv_qp* make_qp(struct Station* station, uint32_t create_flags);
int to_rts(struct ibv_qp* qp);
uint8_t* send_slot(struct Station* station, int slot);
uint8_t* receive_slot(struct Station* station, int slot);
// Returns its length.
size_t build_frame(struct Station* station, int slot, const struct FrameOf* frame);
int send_bytes(struct Station* station, struct ibv_qp* qp, int slot, size_t length);
int send_frame(struct Station* station, struct ibv_qp* qp, const struct FrameOf* frame);  // from slot 0
struct ibv_recv_wr receive_of(struct Station* station, int slot, uint32_t length, struct ibv_sge* sge);
int post_receive(struct Station* station, struct ibv_qp* qp, int slot);
int post_wq_receive(struct Station* station, struct ibv_wq* wq, int slot);

// Spec lists: begin_flow, then add what it has, then make_flow.
struct FlowOf {
  struct ibv_flow_attr attributes;
  uint8_t specs[1024];
  size_t used;
};
void begin_flow(struct FlowOf* flow, enum ibv_flow_attr_type type, int priority);
void* add_spec(struct FlowOf* flow, int type, size_t size);
void add_mac(struct FlowOf* flow, const uint8_t* to);  // destination
struct ibv_flow* make_flow(struct ibv_qp* qp, struct FlowOf* flow);

// Waits until nothing is in flight.
void settle(void);
// Polls and prints completions: " name=id:status:bytes[,tag][,vlan]", receives by slot.
void say_completions(struct Station* station);
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
void end_line(const char* name);
const char* error_name(int error);
#define SAY(what, call) say(" " what "=%s", error_name(call))
const char* made(const void* object);  // or why not, by errno
// Sends one frame of `me` and prints where it arrived.
void tell(const char* what, struct ibv_qp* qp, const struct FrameOf* frame);
// A rule for frames of `me` to this station or group.
struct ibv_flow* flow_to_mac(struct ibv_qp* qp, const uint8_t* mac);

// Groups of cases in files of their own.
void queue_cases(void);
void tunnel_cases(void);
