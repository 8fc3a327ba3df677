// The table of errors: for every failure of a request, the results for both programs (statuses of
// completions, state of the queue pair, asynchronous events) and the wire. Facts: facts/verbs_semantics.md
// and the error taxonomy of facts/timing.md §2; IBA 9.7.5.2, 9.9, 10.10.3.
#include <gtest/gtest.h>

#include <map>

#include "sim/ib/aeth.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using ib::AsyncEventType;
using ib::QpState;
using ib::QpType;
using ib::WcStatus;

const char* name_of(std::uint8_t status) {
  switch (static_cast<WcStatus>(status)) {
    case WcStatus::kSuccess:
      return "success";
    case WcStatus::kLocalLengthError:
      return "local length";
    case WcStatus::kLocalQpOperationError:
      return "local operation";
    case WcStatus::kLocalProtectionError:
      return "local protection";
    case WcStatus::kWorkRequestFlushed:
      return "flushed";
    case WcStatus::kRemoteInvalidRequestError:
      return "remote invalid request";
    case WcStatus::kRemoteAccessError:
      return "remote access";
    case WcStatus::kRemoteOperationError:
      return "remote operation";
    case WcStatus::kRetryExceeded:
      return "retries";
    case WcStatus::kRnrRetryExceeded:
      return "rnr retries";
    default:
      return "?";
  }
}

