// XRC (IBA A14): requests name a shared receive queue of the receiver's domain; the program that owns it gets
// the messages, in its memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::QpState;
using ib::WcStatus;

constexpr std::uint32_t kAccess = ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;
constexpr std::uint64_t kFile = 77;

// A program with a shared receive queue in the XRC domain of kFile.
struct Member {
  Member(World& world, hca::Hca& hca, std::uint32_t process, std::uint32_t cqe = 64)
      : program(world, hca, 1 << 20, 4 << 20, process),
        mr(program.reg_mr(Program::kBuffer, 1 << 20, kAccess)),
        cq(program.create_cq(cqe)),
        xrcd(program.open_xrcd(kFile)),
        srq(program.create_srq(16, 4, xrcd, cq.handle)) {
    EXPECT_NE(srq.made.handle, 0u);
  }
  void post_recv(std::uint64_t wr_id, std::uint32_t length) {
    program.post_recv(srq, wr_id, {{Program::kBuffer, length, mr.lkey}});
  }

  Program program;
  Mr mr;
  Cq cq;
  std::uint32_t xrcd;
  Srq srq;
};

// One sender; on the other host one receiver, created by the first of two programs that share a domain.
struct Xrc {
  // `cqe`: entries of the first program's completion queue.
  explicit Xrc(std::uint32_t cqe = 64)
      : client(world, *world.client), one(world, *world.server, 200, cqe), two(world, *world.server, 201) {
    path.mtu = 1;
    path.timeout = 8;
    mr = client.reg_mr(Program::kBuffer, 1 << 20, kAccess);
    cq = client.create_cq(64);
    from = client.create_qp(cq, {}, {16, 16, 4, 4, 64}, ib::QpType::kXrcSend);
    to.made.xrcd = one.xrcd;
    EXPECT_EQ(one.program.try_create_qp(to, {}, {}, {}, ib::QpType::kXrcReceive), 0);
    EXPECT_EQ(client.to_init(from, path) + one.program.to_init(to, path), 0);
    EXPECT_EQ(client.to_rtr(from, 2, to.made.number, path), 0);
    EXPECT_EQ(one.program.to_rtr(to, 1, from.made.number, path), 0);
    EXPECT_EQ(client.to_rts(from, path), 0);
  }
  void send(SendRequest request, const Member& member) {
    request.remote_srqn = member.srq.made.number;
    client.post_send(from, request);
  }
  protocol::Sge sge(std::uint64_t offset, std::uint32_t length) const {
    return {Program::kBuffer + offset, length, mr.lkey};
  }
  WcStatus outcome() {
    world.run();
    return static_cast<WcStatus>(client.drain(cq).at(0).status);
  }

  World world;
  PathOptions path;
  Program client;
  Member one, two;
  Mr mr;
  Cq cq;
  Qp from, to;
};

TEST(XrcTest, a_message_goes_to_the_queue_it_names_whichever_process_owns_it) {
  Xrc xrc;
  xrc.one.post_recv(11, 2000);
  xrc.two.post_recv(22, 2000);
  std::memcpy(xrc.client.memory.at(Program::kBuffer, 4).data(), "once", 4);
  xrc.send({.wr_id = 1, .sges = {xrc.sge(0, 1000)}}, xrc.two);
  xrc.send({.wr_id = 2, .opcode = WqeOpcode::kSendWithImm, .sges = {xrc.sge(0, 8)}, .immediate = 5}, xrc.one);
  xrc.world.run();
  EXPECT_EQ(xrc.client.drain(xrc.cq).size(), 2u);
  const auto first = xrc.one.program.drain(xrc.one.cq), second = xrc.two.program.drain(xrc.two.cq);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].wr_id, 11u);
  EXPECT_EQ(first[0].immediate, 5u);
  EXPECT_EQ(second[0].wr_id, 22u);
  EXPECT_EQ(second[0].byte_length, 1000u);
  EXPECT_EQ(second[0].srq_number, xrc.two.srq.made.number);
  EXPECT_EQ(second[0].qpn, xrc.to.made.number);
  EXPECT_EQ(std::memcmp(xrc.two.program.memory.at(Program::kBuffer, 4).data(), "once", 4), 0);
}

