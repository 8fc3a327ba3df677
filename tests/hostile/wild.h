// A verbs program that has every kind of queue, talks to itself over them, and knows by the simulator's own headers where it
// shares memory with it.
#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/placements.h"
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/protocol/rings.h"
#include "verbs_shim/protocol/touches.h"

namespace verbatim::hostile {

using namespace protocol;

inline constexpr std::uint32_t kEntries = 16;
inline constexpr std::size_t kBufferBytes = 1 << 16;

inline std::byte* region() { return reinterpret_cast<std::byte*>(kRegionAddress); }
inline std::byte* arena() { return region() + kArenaOffset; }
inline RegionHeader& header() { return *reinterpret_cast<RegionHeader*>(region()); }
inline ThreadSlot& slot() { return *reinterpret_cast<ThreadSlot*>(region() + kThreadsOffset); }
inline TouchList& touches() { return *reinterpret_cast<TouchList*>(region() + kTouchesOffset); }
inline PlacementList& placements() { return *reinterpret_cast<PlacementList*>(region() + kPlacementsOffset); }
inline std::byte* mailbox() { return region() + kThreadsOffset + offsetof(ThreadPart, mailbox); }

// Past the shim: the thread only ever sleeps until it has the token again.
inline long native(long number, long a0, long a1, long a2, long a3) {
  using Gate = long (*)(long, long, long, long, long, long, long);
  return reinterpret_cast<Gate>(header().gate)(number, a0, a1, a2, a3, 0, 0);
}
inline void futex(void* word, int operation, long value) {
  native(SYS_futex, reinterpret_cast<long>(word), operation, value, 0);
}

// Gives the token back with a request of its own making. Nobody may take its place meanwhile.
inline void ask(Request request, std::initializer_list<std::int64_t> arguments = {}, std::uint32_t number = 0) {
  ThreadSlot& own = slot();
  const std::uint64_t poke = 1ull << (kPokeSignal - 1);
  native(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&poke), 0, sizeof poke);
  own.number = number;
  std::size_t i = 0;
  for (const std::int64_t argument : arguments) own.arguments[i++] = argument;
  own.request = request;
  header().message_slot = 0;
  hand_over(header().message);
  futex(&header().message, FUTEX_WAKE, 1);
  take(own.go, [&own] {
    futex(&own.go, FUTEX_WAIT, static_cast<long>(Baton::kAsleep));
    return true;
  });
}

// Every word of `bytes` becomes `value`.
inline void fill(void* start, std::size_t bytes, std::uint32_t value) {
  for (std::size_t at = 0; at + sizeof value <= bytes; at += sizeof value) {
    std::memcpy(static_cast<std::byte*>(start) + at, &value, sizeof value);
  }
}

// The answer that the adapter gave to the last command.
template <class Command>
Command answered() {
  Command command{};
  std::memcpy(&command, mailbox(), sizeof command);
  if (command.header.type != Command::kType) {
    std::printf("another command than expected: %u\n", static_cast<unsigned>(command.header.type));
    std::exit(3);
  }
  return command;
}

inline void must(bool condition, const char* what) {
  if (condition) return;
  std::printf("no %s\n", what);
  std::exit(3);
}

