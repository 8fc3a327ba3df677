// The requester without engine, memory or peer. Its inputs are made here, and its actions are checked.
#include "sim/hca/transport/requester.h"

#include <gmock/gmock.h>

#include <optional>
#include <utility>
#include <vector>

#include "sim/ib/aeth.h"
#include "tests/hca/test_connection.h"

namespace verbatim::hca {
namespace {

using ib::QpState;
using ib::WcStatus;
using protocol::WqeOpcode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Action::Kind;


class TestOperations : public LocalOperations {
 public:
  WcStatus execute_local(const SendWork& work) override {
    executed.push_back(work.number);
    return answer;
  }
  std::vector<std::uint32_t> executed;
  WcStatus answer = WcStatus::kSuccess;
};

struct DoneRequest {
  std::uint64_t wr_id;
  WcStatus status;
  friend bool operator==(const DoneRequest&, const DoneRequest&) = default;
};

std::vector<Kind> kinds(const Actions& actions) {
  std::vector<Kind> all;
  for (const Action& action : actions) all.push_back(action.kind);
  return all;
}
bool has(const Actions& actions, Kind kind) {
  for (const Action& action : actions) {
    if (action.kind == kind) return true;
  }
  return false;
}

class RequesterTest : public ::testing::Test {
 protected:
  explicit RequesterTest(ib::QpType type = ib::QpType::kRc)
      : profile(profile_of_test()),
        address(test_address()),
        connection(profile, address, type),
        queue({}, 4096, 64),
        requester(connection, queue, local) {
    requester.start(kFirst);
  }
  static HcaProfile profile_of_test() {
    HcaProfile profile;
    profile.wqe_prefetch = 4096;
    return profile;
  }
  // A request that was posted, fetched and decoded.
  Actions post(WqeOpcode opcode, std::uint32_t length, std::uint8_t flags = 0, WcStatus fault = WcStatus::kSuccess) {
    Actions ring;
    requester.on_doorbell(++posted, false, {}, ring);
    EXPECT_THAT(kinds(ring), ElementsAre(Kind::kFetch));
    SendWork work;
    work.wr_id = work.number = posted - 1;
    work.opcode = opcode;
    work.length = length;
    work.flags = flags | protocol::kWqeSignaled;
    work.fault = fault;
    Actions actions;
    requester.on_work(std::move(work), now, actions);
    return actions;
  }

  // All that may be sent now, handed to the port; their PSNs.
  std::vector<std::uint32_t> send_all() {
    std::vector<std::uint32_t> psns;
    while (requester.has_packet()) {
      Actions actions;
      last = requester.next_packet(now, actions);
      psns.push_back(last.packet->bth.psn.value);
      requester.on_transmit(last, now, actions);
      tell(actions);
    }
    return psns;
  }

  Requester::Placement receive(ib::Operation operation, std::uint32_t psn, std::uint8_t syndrome, Actions& actions,
                               std::uint32_t length = 0) {
    ib::PacketPtr packet = connection.make_packet(make_opcode(connection.transport(), operation), {psn & ib::Psn::kMask});
    packet->aeth = {syndrome, 0};
    packet->payload.length = length;
    const Requester::Placement placement = requester.receive(*packet, now, actions);
    tell(actions);
    answer = std::move(packet);
    return placement;
  }
  Actions acknowledge(std::uint32_t psn, std::uint8_t syndrome = ib::ack_syndrome(ib::kUnlimitedCredits)) {
    Actions actions;
    receive(ib::Operation::kAcknowledge, psn, syndrome, actions);
    return actions;
  }
  Actions refuse(std::uint32_t psn, ib::NakCode code) { return acknowledge(psn, ib::nak_syndrome(code)); }
  // A READ response that is placed.
  Actions respond(ib::Operation operation, std::uint32_t psn, std::uint32_t length, bool allowed = true) {
    Actions received, placed;
    const auto placement = receive(operation, psn, ib::ack_syndrome(ib::kUnlimitedCredits), received, length);
    EXPECT_NE(placement.list, nullptr);
    EXPECT_EQ(placement.length, length);
    requester.on_placed(*answer, allowed, now, placed);
    tell(placed);
    return placed;
  }
  Actions time_out() {
    Actions actions;
    requester.on_ack_timeout(now, actions);
    tell(actions);
    return actions;
  }
  // As the data path does at an error.
  void flush(QpState to = QpState::kErr) {
    connection.enter(to);
    Actions actions;
    requester.flush_all(now, actions);
    tell(actions);
  }

