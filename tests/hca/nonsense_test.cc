// Each kind of queue, ring, record and command gets random data from one program: whatever happens to that
// program, the others of both adapters continue and end correctly.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/hca/bystanders.h"

namespace verbatim::test {
namespace {

// A program on the server with every kind of queue, and one on the client that talks to all of them.
class Wild {
 public:
  static constexpr std::uint32_t kEntries = 16;

  explicit Wild(World& world)
      : world(world),
        peer(world, *world.client, 1 << 20, 4 << 20, 665),
        program(world, *world.server, 1 << 20, 4 << 20, 666),
        peer_mr(peer.reg_mr(Program::kBuffer, 1 << 20, kAccess)),
        mr(program.reg_mr(Program::kBuffer, 1 << 20, kAccess)),
        peer_cq(peer.create_cq(1024)),
        cq(program.create_cq(kEntries, true)),
        srq(program.create_srq(kEntries)),
        xrc_srq(program.create_srq(kEntries, 4, program.open_xrcd(5), cq.handle)),
        tag_srq(program.create_tag_srq(kEntries, cq, 8, kEntries)) {
    path.mtu = 3;
    path.timeout = 8;
    path.retry_cnt = 2;
    path.min_rnr_timer = 1;
    path.rnr_retry = 3;
    own = connect(ib::QpType::kRc, ib::QpType::kRc, 0);
    shared = connect(ib::QpType::kRc, ib::QpType::kRc, srq.made.handle);
    tagged = connect(ib::QpType::kRc, ib::QpType::kRc, tag_srq.made.handle);
    datagram = connect(ib::QpType::kUd, ib::QpType::kUd, srq.made.handle);
    xrc = connect(ib::QpType::kXrcSend, ib::QpType::kXrcReceive, 0);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const std::vector<protocol::Sge> sges{{Program::kBuffer, 8192, mr.lkey}};
      program.post_recv(to[own], i, sges);
      program.post_recv(srq, i, sges);
      program.post_recv(xrc_srq, i, sges);
      program.post_recv(tag_srq, i, sges);
    }
    world.run();
  }

  // The peer sends more to each queue than there are receives for, and more bytes than an input buffer holds; the
  // program sends, too.
  void talk() {
    for (int i = 0; i < 40; ++i) {
      for (const std::size_t pair : {own, shared, xrc, tagged}) {
        SendRequest request{.sges = {{Program::kBuffer, 4096, peer_mr.lkey}}};
        request.remote_srqn = xrc_srq.made.number;
        peer.post_send(from[pair], request);
      }
      SendRequest request{.sges = {{Program::kBuffer, 1000, peer_mr.lkey}}};
      request.address_handle = address;
      request.remote_qpn = to[datagram].made.number;
      request.remote_qkey = path.qkey;
      peer.post_send(from[datagram], request);
    }
    for (int i = 0; i < 3; ++i) program.post_send(to[own], {.sges = {{Program::kBuffer, 100, mr.lkey}}});
  }

  template <class Record>
  Record& record(std::uint64_t offset) {
    return *reinterpret_cast<Record*>(program.at(offset));
  }
  // Every word of a ring becomes `value`, as far as work requests and their counts are found in it.
  void fill(std::uint64_t offset, std::uint64_t bytes, std::uint32_t value) {
    for (std::uint64_t at = 0; at + sizeof(value) <= bytes; at += sizeof(value)) {
      std::memcpy(program.at(offset + at), &value, sizeof(value));
    }
  }
  void ring(protocol::DoorbellKind kind, std::uint32_t number, std::uint64_t value) {
    world.server->ring_doorbell(program.context, kind, number, value);
  }
  // A command of every type, all of its words nonsense.
  void command(std::uint32_t type, std::uint32_t size, std::uint32_t value) {
    alignas(8) std::byte mailbox[1024];
    for (std::size_t at = 0; at < sizeof(mailbox); at += sizeof(value)) std::memcpy(mailbox + at, &value, sizeof(value));
    const protocol::CommandHeader header{static_cast<protocol::CommandType>(type), size, -1, program.context};
    std::memcpy(mailbox, &header, sizeof(header));
    world.server->execute(mailbox);
  }