TEST(XrcTest, requests_carry_the_extended_header_and_answers_do_not) {
  Xrc xrc;
  xrc.one.post_recv(1, 2000);
  std::vector<std::uint8_t> requests, answers;
  xrc.world.to_server.keep = [&](ib::Packet& packet) {
    requests.push_back(static_cast<std::uint8_t>(packet.bth.opcode));
    EXPECT_EQ(packet.xrc_srqn, xrc.one.srq.made.number);
    return true;
  };
  xrc.world.to_client.keep = [&](ib::Packet& packet) {
    answers.push_back(static_cast<std::uint8_t>(packet.bth.opcode));
    return true;
  };
  xrc.send({.sges = {xrc.sge(0, 600)}}, xrc.one);
  xrc.send({.opcode = WqeOpcode::kRdmaRead,
            .sges = {xrc.sge(0, 8)},
            .remote_va = Program::kBuffer,
            .rkey = xrc.one.mr.rkey},
           xrc.one);
  xrc.world.run();
  EXPECT_EQ(requests, (std::vector<std::uint8_t>{0xa0, 0xa1, 0xa2, 0xac}));
  EXPECT_EQ(answers, (std::vector<std::uint8_t>{0xb1, 0xb0}));
}

TEST(XrcTest, writes_reads_and_atomics_reach_the_memory_of_the_named_queues_program) {
  Xrc xrc;
  const std::uint64_t there = Program::kBuffer + 4096;
  std::memcpy(xrc.client.memory.at(Program::kBuffer, 8).data(), "12345678", 8);
  xrc.send({.opcode = WqeOpcode::kRdmaWrite,
            .sges = {xrc.sge(0, 700)},
            .remote_va = there,
            .rkey = xrc.two.mr.rkey},
           xrc.two);
  EXPECT_EQ(xrc.outcome(), WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(xrc.two.program.memory.at(there, 8).data(), "12345678", 8), 0);
  EXPECT_NE(std::memcmp(xrc.one.program.memory.at(there, 8).data(), "12345678", 8), 0);
  xrc.send({.opcode = WqeOpcode::kRdmaRead,
            .sges = {xrc.sge(8192, 700)},
            .remote_va = there,
            .rkey = xrc.two.mr.rkey},
           xrc.two);
  EXPECT_EQ(xrc.outcome(), WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(xrc.client.memory.at(Program::kBuffer + 8192, 8).data(), "12345678", 8), 0);
  xrc.send({.opcode = WqeOpcode::kAtomicFetchAdd,
            .sges = {xrc.sge(9000, 8)},
            .remote_va = there,
            .rkey = xrc.two.mr.rkey,
            .compare_add = 1},
           xrc.two);
  EXPECT_EQ(xrc.outcome(), WcStatus::kSuccess);
  EXPECT_EQ(std::memcmp(xrc.two.program.memory.at(there, 8).data(), "22345678", 8), 0);
}

TEST(XrcTest, a_key_counts_only_with_the_queue_of_its_own_program) {
  Xrc xrc;
  xrc.send({.opcode = WqeOpcode::kRdmaWrite,
            .sges = {xrc.sge(0, 8)},
            .remote_va = Program::kBuffer,
            .rkey = xrc.two.mr.rkey},
           xrc.one);
  EXPECT_EQ(xrc.outcome(), WcStatus::kRemoteAccessError);
  EXPECT_EQ(xrc.one.program.state(xrc.to), QpState::kErr);
}

TEST(XrcTest, a_number_that_names_no_queue_of_the_domain_is_an_invalid_request) {
  for (int kind = 0; kind < 3; ++kind) {
    Xrc xrc;
    SendRequest request{.sges = {xrc.sge(0, 600)}};
    if (kind == 0) request.remote_srqn = 0x123456;
    // A shared receive queue of another domain, and one without domain.
    Srq other;
    if (kind == 1) {
      other = xrc.one.program.create_srq(4, 1, xrc.one.program.open_xrcd(0), xrc.one.cq.handle);
    }
    if (kind == 2) other = xrc.one.program.create_srq(4, 1);
    if (kind > 0) request.remote_srqn = other.made.number;
    xrc.client.post_send(xrc.from, request);
    EXPECT_EQ(xrc.outcome(), WcStatus::kRemoteInvalidRequestError) << kind;
  }
}