  void tell(Actions& actions) {
    for (const Action& action : actions) {
      if (action.kind == Kind::kArmAckTimer) ack_timer = action.duration;
      if (action.kind == Kind::kCancelAckTimer) ack_timer.reset();
      if (action.kind == Kind::kArmRnrTimer) rnr_timer = action.duration;
      if (action.kind == Kind::kCancelRnrTimer) rnr_timer.reset();
      if (action.kind != Kind::kComplete) continue;
      for (std::uint32_t i = 0; i < action.count; ++i) {
        const FinishedRequest& finished = actions.finished()[action.number + i];
        completions.push_back({finished.wr_id, finished.status});
      }
    }
  }
  std::vector<DoneRequest> take_completions() { return std::exchange(completions, {}); }

  static constexpr ib::Psn kFirst{0xfffffe};  // and over the wrap
  static std::uint32_t psn(std::uint32_t n) { return (kFirst + n).value; }

  HcaProfile profile;
  PortAddress address;
  TestConnection connection;
  WorkQueue queue;
  TestOperations local;
  Requester requester;
  Instant now = instant_from_ps(1000);
  std::uint32_t posted = 0;
  Outgoing last;
  ib::PacketPtr answer;
  std::vector<DoneRequest> completions;
  std::optional<Duration> ack_timer, rnr_timer;
};

// IBA 9.7.7.2.5.
TEST_F(RequesterTest, an_acknowledgement_of_nothing_outstanding_counts_when_it_grants_more) {
  profile.end_to_end_credits = true;
  requester.start(kFirst);
  for (int i = 0; i < 4; ++i) post(WqeOpcode::kSend, 8);
  EXPECT_THAT(send_all(), ElementsAre(psn(0)));
  const std::uint32_t before = psn(0) - 1;
  EXPECT_TRUE(has(acknowledge(before, ib::ack_syndrome(0)), Kind::kDrop)) << "it grants nothing";
  EXPECT_TRUE(has(acknowledge(before - 1, ib::ack_syndrome(2)), Kind::kDrop)) << "it is a ghost";
  EXPECT_TRUE(has(acknowledge(before, ib::rnr_nak_syndrome(1)), Kind::kDrop)) << "it grants nothing";
  EXPECT_THAT(send_all(), IsEmpty());
  const Actions granted = acknowledge(before, ib::ack_syndrome(2));
  EXPECT_THAT(kinds(granted), ElementsAre(Kind::kRecord, Kind::kRelease, Kind::kActivate));
  EXPECT_THAT(send_all(), ElementsAre(psn(1), psn(2)));
  EXPECT_TRUE(has(acknowledge(before, ib::ack_syndrome(2)), Kind::kDrop)) << "the same again";
}

TEST_F(RequesterTest, a_grant_does_not_end_the_wait_of_a_receiver_that_was_not_ready) {
  profile.end_to_end_credits = true;
  requester.start(kFirst);
  for (int i = 0; i < 3; ++i) post(WqeOpcode::kSend, 8);
  EXPECT_THAT(send_all(), ElementsAre(psn(0)));
  acknowledge(psn(0), ib::rnr_nak_syndrome(1));
  const Actions granted = acknowledge(psn(0) - 1, ib::ack_syndrome(2));
  EXPECT_FALSE(has(granted, Kind::kCancelRnrTimer));
  EXPECT_THAT(send_all(), IsEmpty());
  Actions over;
  requester.on_rnr_timeout(now, over);
  EXPECT_THAT(send_all(), ElementsAre(psn(0), psn(1), psn(2)));
}

TEST_F(RequesterTest, a_message_is_cut_at_the_path_mtu_and_the_last_packet_asks_for_an_acknowledgement) {
  EXPECT_THAT(kinds(post(WqeOpcode::kSend, 2 * kTestMtu + 1)), ElementsAre(Kind::kActivate));
  Actions actions;
  EXPECT_FALSE(requester.next_packet(now, actions).packet->bth.ack_request);
  EXPECT_FALSE(requester.next_packet(now, actions).packet->bth.ack_request);
  const Outgoing third = requester.next_packet(now, actions);
  EXPECT_TRUE(third.packet->bth.ack_request);
  EXPECT_EQ(third.packet->payload.length, 1u);
  EXPECT_EQ(third.offset, 2 * kTestMtu);
  EXPECT_EQ(third.packet->bth.psn, kFirst + 2);
  EXPECT_FALSE(requester.has_packet());
}

// The data path may call the requester again before it has executed the actions of the step before.
TEST_F(RequesterTest, finished_requests_belong_to_the_step_that_finished_them) {
  for (int i = 0; i < 3; ++i) post(WqeOpcode::kRdmaWrite, 8);
  send_all();
  ib::PacketPtr packet = connection.make_packet(make_opcode(connection.transport(), ib::Operation::kAcknowledge), kFirst);
  Actions first, second;
  requester.receive(*packet, now, first);
  packet->bth.psn = kFirst + 2;
  requester.receive(*packet, now, second);
  tell(second);
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{1, WcStatus::kSuccess}, DoneRequest{2, WcStatus::kSuccess}));
  tell(first);
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kSuccess}));
}