class Wild {
 public:
  Wild() {
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    must(devices != nullptr && count > 0, "device");
    device = ibv_open_device(devices[0]);
    must(device != nullptr, "context");
    ibv_query_port(device, 1, &port);
    pd = ibv_alloc_pd(device);
    buffer = static_cast<char*>(
        mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(buffer, 7, kBufferBytes);
    mr = ibv_reg_mr(pd, buffer, kBufferBytes,
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    channel = ibv_create_comp_channel(device);
    must(pd != nullptr && mr != nullptr && channel != nullptr, "memory");
    fcntl(channel->fd, F_SETFL, O_NONBLOCK);
    fcntl(device->async_fd, F_SETFL, O_NONBLOCK);
    cq = ibv_create_cq(device, kEntries, nullptr, channel, 0);
    must(cq != nullptr, "completion queue");
    cq_made = answered<CreateCq>();
    ibv_srq_init_attr plain = {};
    plain.attr = {kEntries, 4, 0};
    srq = ibv_create_srq(pd, &plain);
    must(srq != nullptr, "shared receive queue");
    srq_made = answered<CreateSrq>();
    ibv_xrcd_init_attr domain = {};
    domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    domain.fd = -1;
    domain.oflags = O_CREAT;
    xrcd = ibv_open_xrcd(device, &domain);
    must(xrcd != nullptr, "domain");
    ibv_srq_init_attr_ex extended = {};
    extended.attr = {kEntries, 4, 0};
    extended.comp_mask =
        IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    extended.srq_type = IBV_SRQT_XRC;
    extended.pd = pd;
    extended.xrcd = xrcd;
    extended.cq = cq;
    xrc_srq = ibv_create_srq_ex(device, &extended);
    must(xrc_srq != nullptr, "shared receive queue of the domain");
    xrc_srq_made = answered<CreateSrq>();
    connect(own, IBV_QPT_RC, IBV_QPT_RC, nullptr);
    connect(shared, IBV_QPT_RC, IBV_QPT_RC, srq);
    connect(xrc, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, nullptr);
    ibv_ah_attr address = {};
    address.dlid = port.lid;
    address.port_num = 1;
    ah = ibv_create_ah(pd, &address);
    must(ah != nullptr, "address handle");
    connect(datagram, IBV_QPT_UD, IBV_QPT_UD, srq);
    talk(2);
    must(succeeded >= 2 * 7, "success");  // datagrams that find no receive are lost
  }

  // Messages to each queue, and then a receive for each. All of it succeeds unless something is wrong with
  // the queues.
  void talk(int rounds = 6) {
    for (int i = 0; i < rounds; ++i) {
      send();
      usleep(100);  // the receive queue may contain random data
      ibv_sge sge = {reinterpret_cast<std::uintptr_t>(buffer), 4000, mr->lkey};
      ibv_recv_wr receive = {}, *bad_receive;
      receive.sg_list = &sge;
      receive.num_sge = 1;
      ibv_post_recv(own.to, &receive, &bad_receive);
      ibv_post_srq_recv(xrc_srq, &receive, &bad_receive);
      for (int k = 0; k < 2; ++k) ibv_post_srq_recv(srq, &receive, &bad_receive);
      usleep(300);
      look();
    }
  }

  void send() {
    ibv_sge sge = {reinterpret_cast<std::uintptr_t>(buffer), 0, mr->lkey};
    for (const Connection* connection : {&own, &shared, &xrc, &datagram}) {
      sge.length = connection == &datagram ? 500 : 3000;
      ibv_send_wr send = {}, *bad_send;
      send.sg_list = &sge;
      send.num_sge = 1;
      send.opcode = IBV_WR_SEND;
      send.send_flags = IBV_SEND_SIGNALED;
      if (connection == &xrc) ibv_get_srq_num(xrc_srq, &send.qp_type.xrc.remote_srqn);
      if (connection == &datagram) {
        send.wr.ud.ah = ah;
        send.wr.ud.remote_qpn = datagram.to->qp_num;
        send.wr.ud.remote_qkey = 1;
      }
      ibv_post_send(connection->from, &send, &bad_send);
    }
  }

  // All available completions and events.
  void look() {
    ibv_wc wc;
    for (int i = 0; i < 64 && ibv_poll_cq(cq, 1, &wc) > 0; ++i) {
      if (wc.status == IBV_WC_SUCCESS) ++succeeded;
    }
    ibv_req_notify_cq(cq, 0);
    ibv_cq* which;
    void* context;
    if (ibv_get_cq_event(channel, &which, &context) == 0) ibv_ack_cq_events(which, 1);
    ibv_async_event event;
    if (ibv_get_async_event(device, &event) == 0) ibv_ack_async_event(&event);
  }

  struct Connection {
    ibv_qp *from = nullptr, *to = nullptr;
    CreateQp from_made{}, to_made{};
  };

  ibv_context* device;
  ibv_port_attr port = {};
  ibv_pd* pd;
  char* buffer;
  ibv_mr* mr;
  ibv_comp_channel* channel;
  ibv_cq* cq;
  ibv_srq *srq, *xrc_srq;
  ibv_xrcd* xrcd;
  ibv_ah* ah = nullptr;
  CreateCq cq_made;
  CreateSrq srq_made, xrc_srq_made;
  Connection own, shared, xrc, datagram;
  int succeeded = 0;

 private:
  ibv_qp* make(ibv_qp_type type, ibv_srq* receives, CreateQp& made) {
    ibv_qp_init_attr_ex init = {};
    init.send_cq = init.recv_cq = cq;
    init.srq = receives;
    init.cap = {kEntries, receives == nullptr ? kEntries : 0, 2, 2, 64};
    init.qp_type = type;
    init.comp_mask = IBV_QP_INIT_ATTR_PD;
    init.pd = pd;
    if (type == IBV_QPT_XRC_RECV) {
      init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
      init.xrcd = xrcd;
    }
    ibv_qp* qp = ibv_create_qp_ex(device, &init);
    must(qp != nullptr, "queue pair");
    made = answered<CreateQp>();
    return qp;
  }

  void bring_up(ibv_qp* qp, ibv_qp_type type, std::uint32_t peer) {
    const bool is_datagram = type == IBV_QPT_UD;
    ibv_qp_attr attributes = {};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = 1;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    must(ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                           (is_datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) == 0,
         "INIT");
    attributes.qp_state = IBV_QPS_RTR;
    attributes.ah_attr.dlid = port.lid;
    attributes.ah_attr.port_num = 1;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 1;
    attributes.min_rnr_timer = 1;
    int mask = IBV_QP_STATE;
    if (!is_datagram) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (!is_datagram && type != IBV_QPT_XRC_SEND) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    must(ibv_modify_qp(qp, &attributes, mask) == 0, "RTR");
    if (type == IBV_QPT_XRC_RECV) return;
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 8;
    attributes.retry_cnt = 1;
    attributes.rnr_retry = 7;  // for ever
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (!is_datagram) mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    must(ibv_modify_qp(qp, &attributes, mask) == 0, "RTS");
  }

  void connect(Connection& connection, ibv_qp_type sends, ibv_qp_type receives, ibv_srq* queue) {
    connection.from = make(sends, nullptr, connection.from_made);
    connection.to = make(receives, queue, connection.to_made);
    bring_up(connection.from, sends, connection.to->qp_num);
    bring_up(connection.to, receives, connection.from->qp_num);
  }
};

// A copy of this program does it with queues of its own, so that one word that is deadly leaves others to be
// tried.
template <class Job>
inline void in_a_child(Job job) {
  const pid_t child = fork();
  if (child == 0) {
    {
      Wild wild;
      job(wild);
      wild.talk(1);
    }
    _exit(0);
  }
  // One whose calls take a second each now is not waited for.
  for (int i = 0; i < 50 && child > 0 && waitpid(child, nullptr, WNOHANG) == 0; ++i) usleep(100);
  if (child > 0) kill(child, SIGKILL);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

inline std::int64_t wide(std::uint32_t value) { return static_cast<std::int32_t>(value); }

inline void each_word_of(void* start, std::size_t bytes, std::size_t step, std::uint32_t value) {
  for (std::size_t at = 0; at + sizeof value <= bytes; at += step) {
    in_a_child([&](Wild&) { std::memcpy(static_cast<std::byte*>(start) + at, &value, sizeof value); });
  }
}

inline void doorbell(DoorbellKind kind, std::int64_t context, std::int64_t number, std::int64_t value) {
  ask(Request::kDoorbell, {1000, static_cast<std::int64_t>(kind), context, number, value});
}

}  // namespace verbatim::hostile