TEST(XrcTest, a_message_that_changes_its_queue_on_the_way_is_an_invalid_request) {
  Xrc xrc;
  xrc.one.post_recv(1, 2000);
  xrc.two.post_recv(2, 2000);
  xrc.world.to_server.keep = [&](ib::Packet& packet) {
    if (packet.bth.psn.value == 1001) packet.xrc_srqn = xrc.two.srq.made.number;
    return true;
  };
  xrc.send({.sges = {xrc.sge(0, 600)}}, xrc.one);
  EXPECT_EQ(xrc.outcome(), WcStatus::kRemoteInvalidRequestError);
  const auto flushed = xrc.one.program.drain(xrc.one.cq);
  ASSERT_EQ(flushed.size(), 1u) << "the receive that the message had taken";
  EXPECT_EQ(flushed[0].status, code(WcStatus::kWorkRequestFlushed));
}

TEST(XrcTest, a_missing_receive_is_waited_for) {
  Xrc xrc;
  xrc.send({.sges = {xrc.sge(0, 600)}}, xrc.two);
  xrc.world.run_for(Duration{100'000'000});
  EXPECT_TRUE(xrc.client.drain(xrc.cq).empty());
  xrc.two.post_recv(1, 2000);
  EXPECT_EQ(xrc.outcome(), WcStatus::kSuccess);
}

TEST(XrcTest, lost_packets_are_sent_again) {
  for (std::uint32_t lost = 1000; lost < 1008; ++lost) {
    Xrc xrc;
    xrc.one.post_recv(1, 2000);
    bool dropped = false;
    xrc.world.to_server.keep = [&](ib::Packet& packet) {
      if (dropped || packet.bth.psn.value != lost) return true;
      dropped = true;
      return false;
    };
    xrc.send({.sges = {xrc.sge(0, 600)}}, xrc.one);
    xrc.send({.opcode = WqeOpcode::kRdmaRead,
              .sges = {xrc.sge(0, 1000)},
              .remote_va = Program::kBuffer,
              .rkey = xrc.two.mr.rkey},
             xrc.two);
    xrc.send({.opcode = WqeOpcode::kAtomicFetchAdd,
              .sges = {xrc.sge(9000, 8)},
              .remote_va = Program::kBuffer,
              .rkey = xrc.one.mr.rkey,
              .compare_add = 1},
             xrc.one);
    xrc.world.run();
    const auto done = xrc.client.drain(xrc.cq);
    ASSERT_EQ(done.size(), 3u) << lost;
    for (const auto& entry : done) EXPECT_EQ(entry.status, 0u) << lost;
  }
}

TEST(XrcTest, domains_are_named_by_files) {
  Xrc xrc;
  int status = -1;
  xrc.two.program.open_xrcd(kFile, &status, 0);
  EXPECT_EQ(status, 0) << "it exists";
  xrc.two.program.open_xrcd(kFile, &status, 0100 | 0200);
  EXPECT_EQ(status, EINVAL) << "and may not when that was asked for";
  xrc.two.program.open_xrcd(78, &status, 0);
  EXPECT_EQ(status, EAGAIN) << "nobody made it";
  // In use by a shared receive queue.
  EXPECT_EQ(xrc.two.program.destroy(protocol::CommandType::kCloseXrcd, xrc.two.xrcd), EBUSY);
  ASSERT_EQ(xrc.two.program.destroy(protocol::CommandType::kDestroyCq, xrc.two.cq.handle), EBUSY);
  ASSERT_EQ(xrc.two.program.destroy(protocol::CommandType::kDestroySrq, xrc.two.srq.made.handle), 0);
  EXPECT_EQ(xrc.two.program.destroy(protocol::CommandType::kCloseXrcd, xrc.two.xrcd), 0);
  EXPECT_EQ(xrc.two.program.destroy(protocol::CommandType::kCloseXrcd, xrc.two.xrcd), ENOENT);
  EXPECT_EQ(xrc.two.program.destroy(protocol::CommandType::kDestroyCq, xrc.two.cq.handle), 0);
}