TEST_F(RequesterTest, a_single_inline_request_is_pushed_with_its_doorbell_in_whole_lines) {
  profile.blueflame_bytes = 128;
  const std::uint32_t header = profile.wqe_layout.header_bytes;
  EXPECT_EQ(requester.on_ring(1, 8), (header + 8 + 63) / 64 * 64);
  EXPECT_EQ(requester.on_ring(2, 128 - header), 128u);
  EXPECT_EQ(requester.on_ring(3, 129 - header), 0u) << "it is too long";
  EXPECT_EQ(requester.on_ring(4, std::nullopt), 0u) << "its data is not inline";
  EXPECT_EQ(requester.on_ring(6, 8), 0u) << "the doorbell announces two";
  EXPECT_EQ(requester.on_ring(7, 8), (header + 8 + 63) / 64 * 64);
}

TEST_F(RequesterTest, one_acknowledgement_completes_any_number_of_requests_in_one_action) {
  constexpr std::uint32_t kMany = 1000;
  for (std::uint32_t i = 0; i < kMany; ++i) post(WqeOpcode::kRdmaWrite, 8);
  EXPECT_EQ(send_all().size(), kMany);
  EXPECT_THAT(kinds(acknowledge(psn(kMany - 1))),
              ElementsAre(Kind::kRecord, Kind::kRelease, Kind::kComplete, Kind::kCancelAckTimer, Kind::kActivate));
  ASSERT_EQ(completions.size(), kMany);
  for (std::uint32_t i = 0; i < kMany; ++i) EXPECT_EQ(completions[i], (DoneRequest{i, WcStatus::kSuccess}));
}

TEST_F(RequesterTest, an_acknowledgement_of_part_of_a_message_completes_what_is_before_it) {
  post(WqeOpcode::kSend, 8);
  post(WqeOpcode::kSend, 3 * kTestMtu);
  send_all();
  acknowledge(psn(2));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kSuccess}));
  EXPECT_TRUE(ack_timer);
  acknowledge(psn(3));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{1, WcStatus::kSuccess}));
  EXPECT_FALSE(ack_timer);
}

