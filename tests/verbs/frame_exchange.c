// Two stations without knowledge of each other: the waiting one receives a broadcast, answers its sender, and
// gets frames of many lengths from it. Run with "waits" on one host and "calls" on another.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frames.h"

static struct ibv_flow* listen_to(struct ibv_qp* qp, const uint8_t* mac) {
  struct FlowOf flow;
  begin_flow(&flow, IBV_FLOW_ATTR_NORMAL, 0);
  add_mac(&flow, mac);
  return make_flow(qp, &flow);
}

// Returns the length of the frame in the slot.
static uint32_t wait_for(int slot) {
  struct ibv_wc completion;
  for (;;) {
    if (ibv_poll_cq(ibv_cq_ex_to_cq(me.cq), 1, &completion) <= 0) {
      usleep(50);
      continue;
    }
    if (completion.status != IBV_WC_SUCCESS) printf("completion: %s\n", ibv_wc_status_str(completion.status));
    if (completion.wr_id == (uint64_t)slot) return completion.byte_len;
  }
}

enum { kFrames = 8 };
static const uint32_t kLengths[kFrames] = {60, 61, 64, 128, 255, 1000, 1514, 1518};

int main(int count, char** arguments) {
  const int calls = count > 1 && strcmp(arguments[1], "calls") == 0;
  open_station(&me);
  struct ibv_qp* qp = make_qp(&me, 0);
  for (int i = 0; i < kSlots; ++i) post_receive(&me, qp, i);
  if (listen_to(qp, me.mac) == NULL || (!calls && listen_to(qp, kBroadcast) == NULL)) return 1;
  if (calls) {
    settle();
    settle();
    send_frame(&me, qp, &(struct FrameOf){.to = kBroadcast, .source = 1});
    printf("answer of %u bytes\n", wait_for(0));
    const uint8_t* peer = receive_slot(&me, 0) + kMacBytes;
    // To an address unknown to switches: all stations see it, and none takes it.
    const uint8_t nobody[kMacBytes] = {2, 9, 9, 9, 9, 9};
    send_bytes(&me, qp, kFrames, build_frame(&me, kFrames, &(struct FrameOf){.to = nobody, .source = 1}));
    for (int i = 0; i < kFrames; ++i) {
      send_bytes(&me, qp, i,
                 build_frame(&me, i, &(struct FrameOf){.to = peer, .vlan = i % 2, .source = 3, .length = kLengths[i]}));
    }
    settle();
    return 0;
  }
  printf("call of %u bytes\n", wait_for(0));
  uint8_t peer[kMacBytes];
  memcpy(peer, receive_slot(&me, 0) + kMacBytes, sizeof(peer));
  send_frame(&me, qp, &(struct FrameOf){.to = peer, .source = 2});
  for (int i = 0; i < kFrames; ++i) {
    const uint32_t length = wait_for(1 + i);
    int wrong = length != kLengths[i] || memcmp(receive_slot(&me, 1 + i), me.mac, kMacBytes) != 0;
    for (uint32_t at = 54; at < length; ++at) wrong |= receive_slot(&me, 1 + i)[at] != (uint8_t)(at * 7);
    printf("frame of %u bytes%s\n", length, wrong ? ", wrong" : "");
  }
  return 0;
}