  World& world;
  PathOptions path;
  Program peer, program;
  Mr peer_mr, mr;
  Cq peer_cq, cq;
  Srq srq, xrc_srq, tag_srq;
  std::vector<Qp> from, to;
  std::size_t own = 0, shared = 0, datagram = 0, xrc = 0, tagged = 0;

 private:
  static constexpr std::uint32_t kAccess = ib::kLocalWrite | ib::kRemoteWrite;

  std::size_t connect(ib::QpType sends, ib::QpType receives, std::uint32_t srq_handle) {
    const bool is_xrc = sends == ib::QpType::kXrcSend;
    from.push_back(peer.create_qp(peer_cq, is_xrc ? Cq{} : peer_cq, {64, 64, 4, 4, 64}, sends));
    Qp qp;
    if (is_xrc) {
      qp.made.xrcd = xrc_srq.made.xrcd;
      EXPECT_EQ(program.try_create_qp(qp, {}, {}, {}, receives), 0);
    } else {
      qp = program.create_qp(cq, cq, {kEntries, kEntries, 4, 4, 64}, receives, srq_handle);
    }
    to.push_back(qp);
    EXPECT_EQ(peer.to_init(from.back(), path) + program.to_init(qp, path), 0);
    EXPECT_EQ(peer.to_rtr(from.back(), 2, qp.made.number, path), 0);
    EXPECT_EQ(program.to_rtr(qp, 1, from.back().made.number, path), 0);
    EXPECT_EQ(peer.to_rts(from.back(), path), 0);
    if (!is_xrc) {
      EXPECT_EQ(program.to_rts(qp, path), 0);
    }
    if (address == 0) address = peer.create_ah(2);
    return to.size() - 1;
  }