TEST_F(RequesterTest, ghosts_and_duplicates_are_dropped_and_change_nothing) {
  post(WqeOpcode::kSend, 8);
  post(WqeOpcode::kSend, 8);
  send_all();
  acknowledge(psn(0));
  take_completions();
  for (const std::uint32_t ghost : {psn(0), psn(2), psn(1000)}) {
    EXPECT_THAT(kinds(acknowledge(ghost)), ElementsAre(Kind::kRecord, Kind::kDrop)) << ghost;
    EXPECT_THAT(kinds(refuse(ghost, ib::NakCode::kRemoteAccessError)), ElementsAre(Kind::kRecord, Kind::kDrop));
  }
  EXPECT_THAT(completions, IsEmpty());
}

TEST_F(RequesterTest, after_a_gap_everything_from_the_missing_packet_on_is_sent_again) {
  post(WqeOpcode::kSend, 3 * kTestMtu);
  post(WqeOpcode::kSend, 8);
  EXPECT_THAT(send_all(), ElementsAre(psn(0), psn(1), psn(2), psn(3)));
  const Actions actions = refuse(psn(1), ib::NakCode::kPsnSequenceError);
  ASSERT_TRUE(has(actions, Kind::kRecord));
  const Action& again = actions[2];
  EXPECT_EQ(again.event, TraceEvent::kRetransmission);
  EXPECT_EQ(again.values[0], psn(1));
  EXPECT_EQ(again.values[1], static_cast<std::uint32_t>(RetryCause::kSequenceNak));
  EXPECT_EQ(actions[actions.size() - 1].kind, Kind::kActivate);
  EXPECT_FALSE(requester.is_current(last));  // what was made before and has not left is not sent
  EXPECT_THAT(send_all(), ElementsAre(psn(1), psn(2), psn(3)));
  EXPECT_EQ(last.packet->retransmission, 1);
}

TEST_F(RequesterTest, gaps_exhaust_the_retries_and_progress_restores_them) {
  post(WqeOpcode::kSend, 8);
  post(WqeOpcode::kSend, 8);
  send_all();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(has(refuse(psn(0), ib::NakCode::kPsnSequenceError), Kind::kEnterError));
    send_all();
  }
  acknowledge(psn(0));
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(has(refuse(psn(1), ib::NakCode::kPsnSequenceError), Kind::kEnterError));
    send_all();
  }
  take_completions();
  EXPECT_TRUE(has(refuse(psn(1), ib::NakCode::kPsnSequenceError), Kind::kEnterError));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{1, WcStatus::kRetryExceeded}));
}

TEST_F(RequesterTest, silence_goes_back_and_fails_after_the_last_retry) {
  post(WqeOpcode::kSend, 2 * kTestMtu);
  EXPECT_FALSE(ack_timer);
  send_all();
  EXPECT_EQ(ack_timer, Duration(std::int64_t{4'096'000} << 14));
  for (int i = 0; i < 2; ++i) {
    time_out();
    EXPECT_TRUE(ack_timer);
    EXPECT_THAT(send_all(), ElementsAre(psn(0), psn(1)));
  }
  const Actions actions = time_out();
  EXPECT_THAT(kinds(actions), ElementsAre(Kind::kComplete, Kind::kEnterError));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kRetryExceeded}));
}

TEST_F(RequesterTest, without_a_timeout_no_timer_runs) {
  connection.attributes.timeout = 0;
  post(WqeOpcode::kSend, 8);
  send_all();
  EXPECT_FALSE(ack_timer);
}

TEST_F(RequesterTest, a_receiver_that_is_not_ready_is_given_the_time_that_it_asks_for) {
  post(WqeOpcode::kSend, 8);
  post(WqeOpcode::kSend, 8);
  send_all();
  constexpr std::uint8_t kTimer = 12;
  acknowledge(psn(0), ib::rnr_nak_syndrome(kTimer));
  EXPECT_EQ(rnr_timer, ib::rnr_timer(kTimer));
  EXPECT_FALSE(ack_timer);
  EXPECT_FALSE(requester.has_packet());
  EXPECT_THAT(kinds(acknowledge(psn(0), ib::rnr_nak_syndrome(kTimer))), ElementsAre(Kind::kRecord, Kind::kRelease))
      << "while it waits it does not count";
  Actions over;
  requester.on_rnr_timeout(now, over);
  tell(over);
  EXPECT_THAT(send_all(), ElementsAre(psn(0), psn(1)));
  EXPECT_TRUE(has(acknowledge(psn(0), ib::rnr_nak_syndrome(kTimer)), Kind::kEnterError));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kRnrRetryExceeded}));
}