protocol::OpenQp open(Member& member, std::uint32_t number, int* status) {
  protocol::OpenQp open{};
  open.cookie = 0x7777;
  open.xrcd = member.xrcd;
  open.number = number;
  *status = member.program.command(open);
  return open;
}

TEST(XrcTest, a_receiver_lives_as_long_as_somebody_has_it_open) {
  Xrc xrc;
  int status = -1;
  open(xrc.two, xrc.from.made.number + 1000, &status);
  EXPECT_EQ(status, EINVAL);
  const protocol::OpenQp opened = open(xrc.two, xrc.to.made.number, &status);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(opened.state, static_cast<std::uint32_t>(QpState::kRtr));
  // The program that created it ends.
  xrc.world.server->close(xrc.one.program.context);
  xrc.two.post_recv(1, 100);
  xrc.send({.sges = {xrc.sge(0, 8)}}, xrc.two);
  EXPECT_EQ(xrc.outcome(), WcStatus::kSuccess);
  ASSERT_FALSE(xrc.two.program.async_events.empty());
  EXPECT_EQ(xrc.two.program.async_events[0].event_type,
            static_cast<std::uint32_t>(AsyncEventType::kCommunicationEstablished));
  EXPECT_EQ(xrc.two.program.async_events[0].element, 0x7777u);
  EXPECT_EQ(xrc.two.program.destroy(protocol::CommandType::kDestroyQp, opened.handle), 0);
  xrc.send({.sges = {xrc.sge(0, 8)}}, xrc.two);
  EXPECT_EQ(xrc.outcome(), WcStatus::kRetryExceeded);
}

TEST(XrcTest, everybody_who_has_a_receiver_open_learns_of_its_errors) {
  Xrc xrc;
  int status = -1;
  open(xrc.two, xrc.to.made.number, &status);
  ASSERT_EQ(status, 0);
  SendRequest request{.sges = {xrc.sge(0, 8)}};
  request.remote_srqn = 0x123456;
  xrc.client.post_send(xrc.from, request);
  EXPECT_EQ(xrc.outcome(), WcStatus::kRemoteInvalidRequestError);
  for (Member* member : {&xrc.one, &xrc.two}) {
    ASSERT_EQ(member->program.async_events.size(), 1u);
    EXPECT_EQ(member->program.async_events[0].event_type,
              static_cast<std::uint32_t>(AsyncEventType::kQpRequestError));
  }
}

std::vector<AsyncEventType> events_of(const Member& member) {
  std::vector<AsyncEventType> types;
  for (const auto& event : member.program.async_events) types.push_back(static_cast<AsyncEventType>(event.event_type));
  return types;
}

TEST(XrcTest, an_overrun_of_the_completion_queue_fails_the_shared_queue_and_who_received_from_it) {
  Xrc xrc(2);
  int status = -1;
  open(xrc.two, xrc.to.made.number, &status);
  ASSERT_EQ(status, 0);
  for (std::uint64_t i = 0; i < 5; ++i) xrc.one.post_recv(i, 2000);
  for (std::uint64_t i = 0; i < 3; ++i) xrc.send({.wr_id = i, .sges = {xrc.sge(0, 600)}}, xrc.one);
  xrc.world.run();
  EXPECT_EQ(xrc.one.program.drain(xrc.one.cq).size(), 2u);
  EXPECT_EQ(xrc.one.program.state(xrc.to), QpState::kErr);
  EXPECT_EQ(events_of(xrc.one),
            (std::vector{AsyncEventType::kCommunicationEstablished, AsyncEventType::kCqError, AsyncEventType::kSrqError,
                         AsyncEventType::kQpFatal}));
  EXPECT_EQ(events_of(xrc.two), (std::vector{AsyncEventType::kCommunicationEstablished, AsyncEventType::kQpFatal}));
  xrc.client.drain(xrc.cq);
  xrc.send({.sges = {xrc.sge(0, 600)}}, xrc.one);
  EXPECT_EQ(xrc.outcome(), WcStatus::kRetryExceeded);
}

