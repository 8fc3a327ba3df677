// A hostile program: `hostile KIND VALUE` has every kind of queue, communicates with itself, and writes VALUE
// to every place of KIND: rings, records, doorbells, the slot and the header shared with the simulator,
// mailboxes, arguments of requests. It finds these places by the simulator's own headers; otherwise it is an
// ordinary verbs program. Its end is not checked.
#include <thread>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/hostile/wild.h"

namespace verbatim::hostile {
namespace {

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
    // By several threads of the program itself, whose end this is: not among those that say that they wrote it.
    {"fill",
     [](Wild&, std::uint32_t value) {
       const std::uint64_t all = kHighDescriptorsOffset + sizeof(HighDescriptors);
       for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{kNearSize}, all}) {
         const auto write = [&] { std::memset(region(), static_cast<int>(value), bytes); };
         std::thread others[] = {std::thread(write), std::thread(write), std::thread(write)};
         for (std::thread& other : others) other.join();
       }
     }},
    {"header",
     [](Wild&, std::uint32_t value) {
       each_word_of(&header(), offsetof(RegionHeader, message), 4, value);
       each_word_of(&header().epoch_ns, sizeof(RegionHeader) - offsetof(RegionHeader, epoch_ns), 8, value);
     }},
    {"message", [](Wild&, std::uint32_t value) { each_word_of(&header().message, 8, 4, value); }},
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
       for (std::uint32_t request = 0; request <= 20; ++request) {
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
    // Every system call with invalid arguments; results are ignored. Calls that may rightly end the program,
    // signal others or execute another program are left out. Sleeping calls are interrupted.
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
    // Memory accesses of adapters that the thread reports for the slice that ends, and the lines that it
    // delivers.
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
       // Placements made while the thread waited arrive with the token; it claims falsely that they failed.
       in_a_child([&](Wild& wild) {
         for (int i = 0; i < 20; ++i) {
           wild.send();
           fill(&placements(), sizeof(Placement) * kMostPlacements, value);
           slot().placements = value;
           i % 2 == 0 ? wild.look() : ask(Request::kPlace);
         }
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
           {reinterpret_cast<std::byte*>(&placements()), sizeof(PlacementList)},
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
}  // namespace verbatim::hostile

int main(int argc, char** argv) {
  using namespace verbatim::hostile;
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
    kind.write(wild, value);  // while its effects are processed
    wild.talk();
    return 0;
  }
  return 2;
}