TEST_F(RequesterTest, seven_rnr_retries_are_endless) {
  connection.attributes.rnr_retry = 7;
  post(WqeOpcode::kSend, 8);
  for (int i = 0; i < 100; ++i) {
    send_all();
    ASSERT_FALSE(has(acknowledge(psn(0), ib::rnr_nak_syndrome(1)), Kind::kEnterError));
    Actions over;
    requester.on_rnr_timeout(now, over);
  }
}

TEST_F(RequesterTest, an_acknowledgement_ends_the_wait_for_a_receiver) {
  post(WqeOpcode::kSend, 8);
  post(WqeOpcode::kSend, 8);
  send_all();
  acknowledge(psn(1), ib::rnr_nak_syndrome(1));
  ASSERT_TRUE(rnr_timer);
  acknowledge(psn(1));
  EXPECT_FALSE(rnr_timer);
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kSuccess}, DoneRequest{1, WcStatus::kSuccess}));
  EXPECT_FALSE(requester.has_packet());  // its first sending has been acknowledged
}

TEST_F(RequesterTest, each_nak_has_its_status_and_what_is_behind_is_flushed_in_order) {
  const std::pair<ib::NakCode, WcStatus> kCases[] = {
      {ib::NakCode::kInvalidRequest, WcStatus::kRemoteInvalidRequestError},
      {ib::NakCode::kRemoteAccessError, WcStatus::kRemoteAccessError},
      {ib::NakCode::kRemoteOperationalError, WcStatus::kRemoteOperationError},
      {ib::NakCode::kInvalidRdRequest, WcStatus::kRemoteInvalidRdRequest}};
  for (const auto& [code, status] : kCases) {
    connection.enter(QpState::kRts);
    requester.reset();
    requester.start(kFirst);
    queue = WorkQueue({}, 4096, 64);
    posted = 0;
    for (int i = 0; i < 4; ++i) post(WqeOpcode::kSend, 8);
    send_all();
    const Actions actions = refuse(psn(1), code);
    EXPECT_TRUE(has(actions, Kind::kEnterError));
    flush();
    EXPECT_THAT(take_completions(),
                ElementsAre(DoneRequest{0, WcStatus::kSuccess}, DoneRequest{1, status},
                            DoneRequest{2, WcStatus::kWorkRequestFlushed}, DoneRequest{3, WcStatus::kWorkRequestFlushed}));
    EXPECT_FALSE(requester.has_packet());
  }
}

TEST_F(RequesterTest, what_comes_after_an_error_is_flushed_at_once) {
  flush();
  EXPECT_THAT(kinds(post(WqeOpcode::kSend, 8)), ElementsAre(Kind::kComplete));
}

TEST_F(RequesterTest, a_read_takes_the_psns_of_its_response_and_is_complete_with_the_last) {
  post(WqeOpcode::kRdmaRead, 2 * kTestMtu + 8);
  post(WqeOpcode::kSend, 8);
  EXPECT_THAT(send_all(), ElementsAre(psn(0), psn(3)));
  respond(ib::Operation::kReadResponseFirst, psn(0), kTestMtu);
  respond(ib::Operation::kReadResponseMiddle, psn(1), kTestMtu);
  EXPECT_THAT(completions, IsEmpty());
  const Actions placed = respond(ib::Operation::kReadResponseLast, psn(2), 8);
  EXPECT_EQ(placed[0].kind, Kind::kEndMessage);
  EXPECT_EQ(placed[placed.size() - 1].kind, Kind::kRelease);
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kSuccess}));
}

