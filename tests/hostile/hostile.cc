// A program gone wild: `hostile KIND VALUE` has every kind of queue, talks to itself over them, and writes
// VALUE wherever KIND says that it can: rings, records, doorbells, the slot and the header that it shares
// with the simulator, mailboxes, arguments of requests. It finds these places by the simulator's own headers;
// otherwise it is an ordinary verbs program. How it ends is its own affair.
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
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/protocol/rings.h"
#include "verbs_shim/protocol/touches.h"

namespace {

using namespace verbatim::protocol;

constexpr std::uint32_t kEntries = 16;
constexpr std::size_t kBufferBytes = 1 << 16;

std::byte* region() { return reinterpret_cast<std::byte*>(kRegionAddress); }
std::byte* arena() { return region() + kArenaOffset; }
RegionHeader& header() { return *reinterpret_cast<RegionHeader*>(region()); }
ThreadSlot& slot() { return *reinterpret_cast<ThreadSlot*>(region() + kThreadsOffset); }
TouchList& touches() { return *reinterpret_cast<TouchList*>(region() + kTouchesOffset); }
std::byte* mailbox() { return region() + kThreadsOffset + offsetof(ThreadPart, mailbox); }

// Past the shim: the thread only ever sleeps until it has the token again.
long native(long number, long a0, long a1, long a2, long a3) {
  using Gate = long (*)(long, long, long, long, long, long, long);
  return reinterpret_cast<Gate>(header().gate)(number, a0, a1, a2, a3, 0, 0);
}
void futex(void* word, int operation, long value) {
  native(SYS_futex, reinterpret_cast<long>(word), operation, value, 0);
}

// Gives the token back with a request of its own making. Nobody may take its place meanwhile.
void ask(Request request, std::initializer_list<std::int64_t> arguments = {}, std::uint32_t number = 0) {
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
void fill(void* start, std::size_t bytes, std::uint32_t value) {
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

void must(bool condition, const char* what) {
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
      usleep(100);  // whoever needs a receive looks for it where nonsense may be
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

  // Completions and events, as many as come.
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
void in_a_child(Job job) {
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

std::int64_t wide(std::uint32_t value) { return static_cast<std::int32_t>(value); }

void each_word_of(void* start, std::size_t bytes, std::size_t step, std::uint32_t value) {
  for (std::size_t at = 0; at + sizeof value <= bytes; at += step) {
    in_a_child([&](Wild&) { std::memcpy(static_cast<std::byte*>(start) + at, &value, sizeof value); });
  }
}

void doorbell(DoorbellKind kind, std::int64_t context, std::int64_t number, std::int64_t value) {
  ask(Request::kDoorbell, {1000, static_cast<std::int64_t>(kind), context, number, value});
}

struct Kind {
  const char* name;
  void (*write)(Wild& wild, std::uint32_t value);
};

const Kind kKinds[] = {
    {"nothing", [](Wild&, std::uint32_t) {}},
    {"send_ring",
     [](Wild& wild, std::uint32_t value) {
       for (const auto* one : {&wild.own, &wild.shared, &wild.xrc, &wild.datagram}) {
         fill(arena() + one->from_made.send_offset,
              std::size_t{one->from_made.send_entries} * one->from_made.send_stride, value);
         doorbell(DoorbellKind::kSendQueue, 1, one->from_made.number, kEntries);
       }
     }},
    {"queue_pair_record",
     [](Wild& wild, std::uint32_t value) {
       for (const auto* one : {&wild.own, &wild.shared, &wild.xrc, &wild.datagram}) {
         fill(arena() + one->from_made.record_offset, sizeof(QueuePairRecord), value);
       }
       fill(arena() + wild.own.to_made.record_offset, sizeof(QueuePairRecord), value);
     }},
    {"receive_ring",
     [](Wild& wild, std::uint32_t value) {
       const CreateQp& made = wild.own.to_made;
       fill(arena() + made.recv_offset, std::size_t{made.recv_entries} * made.recv_stride, value);
       reinterpret_cast<QueuePairRecord*>(arena() + made.record_offset)->recv_producer.store(kEntries);
     }},
    {"shared_ring",
     [](Wild& wild, std::uint32_t value) {
       const CreateSrq& made = wild.srq_made;
       fill(arena() + made.recv_offset, std::size_t{made.recv_entries} * made.recv_stride, value);
       reinterpret_cast<SharedReceiveQueueRecord*>(arena() + made.record_offset)->producer.store(kEntries);
     }},
    {"shared_record",
     [](Wild& wild, std::uint32_t value) {
       fill(arena() + wild.srq_made.record_offset, sizeof(SharedReceiveQueueRecord), value);
     }},
    {"xrc_ring",
     [](Wild& wild, std::uint32_t value) {
       const CreateSrq& made = wild.xrc_srq_made;
       fill(arena() + made.recv_offset, std::size_t{made.recv_entries} * made.recv_stride, value);
       reinterpret_cast<SharedReceiveQueueRecord*>(arena() + made.record_offset)->producer.store(kEntries);
     }},
    {"xrc_record",
     [](Wild& wild, std::uint32_t value) {
       fill(arena() + wild.xrc_srq_made.record_offset, sizeof(SharedReceiveQueueRecord), value);
     }},
    {"completion_ring",
     [](Wild& wild, std::uint32_t value) {
       fill(arena() + wild.cq_made.ring_offset, wild.cq_made.ring_entries * sizeof(Cqe), value);
       ibv_resize_cq(wild.cq, 4 * kEntries);
     }},
    {"completion_record",
     [](Wild& wild, std::uint32_t value) {
       fill(arena() + wild.cq_made.record_offset, sizeof(CompletionQueueRecord), value);
       ibv_req_notify_cq(wild.cq, 0);
     }},
    {"arena", [](Wild&, std::uint32_t value) { fill(arena(), 1 << 17, value); }},
    {"doorbells",
     [](Wild& wild, std::uint32_t value) {
       for (std::int64_t kind = 0; kind < 5; ++kind) {
         for (const std::int64_t context : {std::int64_t{1}, std::int64_t{0}, std::int64_t{2}, wide(value)}) {
           for (const std::int64_t number :
                {std::int64_t{wild.own.from_made.number}, std::int64_t{wild.srq_made.number},
                 std::int64_t{wild.cq_made.number}, wide(value)}) {
             doorbell(static_cast<DoorbellKind>(kind), context, number, wide(value));
           }
         }
       }
       ask(Request::kDoorbell,
           {wide(value), wide(value), wide(value), wide(value), wide(value), wide(value)});
     }},
    // As if they had been rung in the slice that ends now.
    {"queued_doorbells",
     [](Wild&, std::uint32_t value) {
       for (const std::uint32_t count : {1u, 7u, kMaxQueuedDoorbells, kMaxQueuedDoorbells + 1, value}) {
         for (int timing = 0; timing < 4; ++timing) {
           in_a_child([&](Wild& wild) {
             for (std::uint32_t i = 0; i < kMaxQueuedDoorbells; ++i) {
               const std::int64_t when = timing == 0   ? slot().clock_ps
                                         : timing == 1 ? wide(value)
                                         : timing == 2 ? -1
                                                       : INT64_MAX;
               slot().doorbells[i] = {when,       static_cast<DoorbellKind>(i % 4),
                                      i % 3,      i % 2 ? wild.own.from_made.number : value,
                                      value,      value,
                                      wide(value)};
             }
             slot().doorbell_count = count;
             ask(Request::kSpend, {1000});
           });
         }
       }
     }},
    {"slot",
     [](Wild&, std::uint32_t value) {
       each_word_of(&slot(), offsetof(ThreadSlot, raised), 4, value);
       each_word_of(&slot().raised[0], sizeof(RaisedSignal), 4, value);
       each_word_of(&slot().raised_count, 12, 4, value);
       each_word_of(&slot().poll_registers, offsetof(ThreadSlot, notes) - offsetof(ThreadSlot, poll_registers), 16, value);
       each_word_of(&slot().list_to_bring, 16, 4, value);
       in_a_child([&](Wild&) { fill(&slot().list_to_bring, sizeof(ThreadSlot) - offsetof(ThreadSlot, list_to_bring), value); });
       in_a_child([&](Wild&) {
         fill(&slot().notes, sizeof slot().notes, value);
         slot().note_count = value;
       });
       in_a_child([&](Wild&) { slot().horizon_ps = INT64_MAX; });
       in_a_child([&](Wild&) { slot().clock_ps = INT64_MAX; });
       in_a_child([&](Wild&) { slot().clock_ps = INT64_MIN; });
       in_a_child([&](Wild&) { fill(&slot() + 1, 255 * sizeof(ThreadSlot), value); });
     }},
    {"header",
     [](Wild&, std::uint32_t value) {
       each_word_of(&header(), offsetof(RegionHeader, message), 4, value);
       each_word_of(&header().message, 8, 4, value);
       each_word_of(&header().epoch_ns, sizeof(RegionHeader) - offsetof(RegionHeader, epoch_ns), 8, value);
     }},
    {"mailbox",
     [](Wild&, std::uint32_t value) {
       for (std::uint32_t type = 0; type < 40; ++type) {
         if (static_cast<CommandType>(type) == CommandType::kCloseDevice) continue;
         for (std::uint32_t size = 0; size <= 320; size += 8) {
           fill(mailbox(), 2048, value);
           const CommandHeader head{static_cast<CommandType>(type), size, -1, 1};
           std::memcpy(mailbox(), &head, sizeof head);
           ask(Request::kCommand, {size});
         }
         ask(Request::kCommand, {wide(value)});
       }
       fill(mailbox(), 2048, value);
       ask(Request::kCommand, {512});
     }},
    {"requests",
     [](Wild&, std::uint32_t value) {
       for (std::uint32_t request = 0; request < 20; ++request) {
         in_a_child([&](Wild& wild) {
           const std::int64_t pointers[] = {wide(value), static_cast<std::int64_t>(kRegionAddress),
                                            reinterpret_cast<std::int64_t>(wild.buffer + kBufferBytes - 4)};
           for (const std::int64_t argument : pointers) {
             for (int at = 0; at < 6; ++at) {
               std::int64_t a[6] = {1000, 1, 1, 1, 1, 1};
               a[at] = argument;
               ask(static_cast<Request>(request), {a[0], a[1], a[2], a[3], a[4], a[5]}, value % 460);
             }
             ask(static_cast<Request>(request), {argument, argument, argument, argument, argument, argument},
                 value % 460);
             // In the upper bits a poll names the calls whose answers the thread knows.
             ask(static_cast<Request>(request), {1000, 1, 1, argument, 1, 1000}, value);
           }
         });
       }
     }},
    // Every call with arguments that lead nowhere; the answers are thrown away. Left out are those by which a
    // program may rightly end, signal others or become another one. What sleeps is interrupted.
    {"system_calls",
     [](Wild& wild, std::uint32_t value) {
       const auto is_left_out = [](std::uint32_t number) {
         for (const long one : {SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
                                SYS_pidfd_send_signal, SYS_exit, SYS_exit_group, SYS_fork, SYS_vfork,
                                SYS_clone, SYS_clone3, SYS_execve, SYS_execveat}) {
           if (static_cast<long>(number) == one) return true;
         }
         return false;
       };
       const std::int64_t end = reinterpret_cast<std::int64_t>(wild.buffer + kBufferBytes - 4),
                          v = wide(value);
       for (std::uint32_t first = 0; first < 460; first += 20) {
         in_a_child([&](Wild&) {
           struct sigaction action = {};
           action.sa_handler = [](int) {};
           sigaction(SIGALRM, &action, nullptr);
           const itimerval often = {{0, 1000}, {0, 1000}};
           setitimer(ITIMER_REAL, &often, nullptr);
           for (std::uint32_t number = first; number < first + 20; ++number) {
             if (is_left_out(number)) continue;
             ask(Request::kSystemCall, {v, v, v, v, v, v}, number);
             ask(Request::kSystemCall, {1, end, 8, end, 8, end}, number);
             ask(Request::kSystemCall, {end, end, v, v, end, v}, number);
           }
           _exit(0);
         });
       }
     }},
    // What adapters would have done to memory, as the thread tells it in the slice that ends now, and the lines that it brings.
    {"touches",
     [](Wild&, std::uint32_t value) {
       in_a_child([&](Wild& wild) {
         wild.send();
         for (int i = 0; i < 20; ++i) touches().done = value, wild.look();
       });
       in_a_child([&](Wild& wild) {
         wild.send();
         for (int i = 0; i < 20; ++i) fill(&touches(), sizeof(MemoryTouch) * kMostTouches, value), wild.look();
       });
       in_a_child([&](Wild& wild) {
         for (int i = 0; i < 50; ++i) {
           slot().brought = slot().list_to_bring;
           fill(mailbox(), kMailboxSize, value);
           wild.look();
           slot().repeats = value;
         }
       });
     }},
    // Random words at random places of all that is shared; the value is the seed.
    {"anywhere",
     [](Wild&, std::uint32_t value) {
       std::uint64_t state = value;
       const auto random = [&state](std::uint64_t limit) {  // splitmix64
         std::uint64_t z = state += 0x9e3779b97f4a7c15;
         z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
         z = (z ^ z >> 27) * 0x94d049bb133111eb;
         return (z ^ z >> 31) % limit;
       };
       std::vector<std::pair<std::byte*, std::uint64_t>> places = {
           {region(), sizeof(RegionHeader)},
           {reinterpret_cast<std::byte*>(&slot()), sizeof(ThreadSlot)},
           {mailbox(), 4096},
           {region() + kPathViewOffset, sizeof(PathView)},
           {reinterpret_cast<std::byte*>(&touches()), sizeof(TouchList)},
           {arena(), 1 << 14}};
       // Where threads may be late between accesses to memory.
       auto* const tables = reinterpret_cast<std::byte*>(kAccessTablesAddress);
       if (msync(tables, 1 << 14, MS_ASYNC) == 0) places.emplace_back(tables, 1 << 14);
       for (int child = 0; child < 40; ++child) {
         in_a_child([&](Wild& wild) {
           state += static_cast<std::uint64_t>(child) << 32;
           for (int i = 0; i < 20; ++i) {
             const auto& [start, bytes] = places[random(places.size())];
             const auto word = static_cast<std::uint32_t>(random(2) == 0 ? random(64) : random(~0ull));
             std::memcpy(start + random(bytes - sizeof word), &word, sizeof word);
             if (i % 4 == 3) wild.look();
           }
         });
       }
     }},
    {"work_requests",
     [](Wild& wild, std::uint32_t value) {
       for (int opcode = 0; opcode < 12; ++opcode) {
         ibv_sge sges[2] = {{value, value, wild.mr->lkey},
                            {reinterpret_cast<std::uintptr_t>(wild.buffer), 64, value}};
         ibv_send_wr send = {}, *bad_send;
         send.sg_list = sges;
         send.num_sge = 2;
         send.opcode = static_cast<ibv_wr_opcode>(opcode);
         send.wr.rdma.remote_addr = value;
         send.wr.rdma.rkey = value;
         ibv_post_send(wild.own.from, &send, &bad_send);
         ibv_recv_wr receive = {}, *bad_receive;
         receive.sg_list = sges;
         receive.num_sge = 2;
         ibv_post_recv(wild.own.to, &receive, &bad_receive);
         ibv_post_srq_recv(wild.srq, &receive, &bad_receive);
       }
       ibv_reg_mr(wild.pd, reinterpret_cast<void*>(static_cast<std::uintptr_t>(value)), value, 15);
       ibv_reg_mr(wild.pd, wild.buffer, std::size_t{value} << 20, 15);
     }},
    {"channels",
     [](Wild& wild, std::uint32_t value) {
       std::vector<std::uint32_t> words(64, value);
       for (const int fd : {wild.channel->fd, wild.device->async_fd, wild.device->cmd_fd}) {
         if (write(fd, words.data(), 256) > 0) std::printf("wrote to descriptor %d\n", fd);
         if (read(fd, reinterpret_cast<void*>(static_cast<std::uintptr_t>(value)), 16) > 0)
           std::printf("read into nowhere\n");
         if (read(fd, words.data(), value % 8) > 0) std::printf("read less than an event\n");
         lseek(fd, value, SEEK_SET);
         ftruncate(fd, value);
       }
       ibv_req_notify_cq(wild.cq, 0);
       close(wild.channel->fd);
       dup2(0, wild.device->async_fd);
     }},
    {"own_memory_gone",
     [](Wild& wild, std::uint32_t value) {
       munmap(wild.buffer + value % 16 * 4096, kBufferBytes - value % 16 * 4096);  // registered still
     }},
    {"region_gone",
     [](Wild&, std::uint32_t value) {
       in_a_child([&](Wild&) { mprotect(arena(), std::size_t{value} & ~4095ul, PROT_NONE); });
       in_a_child([&](Wild&) { mprotect(region(), 1 << 20, PROT_READ); });
       in_a_child([&](Wild&) { munmap(arena() + (value & ~4095u), 1 << 20); });
       in_a_child([&](Wild&) { munmap(region(), kRegionSize); });
     }},
    {"shim_heap",
     [](Wild&, std::uint32_t value) {
       in_a_child([&](Wild&) { fill(reinterpret_cast<void*>(kShimHeapAddress), 1 << 13, value); });
     }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  for (const Kind& kind : kKinds) {
    if (std::strcmp(argv[1], kind.name) != 0) continue;
    Wild wild;
    const auto value = static_cast<std::uint32_t>(std::stoul(argv[2]));
    std::printf("has everything\n");
    std::fflush(stdout);
    kind.write(wild, value);
    std::printf("wrote it\n");
    std::fflush(stdout);
    wild.talk();
    kind.write(wild, value);  // in the middle of what came of it
    wild.talk();
    return 0;
  }
  return 2;
}