  std::uint32_t address = 0;
};

struct Nonsense {
  const char* name;
  void (*write)(Wild& wild, std::uint32_t value);
};

using protocol::DoorbellKind;

const Nonsense kNonsense[] = {
    {"send_doorbell",
     [](Wild& wild, std::uint32_t value) {
       for (const Qp& qp : wild.to) wild.ring(DoorbellKind::kSendQueue, qp.made.number, value);
     }},
    {"send_ring",
     [](Wild& wild, std::uint32_t value) {
       const auto& made = wild.to[wild.own].made;
       wild.fill(made.send_offset, std::uint64_t{made.send_entries} * made.send_stride, value);
       wild.ring(DoorbellKind::kSendQueue, made.number, Wild::kEntries);
     }},
    {"queue_pair_record",
     [](Wild& wild, std::uint32_t value) {
       wild.fill(wild.to[wild.own].made.record_offset, sizeof(protocol::QueuePairRecord), value);
     }},
    {"receive_ring",
     [](Wild& wild, std::uint32_t value) {
       const auto& made = wild.to[wild.own].made;
       wild.fill(made.recv_offset, std::uint64_t{made.recv_entries} * made.recv_stride, value);
       wild.record<protocol::QueuePairRecord>(made.record_offset).recv_producer.store(Wild::kEntries);
     }},
    {"receive_doorbell",
     [](Wild& wild, std::uint32_t value) {
       for (const Qp& qp : wild.to) wild.ring(DoorbellKind::kReceiveQueue, qp.made.number, value);
       EXPECT_EQ(wild.program.to_state(wild.to[wild.own], ib::QpState::kErr), 0);  // a state in which doorbells are processed
       wild.ring(DoorbellKind::kReceiveQueue, wild.to[wild.own].made.number, value);
     }},
    {"shared_record",
     [](Wild& wild, std::uint32_t value) {
       wild.fill(wild.srq.made.record_offset, sizeof(protocol::SharedReceiveQueueRecord), value);
     }},
    {"shared_ring",
     [](Wild& wild, std::uint32_t value) {
       const auto& made = wild.srq.made;
       wild.fill(made.recv_offset, std::uint64_t{made.recv_entries} * made.recv_stride, value);
       wild.record<protocol::SharedReceiveQueueRecord>(made.record_offset).producer.store(Wild::kEntries);
     }},
    {"xrc_record",
     [](Wild& wild, std::uint32_t value) {
       wild.fill(wild.xrc_srq.made.record_offset, sizeof(protocol::SharedReceiveQueueRecord), value);
     }},
    {"xrc_ring",
     [](Wild& wild, std::uint32_t value) {
       const auto& made = wild.xrc_srq.made;
       wild.fill(made.recv_offset, std::uint64_t{made.recv_entries} * made.recv_stride, value);
       wild.record<protocol::SharedReceiveQueueRecord>(made.record_offset).producer.store(Wild::kEntries);
     }},
    {"tag_record",
     [](Wild& wild, std::uint32_t value) {
       wild.fill(wild.tag_srq.made.record_offset, sizeof(protocol::SharedReceiveQueueRecord), value);
     }},
    {"tag_operations",
     [](Wild& wild, std::uint32_t value) {
       const auto& made = wild.tag_srq.made;
       wild.fill(made.operation_offset, std::uint64_t{made.operation_entries} * made.operation_stride, value);
       wild.ring(DoorbellKind::kTagOperations, made.number, Wild::kEntries);
     }},
    {"tag_doorbell",
     [](Wild& wild, std::uint32_t value) { wild.ring(DoorbellKind::kTagOperations, wild.tag_srq.made.number, value); }},
    {"completion_record",
     [](Wild& wild, std::uint32_t value) {
       wild.fill(wild.cq.record, sizeof(protocol::CompletionQueueRecord), value);
       wild.program.arm(wild.cq);
     }},
    {"completion_ring",
     [](Wild& wild, std::uint32_t value) {
       wild.fill(wild.cq.ring, wild.cq.entries * sizeof(protocol::Cqe), value);
       protocol::ResizeCq resize{};  // moves the ring's content
       resize.handle = wild.cq.handle;
       resize.cqe = 64;
       wild.program.command(resize);
     }},
    {"arm_doorbell",
     [](Wild& wild, std::uint32_t value) {
       for (std::uint32_t number = 0; number < 64; ++number) {
         wild.ring(DoorbellKind::kCompletionQueueArm, number, value);
       }
       wild.ring(DoorbellKind::kCompletionQueueArm, value, value);
     }},
    {"unknown_doorbell",
     [](Wild& wild, std::uint32_t value) {
       for (std::uint32_t kind = 0; kind < 6; ++kind) wild.ring(static_cast<DoorbellKind>(kind), value, value);
       wild.ring(static_cast<DoorbellKind>(value), wild.to[wild.own].made.number, value);
     }},
    {"commands",
     [](Wild& wild, std::uint32_t value) {
       for (std::uint32_t type = 0; type < 64; ++type) {
         if (static_cast<protocol::CommandType>(type) == protocol::CommandType::kCloseDevice) continue;
         for (std::uint32_t size = 0; size < 512; size += 4) wild.command(type, size, value);
         wild.command(type, value, value);
       }
     }},
    {"every_arena_byte",
     [](Wild& wild, std::uint32_t value) {
       const auto arena = wild.program.arena();
       for (std::size_t at = 0; at < 1 << 20; at += sizeof(value)) std::memcpy(&arena[at], &value, sizeof(value));
     }},
};

class NonsenseTest : public ::testing::TestWithParam<Nonsense> {};

TEST_P(NonsenseTest, nobody_else_notices) {
  for (const std::uint32_t value :
       {0u, 1u, 3u, Wild::kEntries + 1, 65u, 1000u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu}) {
    SCOPED_TRACE("value " + std::to_string(value));
    WorldOptions options;
    options.record = false;
    World world(options);
    Bystanders bystanders(world);
    Wild wild(world);
    GetParam().write(wild, value);
    wild.talk();
    bystanders.begin(1);
    world.run_for(Duration{300'000'000});
    GetParam().write(wild, value);  // while its effects are processed
    world.run_for(Duration{300'000'000});
    ASSERT_NO_FATAL_FAILURE(bystanders.expect_done());
    world.server->close(wild.program.context);
    bystanders.begin(2);
    world.run_for(Duration{600'000'000});
    ASSERT_NO_FATAL_FAILURE(bystanders.expect_done());
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, NonsenseTest, ::testing::ValuesIn(kNonsense),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace verbatim::test