TEST_F(RequesterTest, a_missing_response_is_asked_for_once_from_where_it_is_missing) {
  post(WqeOpcode::kRdmaRead, 3 * kTestMtu);
  post(WqeOpcode::kSend, 8);
  send_all();
  respond(ib::Operation::kReadResponseFirst, psn(0), kTestMtu);
  acknowledge(psn(3));
  EXPECT_THAT(completions, IsEmpty());
  ASSERT_TRUE(requester.has_packet());
  Actions actions;
  const Outgoing again = requester.next_packet(now, actions);
  EXPECT_EQ(again.packet->bth.psn.value, psn(1));
  EXPECT_EQ(again.packet->reth.va.value, kTestMtu);
  EXPECT_EQ(again.packet->reth.length, 2 * kTestMtu);
  EXPECT_THAT(send_all(), ElementsAre(psn(3)));
  EXPECT_THAT(kinds(acknowledge(psn(3))), ElementsAre(Kind::kRecord, Kind::kRelease));
  EXPECT_FALSE(requester.has_packet());
  respond(ib::Operation::kReadResponseFirst, psn(1), kTestMtu);
  respond(ib::Operation::kReadResponseLast, psn(2), kTestMtu);
  acknowledge(psn(3));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kSuccess}, DoneRequest{1, WcStatus::kSuccess}));
}

TEST_F(RequesterTest, a_response_of_the_wrong_length_or_to_another_request_is_a_bad_response) {
  post(WqeOpcode::kRdmaRead, 2 * kTestMtu);
  send_all();
  Actions actions;
  EXPECT_EQ(receive(ib::Operation::kReadResponseOnly, psn(0), 0x1f, actions, 8).list, nullptr);
  EXPECT_THAT(kinds(actions), ElementsAre(Kind::kComplete, Kind::kEnterError, Kind::kRelease));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kBadResponseError}));
}

TEST_F(RequesterTest, a_response_that_may_not_be_placed_fails_its_request) {
  post(WqeOpcode::kRdmaRead, 8);
  send_all();
  const Actions placed = respond(ib::Operation::kReadResponseOnly, psn(0), 8, false);
  EXPECT_THAT(kinds(placed), ElementsAre(Kind::kComplete, Kind::kEnterError, Kind::kRelease));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kLocalProtectionError}));
}

TEST_F(RequesterTest, a_response_that_waited_is_looked_at_again_with_the_same_answer) {
  post(WqeOpcode::kSend, 8);
  post(WqeOpcode::kRdmaRead, 8);
  send_all();
  Actions first, second;
  EXPECT_EQ(receive(ib::Operation::kReadResponseOnly, psn(1), 0x1f, first, 8).length, 8u);
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kSuccess}));
  EXPECT_EQ(requester.receive(*answer, now, second).length, 8u);
  EXPECT_TRUE(second.empty());
}

TEST_F(RequesterTest, no_more_reads_and_atomics_are_under_way_than_the_peer_has_resources) {
  for (int i = 0; i < 3; ++i) post(WqeOpcode::kRdmaRead, 8);
  EXPECT_EQ(send_all().size(), 2u);
  respond(ib::Operation::kReadResponseOnly, psn(0), 8);
  EXPECT_EQ(send_all().size(), 1u);
}

TEST_F(RequesterTest, a_fenced_request_waits_for_the_reads_before_it) {
  post(WqeOpcode::kRdmaRead, 8);
  post(WqeOpcode::kRdmaWrite, 8, protocol::kWqeFence);
  EXPECT_EQ(send_all().size(), 1u);
  respond(ib::Operation::kReadResponseOnly, psn(0), 8);
  EXPECT_EQ(send_all().size(), 1u);
}

TEST_F(RequesterTest, an_atomic_takes_one_psn_and_brings_eight_bytes) {
  post(WqeOpcode::kAtomicFetchAdd, 8);
  send_all();
  respond(ib::Operation::kAtomicAcknowledge, psn(0), 8);
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kSuccess}));
}