const char* name_of(QpState state) {
  constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* name_of_event(std::uint32_t type) {
  switch (static_cast<AsyncEventType>(type)) {
    case AsyncEventType::kCqError:
      return "CQ_ERR";
    case AsyncEventType::kQpFatal:
      return "QP_FATAL";
    case AsyncEventType::kQpRequestError:
      return "QP_REQ_ERR";
    case AsyncEventType::kQpAccessError:
      return "QP_ACCESS_ERR";
    case AsyncEventType::kQpLastWqeReached:
      return "LAST_WQE";
    default:
      return "?";
  }
}

void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

// "success, remote access; ERR; QP_ACCESS_ERR"
std::string seen_by(Pair::Side& side, Cq& cq) {
  std::string statuses, events;
  for (const protocol::Cqe& entry : side.program.drain(cq)) append(statuses, name_of(entry.status));
  for (const auto& event : side.program.async_events) append(events, name_of_event(event.event_type));
  std::string text = (statuses.empty() ? "-" : statuses) + "; " + name_of(side.program.state(side.qp));
  return events.empty() ? text : text + "; " + events;
}

struct Case {
  std::string name;
  PairOptions options;
  std::function<void(Pair&)> act;
  std::string requester, responder;
  std::string wire;  // the first negative acknowledgement: code as facts name it, or "-"
};

SendRequest remote(Pair& pair, WqeOpcode opcode, std::uint32_t length = 8) {
  return {.wr_id = 1,
          .opcode = opcode,
          .sges = {pair.a.sge(0, length)},
          .remote_va = Program::kBuffer,
          .rkey = pair.b.mr.rkey};
}

PairOptions options_for(QpType type = QpType::kRc) {
  PairOptions options;
  options.type = type;
  options.path.timeout = 5;
  options.path.retry_cnt = 1;
  options.path.rnr_retry = 1;
  options.path.min_rnr_timer = 1;
  return options;
}

// A receive of so many bytes at the responder, and a request.
std::function<void(Pair&)> request(std::function<void(Pair&, SendRequest&)> change, WqeOpcode opcode,
                                   std::uint32_t length = 8) {
  return [=](Pair& pair) {
    pair.b.program.post_recv(pair.b.qp, 7, {pair.b.sge(0, 64)});
    SendRequest wr = remote(pair, opcode, length);
    if (change) change(pair, wr);
    pair.a.program.post_send(pair.a.qp, wr);
  };
}

PairOptions with(PairOptions options, std::function<void(PairOptions&)> change) {
  change(options);
  return options;
}

std::vector<Case> cases() {
  const PairOptions rc = options_for();
  const auto any_right_but = [](std::uint32_t right) {
    return with(options_for(), [right](PairOptions& o) { o.path.access &= ~right; });
  };
  const auto at_peer = [](std::uint32_t access) {
    return [access](Pair& pair, SendRequest& wr) {
      wr.rkey = pair.b.program.reg_mr(Program::kBuffer, 4096, access).rkey;
    };
  };
  const auto bad_rkey = [](Pair&, SendRequest& wr) { wr.rkey ^= 1; };
  const auto misaligned = [](Pair&, SendRequest& wr) { wr.remote_va += 4; };
  const auto beyond = [](Pair&, SendRequest& wr) { wr.remote_va += (1 << 20) - 4; };
  const auto bad_lkey = [](Pair&, SendRequest& wr) { wr.sges[0].lkey ^= 1; };
  const std::string ok = "flushed; ERR", access = "flushed; ERR; QP_ACCESS_ERR",
                    invalid = "flushed; ERR; QP_REQ_ERR";
  return {
      // Caused by the responder's receive.
      {"send longer than the receive", rc, request({}, WqeOpcode::kSend, 65), "remote invalid request; ERR",
       "local length; ERR", "0x61"},
      {"receive with an unknown key", rc,
       [](Pair& pair) {
         protocol::Sge sge = pair.b.sge(0, 64);
         sge.lkey ^= 1;
         pair.b.program.post_recv(pair.b.qp, 7, {sge});
         pair.a.program.post_send(pair.a.qp, remote(pair, WqeOpcode::kSend));
       },
       "remote operation; ERR", "local protection; ERR", "0x63"},
      {"receive without the right to write", rc,
       [](Pair& pair) {
         const Mr mr = pair.b.program.reg_mr(Program::kBuffer, 4096, 0);
         pair.b.program.post_recv(pair.b.qp, 7, {{Program::kBuffer, 64, mr.lkey}});
         pair.a.program.post_send(pair.a.qp, remote(pair, WqeOpcode::kSend));
       },
       "remote operation; ERR", "local protection; ERR", "0x63"},
      {"no receive", rc,
       [](Pair& pair) { pair.a.program.post_send(pair.a.qp, remote(pair, WqeOpcode::kSend)); },
       "rnr retries; ERR", "-; RTS", "0x21"},
      {"no receive for an immediate", rc,
       [](Pair& pair) { pair.a.program.post_send(pair.a.qp, remote(pair, WqeOpcode::kRdmaWriteWithImm)); },
       "rnr retries; ERR", "-; RTS", "0x21"},
      // Memory of the responder.
      {"write with an unknown key", rc, request(bad_rkey, WqeOpcode::kRdmaWrite), "remote access; ERR",
       access, "0x62"},
      {"read with an unknown key", rc, request(bad_rkey, WqeOpcode::kRdmaRead), "remote access; ERR", access,
       "0x62"},
      {"atomic with an unknown key", rc, request(bad_rkey, WqeOpcode::kAtomicFetchAdd), "remote access; ERR",
       access, "0x62"},
      {"write beyond the region", rc, request(beyond, WqeOpcode::kRdmaWrite), "remote access; ERR", access,
       "0x62"},
      {"read beyond the region", rc, request(beyond, WqeOpcode::kRdmaRead), "remote access; ERR", access,
       "0x62"},
      {"write to a region for reading", rc, request(at_peer(ib::kRemoteRead), WqeOpcode::kRdmaWrite),
       "remote access; ERR", access, "0x62"},
      {"read of a region for writing", rc,
       request(at_peer(ib::kLocalWrite | ib::kRemoteWrite), WqeOpcode::kRdmaRead), "remote access; ERR",
       access, "0x62"},
      {"atomic on a region for writing", rc,
       request(at_peer(ib::kLocalWrite | ib::kRemoteWrite), WqeOpcode::kAtomicCompareSwap),
       "remote access; ERR", access, "0x62"},
      {"write the queue pair does not allow", any_right_but(ib::kRemoteWrite),
       request({}, WqeOpcode::kRdmaWrite), "remote access; ERR", access, "0x62"},
      {"read the queue pair does not allow", any_right_but(ib::kRemoteRead),
       request({}, WqeOpcode::kRdmaRead), "remote access; ERR", access, "0x62"},
      {"atomic the queue pair does not allow", any_right_but(ib::kRemoteAtomic),
       request({}, WqeOpcode::kAtomicFetchAdd), "remote access; ERR", access, "0x62"},
      {"invalidation of an unknown key", rc,
       request([](Pair&, SendRequest& wr) { wr.immediate = 0x12345; }, WqeOpcode::kSendWithInvalidate),
       "remote access; ERR", "local protection; ERR", "0x62"},
      {"invalidation of a region's key", rc,
       request([](Pair& pair, SendRequest& wr) { wr.immediate = pair.b.mr.rkey; }, WqeOpcode::kSendWithInvalidate),
       "remote access; ERR", "local protection; ERR", "0x62"},
      // Requests that make no sense.
      {"misaligned atomic", rc, request(misaligned, WqeOpcode::kAtomicFetchAdd),
       "remote invalid request; ERR", invalid, "0x61"},
      {"more reads than resources",
       with(rc,
            [](PairOptions& o) {
              o.path.max_dest_rd_atomic = 1;
              o.path.max_rd_atomic = 4;
            }),
       [](Pair& pair) {
         for (int i = 0; i < 3; ++i)
           pair.a.program.post_send(pair.a.qp, remote(pair, WqeOpcode::kRdmaRead, 9000));
       },
       "success, remote invalid request, flushed; ERR", "-; ERR; QP_REQ_ERR", "0x61"},
      {"middle without a first", rc,
       [](Pair& pair) {
         pair.world.to_server.keep = [](ib::Packet& packet) {
           packet.bth.opcode = make_opcode(ib::Transport::kRc, ib::Operation::kSendMiddle);
           return true;
         };
         request({}, WqeOpcode::kSend)(pair);
       },
       "remote invalid request; ERR", invalid, "0x61"},
      {"write longer than it said", rc,
       [](Pair& pair) {
         pair.world.to_server.keep = [](ib::Packet& packet) {
           packet.reth.length = 4;
           return true;
         };
         request({}, WqeOpcode::kRdmaWrite)(pair);
       },
       "remote invalid request; ERR", invalid, "0x61"},
      {"another path MTU", rc,
       [](Pair& pair) {
         EXPECT_EQ(pair.b.program.to_state(pair.b.qp, QpState::kReset), 0);
         PathOptions small = pair.options.path;
         small.mtu = 1;
         EXPECT_EQ(pair.b.program.to_init(pair.b.qp, small), 0);
         EXPECT_EQ(pair.b.program.to_rtr(pair.b.qp, 1, pair.a.qp.made.number, small), 0);
         EXPECT_EQ(pair.b.program.to_rts(pair.b.qp, small), 0);
         request({}, WqeOpcode::kRdmaWrite, 1000)(pair);
       },
       "remote invalid request; ERR", invalid, "0x61"},
      // Never leaves the requester, or is lost.
      {"send with an unknown key", rc, request(bad_lkey, WqeOpcode::kSend), "local protection; ERR", "-; RTS",
       "-"},
      {"read into an unknown key", rc, request(bad_lkey, WqeOpcode::kRdmaRead), "local protection; ERR",
       "-; RTS", "-"},
      {"atomic of sixteen bytes", rc, request({}, WqeOpcode::kAtomicFetchAdd, 16), "local length; ERR",
       "-; RTS", "-"},
      {"read although none are allowed", with(rc, [](PairOptions& o) { o.path.max_rd_atomic = 0; }),
       request({}, WqeOpcode::kRdmaRead), "local operation; ERR", "-; RTS", "-"},
      {"everything lost", rc,
       [](Pair& pair) {
         pair.world.to_server.keep = [](ib::Packet&) { return false; };
         request({}, WqeOpcode::kSend)(pair);
       },
       "retries; ERR", "-; RTS", "-"},
      {"every answer lost", rc,
       [](Pair& pair) {
         pair.world.to_client.keep = [](ib::Packet&) { return false; };
         request({}, WqeOpcode::kSend)(pair);
       },
       "retries; ERR", "success; RTS", "-"},
      {"a peer in error", rc,
       [](Pair& pair) {
         EXPECT_EQ(pair.b.program.to_state(pair.b.qp, QpState::kErr), 0);
         request({}, WqeOpcode::kSend)(pair);
       },
       "retries; ERR", "flushed; ERR", "-"},
      {"another partition",
       with(rc,
            [](PairOptions& o) {
              o.world.pkeys = {{0x8001}, {0x8002}};
            }),
       request({}, WqeOpcode::kSend), "retries; ERR", "-; RTS", "-"},
      {"more completions than the queue holds", with(rc, [](PairOptions& o) { o.cqe = 1; }),
       [](Pair& pair) {
         for (int i = 0; i < 2; ++i) request({}, WqeOpcode::kRdmaWrite)(pair);
       },
       "success; ERR; CQ_ERR", "-; RTS", "-"},
      // Unreliable connections: errors at the responder are not reported (IBA 9.8.2.2).
      {"UC: write with an unknown key", options_for(QpType::kUc), request(bad_rkey, WqeOpcode::kRdmaWrite),
       "success; RTS", "-; RTS", "-"},
      {"UC: no receive", options_for(QpType::kUc),
       [](Pair& pair) { pair.a.program.post_send(pair.a.qp, remote(pair, WqeOpcode::kSend)); },
       "success; RTS", "-; RTS", "-"},
      {"UC: longer than the receive", options_for(QpType::kUc), request({}, WqeOpcode::kSend, 65),
       "success; RTS", "-; RTS", "-"},
      {"UC: unknown local key", options_for(QpType::kUc), request(bad_lkey, WqeOpcode::kSend),
       "local protection; SQE", "-; RTS", "-"},
      {"UC: read", options_for(QpType::kUc), request({}, WqeOpcode::kRdmaRead), "local operation; SQE",
       "-; RTS", "-"},
  };
}

TEST(OutcomeTest, both_sides_of_every_error_are_as_the_table_says) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    Pair pair(c.options);
    ASSERT_TRUE(pair.ready);
    c.act(pair);
    std::string wire = "-";
    const auto keep = pair.world.to_client.keep;
    pair.world.to_client.keep = [&](ib::Packet& packet) {
      const bool negative = packet.bth.opcode == ib::Opcode::kRcAcknowledge &&
                            ib::ack_kind(packet.aeth.syndrome) != ib::AckKind::kAck;
      char code[8];
      std::snprintf(code, sizeof(code), "0x%02x", packet.aeth.syndrome);
      if (negative && wire == "-") wire = code;
      return !keep || keep(packet);
    };
    pair.world.run();
    EXPECT_EQ(seen_by(pair.a, pair.a.send_cq), c.requester);
    EXPECT_EQ(seen_by(pair.b, pair.b.recv_cq), c.responder);
    EXPECT_EQ(wire, c.wire);
  }
}