TEST(XrcTest, who_never_received_from_a_failed_queue_fails_with_the_first_message_that_names_it) {
  Xrc xrc(2);
  Qp from = xrc.client.create_qp(xrc.cq, {}, {16, 16, 4, 4, 64}, ib::QpType::kXrcSend), to;
  to.made.xrcd = xrc.two.xrcd;
  ASSERT_EQ(xrc.two.program.try_create_qp(to, {}, {}, {}, ib::QpType::kXrcReceive), 0);
  EXPECT_EQ(xrc.client.to_init(from, xrc.path) + xrc.two.program.to_init(to, xrc.path), 0);
  EXPECT_EQ(xrc.client.to_rtr(from, 2, to.made.number, xrc.path), 0);
  EXPECT_EQ(xrc.two.program.to_rtr(to, 1, from.made.number, xrc.path), 0);
  EXPECT_EQ(xrc.client.to_rts(from, xrc.path), 0);
  for (std::uint64_t i = 0; i < 5; ++i) xrc.one.post_recv(i, 2000);
  for (std::uint64_t i = 0; i < 3; ++i) xrc.send({.wr_id = i, .sges = {xrc.sge(0, 600)}}, xrc.one);
  xrc.world.run();
  xrc.client.drain(xrc.cq);
  ASSERT_EQ(xrc.one.program.state(xrc.to), QpState::kErr);
  const auto outcome = [&](const Member& member) {
    SendRequest request{.sges = {xrc.sge(0, 600)}};
    request.remote_srqn = member.srq.made.number;
    xrc.client.post_send(from, request);
    return xrc.outcome();
  };
  xrc.two.post_recv(1, 2000);
  EXPECT_EQ(outcome(xrc.two), WcStatus::kSuccess);
  EXPECT_EQ(xrc.two.program.state(to), QpState::kRtr);
  EXPECT_EQ(outcome(xrc.one), WcStatus::kRemoteOperationError);
  EXPECT_EQ(xrc.two.program.state(to), QpState::kErr);
}

// The receiver may be destroyed at any moment of the overrun.
TEST(XrcTest, a_receiver_may_go_while_its_completions_overrun_their_queue) {
  bool has_overrun = false;
  for (int steps = 0; steps < 600; steps += 5) {
    Xrc xrc(1);
    for (std::uint64_t i = 0; i < 10; ++i) {
      xrc.one.post_recv(i, 2000);
      xrc.send({.wr_id = i, .sges = {xrc.sge(0, 8)}}, xrc.one);
    }
    for (int i = 0; i < steps; ++i) xrc.world.engine.step();
    ASSERT_EQ(xrc.one.program.destroy(protocol::CommandType::kDestroyQp, xrc.to.made.handle), 0);
    EXPECT_LE(xrc.one.program.drain(xrc.one.cq).size(), 1u);
    xrc.world.run();
    const auto events = events_of(xrc.one);
    has_overrun = has_overrun || std::count(events.begin(), events.end(), AsyncEventType::kSrqError) > 0;
  }
  EXPECT_TRUE(has_overrun);
}

TEST(XrcTest, what_makes_no_sense_is_refused) {
  Xrc xrc;
  Qp qp;
  EXPECT_EQ(xrc.one.program.try_create_qp(qp, {}, {}, {}, ib::QpType::kXrcReceive), EINVAL) << "no domain";
  qp.made.srq = xrc.one.srq.made.handle;
  EXPECT_EQ(xrc.one.program.try_create_qp(qp, xrc.one.cq, xrc.one.cq, {8, 8, 1, 1, 0}), EINVAL)
      << "an XRC queue for an RC queue pair";
  EXPECT_EQ(xrc.one.program.create_srq(4, 1, 4711, xrc.one.cq.handle).made.handle, 0u);
  EXPECT_EQ(xrc.one.program.create_srq(4, 1, xrc.one.xrcd, 4711).made.handle, 0u);
}

}  // namespace
}  // namespace verbatim::test