TEST_F(RequesterTest, a_faulty_request_fails_when_all_before_it_are_complete) {
  post(WqeOpcode::kSend, 8);
  EXPECT_FALSE(has(post(WqeOpcode::kSend, 8, 0, WcStatus::kLocalProtectionError), Kind::kEnterError));
  EXPECT_EQ(send_all().size(), 1u);
  EXPECT_THAT(kinds(acknowledge(psn(0))), ElementsAre(Kind::kRecord, Kind::kRelease, Kind::kComplete,
                                                      Kind::kCancelAckTimer, Kind::kComplete, Kind::kEnterError,
                                                      Kind::kActivate));
  EXPECT_THAT(take_completions(),
              ElementsAre(DoneRequest{0, WcStatus::kSuccess}, DoneRequest{1, WcStatus::kLocalProtectionError}));
}

TEST_F(RequesterTest, what_needs_no_packet_is_executed_in_its_turn_and_completes_in_order) {
  post(WqeOpcode::kSend, 8);
  post(WqeOpcode::kLocalInvalidate, 0);
  EXPECT_THAT(local.executed, IsEmpty());
  send_all();
  EXPECT_THAT(local.executed, ElementsAre(1u));
  EXPECT_THAT(completions, IsEmpty());
  post(WqeOpcode::kSend, 8);
  EXPECT_THAT(send_all(), ElementsAre(psn(1)));  // it has taken no PSN
  acknowledge(psn(0));
  EXPECT_THAT(take_completions(), ElementsAre(DoneRequest{0, WcStatus::kSuccess}, DoneRequest{1, WcStatus::kSuccess}));
}

TEST_F(RequesterTest, a_local_request_that_is_refused_fails_the_queue_pair) {
  local.answer = WcStatus::kMwBindError;
  EXPECT_TRUE(has(post(WqeOpcode::kBindMemoryWindow, 0), Kind::kEnterError));
  Actions none;
  tell(none);
}

TEST_F(RequesterTest, in_sqd_what_was_begun_is_finished_and_then_it_is_drained) {
  post(WqeOpcode::kSend, 2 * kTestMtu);
  post(WqeOpcode::kSend, 8);
  Actions actions;
  requester.next_packet(now, actions);
  connection.enter(QpState::kSqd);
  EXPECT_EQ(send_all().size(), 1u);
  EXPECT_FALSE(requester.is_drained());
  EXPECT_TRUE(has(acknowledge(psn(1)), Kind::kCheckDrained));
  EXPECT_TRUE(requester.is_drained());
  EXPECT_FALSE(requester.has_packet());
}

TEST_F(RequesterTest, a_producer_number_that_cannot_be_is_fatal) {
  Actions actions;
  requester.on_doorbell(5000, false, {}, actions);
  EXPECT_THAT(kinds(actions), ElementsAre(Kind::kFailFatally));
}

class UnreliableRequesterTest : public RequesterTest {
 protected:
  UnreliableRequesterTest() : RequesterTest(ib::QpType::kUc) {}
};

TEST_F(UnreliableRequesterTest, a_request_is_complete_when_its_last_packet_has_left) {
  post(WqeOpcode::kSend, 2 * kTestMtu);
  Actions first, second;
  requester.on_transmit(requester.next_packet(now, first), now, first);
  EXPECT_FALSE(has(first, Kind::kComplete));
  requester.on_transmit(requester.next_packet(now, second), now, second);
  EXPECT_TRUE(has(second, Kind::kComplete));
  EXPECT_FALSE(has(second, Kind::kArmAckTimer));
}

TEST_F(UnreliableRequesterTest, an_error_stops_sending_only) {
  EXPECT_TRUE(has(post(WqeOpcode::kSend, 8, 0, WcStatus::kLocalProtectionError), Kind::kEnterSendError));
}

}  // namespace
}  // namespace verbatim::hca