// With a shared receive queue its entries are not flushed; an event reports that no more will be consumed
// (IBA 11.6.3).
TEST(OutcomeTest, with_a_shared_queue_the_last_work_request_is_announced_in_every_error_of_the_responder) {
  for (const bool by_program : {false, true}) {
    Pair pair(options_for(), false);
    Srq srq = pair.b.program.create_srq(8);
    pair.b.program.post_recv(srq, 1, {pair.b.sge(0, 64)});
    pair.b.qp = pair.b.program.create_qp(pair.b.send_cq, pair.b.recv_cq, {64, 64, 4, 4, 64}, QpType::kRc,
                                         srq.made.handle);
    pair.connect_both();
    ASSERT_TRUE(pair.ready);
    if (by_program) {
      ASSERT_EQ(pair.b.program.to_state(pair.b.qp, QpState::kErr), 0);
    } else {
      SendRequest wr = remote(pair, WqeOpcode::kRdmaWrite);
      wr.rkey ^= 1;
      pair.a.program.post_send(pair.a.qp, wr);
    }
    pair.world.run();
    EXPECT_EQ(seen_by(pair.b, pair.b.recv_cq),
              by_program ? "-; ERR; LAST_WQE" : "-; ERR; QP_ACCESS_ERR, LAST_WQE");
  }
}

}  // namespace
}  // namespace verbatim::test
