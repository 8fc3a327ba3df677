// The responder and the answers that it owes, as responder_rig.h drives them.
#include "tests/hca/responder_rig.h"

namespace verbatim::hca {
namespace {

TEST_F(ResponderTest, a_message_of_several_packets_fills_its_receive_and_is_acknowledged_once) {
  post_receive(4096);
  receive({.operation = Operation::kSendFirst, .n = 0, .length = kTestMtu, .asks = false});
  receive({.operation = Operation::kSendMiddle, .n = 1, .length = kTestMtu, .asks = false});
  EXPECT_THAT(completions, IsEmpty());
  receive({.operation = Operation::kSendLast, .n = 2, .length = 8});
  EXPECT_THAT(completions, ElementsAre(DoneReceive{0, WcStatus::kSuccess, 2 * kTestMtu + 8}));
  EXPECT_THAT(answers, ElementsAre(Answer{psn(2), kAck, 1}));
  ASSERT_EQ(placed.size(), 3u);
  EXPECT_EQ(placed[2].offset, 2 * kTestMtu);
  EXPECT_EQ(responder.expected(), kFirst + 3);
}

TEST_F(ResponderTest, a_gap_is_reported_once_until_the_missing_packet_comes) {
  for (int i = 0; i < 3; ++i) post_receive(8);
  receive({.n = 1, .length = 8});
  receive({.n = 2, .length = 8});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::nak_syndrome(NakCode::kPsnSequenceError), 0}));
  EXPECT_THAT(drops, ElementsAre(DropReason::kAfterNak, DropReason::kAfterNak));
  receive({.n = 0, .length = 8});
  answers.clear();
  receive({.n = 2, .length = 8});
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(ResponderTest, a_duplicate_is_acknowledged_with_the_newest_psn_and_not_executed) {
  for (int i = 0; i < 2; ++i) post_receive(8);
  receive({.n = 0, .length = 8});
  receive({.n = 1, .length = 8});
  answers.clear();
  placed.clear();
  receive({.n = 0, .length = 8});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(1), kAck, 2}));
  EXPECT_THAT(placed, IsEmpty());
  EXPECT_EQ(completions.size(), 2u);
}

TEST_F(ResponderTest, without_a_receive_the_peer_is_told_to_wait_and_what_follows_is_no_gap) {
  receive({.n = 0, .length = 8});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::rnr_nak_syndrome(12), 0}));
  receive({.n = 1, .length = 8});
  EXPECT_EQ(answers.size(), 1u);
  EXPECT_THAT(drops, ElementsAre(DropReason::kAfterNak, DropReason::kAfterNak));
  post_receive(8);
  receive({.n = 0, .length = 8});
  EXPECT_THAT(completions, ElementsAre(DoneReceive{0, WcStatus::kSuccess, 8}));
}

TEST_F(ResponderTest, a_packet_that_waits_for_a_receive_has_changed_nothing_and_comes_again) {
  knows_of_none = false;
  const ib::PacketPtr packet = make({.n = 0, .length = 8});
  EXPECT_EQ(receive(*packet), Need::kReceive);
  EXPECT_THAT(kinds, IsEmpty());
  EXPECT_EQ(responder.expected(), kFirst);
  post_receive(8);
  EXPECT_EQ(receive(*packet), Need::kNothing);
  EXPECT_EQ(completions.size(), 1u);
}

TEST_F(ResponderTest, a_packet_that_waits_for_a_translation_keeps_its_receive) {
  post_receive(8);
  lacks_translation = true;
  const ib::PacketPtr packet = make({.n = 0, .length = 8});
  EXPECT_EQ(receive(*packet), Need::kPlacement);
  EXPECT_THAT(kinds, IsEmpty());
  lacks_translation = false;
  EXPECT_EQ(receive(*packet), Need::kNothing);
  EXPECT_THAT(completions, ElementsAre(DoneReceive{0, WcStatus::kSuccess, 8}));
}

TEST_F(ResponderTest, sends_and_writes_wait_for_the_atomics_before_them_and_reads_do_not) {
  connection.attributes.max_dest_rd_atomic = 4;
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  receive({.operation = Operation::kFetchAdd, .n = 1, .atomic = atomic(8)});
  EXPECT_TRUE(did(Kind::kExecuteAtomic));
  const ib::PacketPtr write = make({.operation = Operation::kWriteOnly, .n = 3, .length = 8, .reth = reth(8)});
  EXPECT_EQ(receive({.operation = Operation::kReadRequest, .n = 2, .reth = reth(8)}), Need::kNothing);
  EXPECT_EQ(receive(*write), Need::kAtomics);
  atomic_done(0, 5);
  EXPECT_EQ(receive(*write), Need::kAtomics);
  atomic_done(1, 6);
  EXPECT_EQ(receive(*write), Need::kNothing);
  EXPECT_THAT(send_all(), ElementsAre(std::pair(Operation::kAtomicAcknowledge, psn(0)),
                                      std::pair(Operation::kAtomicAcknowledge, psn(1)),
                                      std::pair(Operation::kReadResponseOnly, psn(2)),
                                      std::pair(Operation::kAcknowledge, psn(3))));
}

TEST_F(ResponderTest, answers_keep_the_order_of_the_requests_and_acknowledgements_merge) {
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(2 * kTestMtu)});
  receive({.operation = Operation::kWriteOnly, .n = 2, .length = 8, .reth = reth(8)});
  receive({.operation = Operation::kWriteOnly, .n = 3, .length = 8, .reth = reth(8)});
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_THAT(send_all(), ElementsAre(std::pair(Operation::kReadResponseFirst, psn(0)),
                                      std::pair(Operation::kReadResponseLast, psn(1)),
                                      std::pair(Operation::kAcknowledge, psn(3))));
  receive({.operation = Operation::kWriteOnly, .n = 4, .length = 8, .reth = reth(8)});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(4), kAck, 4}));  // nothing is owed any more
}

TEST_F(ResponderTest, more_reads_than_it_has_resources_for_are_an_invalid_request) {
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(8)});
  receive({.operation = Operation::kReadRequest, .n = 1, .reth = reth(8)});
  receive({.operation = Operation::kReadRequest, .n = 2, .reth = reth(8)});
  EXPECT_THAT(events, ElementsAre(ib::AsyncEventType::kQpRequestError));
  EXPECT_TRUE(did(Kind::kEnterError));
  responses.abandon();  // as on an error; responses due before the refusal are still sent
  EXPECT_EQ(send_all().size(), 3u);
  EXPECT_EQ(last_syndrome, ib::nak_syndrome(NakCode::kInvalidRequest));
}

TEST_F(ResponderTest, a_read_that_is_asked_for_again_is_answered_from_there_and_takes_no_resource) {
  connection.attributes.max_dest_rd_atomic = 1;
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(3 * kTestMtu)});
  EXPECT_EQ(send_all().size(), 3u);
  receive({.operation = Operation::kReadRequest, .n = 1, .reth = reth(2 * kTestMtu, kTestMtu)});
  EXPECT_EQ(responses.resources_in_use(), 0u);
  EXPECT_THAT(send_all(), ElementsAre(std::pair(Operation::kReadResponseFirst, psn(1)),
                                      std::pair(Operation::kReadResponseLast, psn(2))));
}

TEST_F(ResponderTest, a_duplicate_read_beyond_what_was_executed_is_dropped) {
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(kTestMtu)});
  send_all();
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(2 * kTestMtu)});
  EXPECT_THAT(drops, ElementsAre(DropReason::kUnknownDuplicate));
  EXPECT_FALSE(responses.has_packet());
}

TEST_F(ResponderTest, a_duplicate_read_lies_within_one_that_was_executed_or_is_dropped_and_changes_nothing) {
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(2 * kTestMtu)});
  receive({.operation = Operation::kWriteOnly, .n = 2, .length = 8, .reth = reth(8)});
  const Sent wrong[] = {
      {.operation = Operation::kReadRequest, .n = 1, .reth = reth(2 * kTestMtu, kTestMtu)},      // into the WRITE
      {.operation = Operation::kReadRequest, .n = 2, .reth = reth(8)},                           // the WRITE
      {.operation = Operation::kReadRequest, .n = 1, .reth = reth(kTestMtu, 2 * kTestMtu)},      // other bytes
      {.operation = Operation::kReadRequest, .n = 0, .reth = reth(2 * kTestMtu, 0, kKey + 1)},   // another key
      {.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()},
  };
  for (const Sent& sent : wrong) receive(sent);
  EXPECT_EQ(drops, std::vector(std::size(wrong), DropReason::kUnknownDuplicate));
  EXPECT_FALSE(did(Kind::kEnterError));
  EXPECT_THAT(send_all(), ElementsAre(std::pair(Operation::kReadResponseFirst, psn(0)),
                                      std::pair(Operation::kReadResponseLast, psn(1)),
                                      std::pair(Operation::kAcknowledge, psn(2))));
}

TEST_F(ResponderTest, a_duplicate_read_takes_the_place_of_its_owed_response_and_what_is_owed_behind_stays) {
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(3 * kTestMtu)});
  receive({.operation = Operation::kWriteOnly, .n = 3, .length = 8, .reth = reth(8)});
  receive({.operation = Operation::kReadRequest, .n = 4, .reth = reth(8)});
  receive({.n = 6, .length = 8});  // a gap: reported behind them
  Actions more;
  responses.on_transmit(responses.next_packet(now, more));
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(3 * kTestMtu)});
  EXPECT_EQ(responses.resources_in_use(), 2u);
  EXPECT_THAT(send_all(), ElementsAre(std::pair(Operation::kReadResponseFirst, psn(0)),
                                      std::pair(Operation::kReadResponseMiddle, psn(1)),
                                      std::pair(Operation::kReadResponseLast, psn(2)),
                                      std::pair(Operation::kAcknowledge, psn(3)),
                                      std::pair(Operation::kReadResponseOnly, psn(4)),
                                      std::pair(Operation::kAcknowledge, psn(5))));
  EXPECT_EQ(last_syndrome, ib::nak_syndrome(NakCode::kPsnSequenceError));
  EXPECT_EQ(responses.resources_in_use(), 0u);
}

TEST_F(ResponderTest, a_duplicate_read_is_checked_for_rights_again) {
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(8)});
  send_all();
  surroundings.rights = 0;
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(8)});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::nak_syndrome(NakCode::kRemoteAccessError), 1}));
  EXPECT_TRUE(did(Kind::kEnterError));
}

TEST_F(ResponderTest, as_many_reads_and_atomics_are_remembered_as_there_are_resources) {
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  atomic_done(0, 41);
  for (std::uint32_t n = 1; n <= 2; ++n) {
    send_all();
    receive({.operation = Operation::kReadRequest, .n = n, .reth = reth(8)});
  }
  send_all();
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  EXPECT_THAT(drops, ElementsAre(DropReason::kUnknownDuplicate));
  EXPECT_FALSE(responses.has_packet());
  receive({.operation = Operation::kReadRequest, .n = 1, .reth = reth(8)});
  EXPECT_THAT(send_all(), ElementsAre(std::pair(Operation::kReadResponseOnly, psn(1))));
}

// PSNs repeat after 2^24 packets.
TEST_F(ResponderTest, an_atomic_that_comes_again_is_looked_for_newest_first) {
  connection.attributes.max_dest_rd_atomic = 4;
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  atomic_done(0, 41);
  send_all();
  responder.start(kFirst);  // as after a whole cycle of PSNs
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  atomic_done(0, 42);
  send_all();
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  Actions more;
  EXPECT_EQ(responses.next_packet(now, more).packet->atomic_ack, 42u);
}

TEST_F(ResponderTest, an_atomic_that_comes_again_before_its_answer_is_answered_once_and_in_order) {
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  const ib::PacketPtr again = make({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  receive({.operation = Operation::kReadRequest, .n = 1, .reth = reth(8)});
  receive(*again);
  atomic_done(0, 41);
  EXPECT_THAT(send_all(), ElementsAre(std::pair(Operation::kAtomicAcknowledge, psn(0)),
                                      std::pair(Operation::kReadResponseOnly, psn(1))));
}

TEST_F(ResponderTest, an_atomic_that_comes_again_gets_the_saved_result_and_is_not_executed_again) {
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  atomic_done(0, 41);
  send_all();
  kinds.clear();
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic()});
  EXPECT_FALSE(did(Kind::kExecuteAtomic));
  Actions more;
  const Outgoing again = responses.next_packet(now, more);
  EXPECT_EQ(again.packet->atomic_ack, 41u);
  EXPECT_EQ(again.packet->bth.psn, kFirst);
}

TEST_F(ResponderTest, memory_that_is_gone_is_refused_in_the_middle_of_a_read) {
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(2 * kTestMtu)});
  Actions more;
  responses.on_transmit(responses.next_packet(now, more));
  surroundings.rights = 0;
  EXPECT_THAT(send_all(), ElementsAre(std::pair(Operation::kAcknowledge, psn(1))));
  EXPECT_EQ(last_syndrome, ib::nak_syndrome(NakCode::kRemoteAccessError));
  EXPECT_THAT(events, ElementsAre(ib::AsyncEventType::kQpAccessError));
  EXPECT_TRUE(did(Kind::kEnterError));
}

// Each request has every later fault, too: the one that the specification puts first is answered.
TEST_F(ResponderTest, errors_have_the_precedence_of_the_specification) {
  const auto answer_of = [&](const Sent& sent) {
    answers.clear();
    responses.reset();
    responder.reset();
    responder.start(kFirst);
    receive(sent);
    return answers.empty() ? std::uint8_t{0xff} : answers.back().syndrome;
  };
  Sent bad{.operation = Operation::kWriteMiddle, .n = 1, .length = 8, .reth = reth(8, 0, 99)};
  connection.attributes.qp_access_flags = 0;
  EXPECT_EQ(answer_of(bad), ib::nak_syndrome(NakCode::kPsnSequenceError));
  bad.n = 0;
  EXPECT_EQ(answer_of(bad), ib::nak_syndrome(NakCode::kInvalidRequest));  // MIDDLE without FIRST
  bad.operation = Operation::kWriteFirst;
  EXPECT_EQ(answer_of(bad), ib::nak_syndrome(NakCode::kRemoteAccessError));  // no right
  connection.attributes.qp_access_flags = ib::kRemoteRights;
  EXPECT_EQ(answer_of(bad), ib::nak_syndrome(NakCode::kInvalidRequest));  // FIRST shorter than the path MTU
  bad.operation = Operation::kWriteOnly;
  EXPECT_EQ(surroundings.checks, 0);
  EXPECT_EQ(answer_of(bad), ib::nak_syndrome(NakCode::kRemoteAccessError));  // key
  bad.reth = reth(8);
  EXPECT_EQ(answer_of(bad), kAck);
}

TEST_F(ResponderTest, a_write_is_as_long_as_it_announced) {
  receive({.operation = Operation::kWriteFirst, .n = 0, .length = kTestMtu, .asks = false, .reth = reth(kTestMtu + 8)});
  receive({.operation = Operation::kWriteLast, .n = 1, .length = 16});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(1), ib::nak_syndrome(NakCode::kInvalidRequest), 0}));
}

TEST_F(ResponderTest, an_atomic_on_an_unaligned_address_is_an_invalid_request) {
  receive({.operation = Operation::kFetchAdd, .n = 0, .atomic = atomic(4)});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::nak_syndrome(NakCode::kInvalidRequest), 0}));
}

TEST_F(ResponderTest, a_message_longer_than_its_receive_fails_both_sides) {
  post_receive(4);
  receive({.n = 0, .length = 8});
  EXPECT_THAT(completions, ElementsAre(DoneReceive{0, WcStatus::kLocalLengthError, 0}));
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::nak_syndrome(NakCode::kInvalidRequest), 0}));
  EXPECT_TRUE(did(Kind::kEnterError));
}

TEST_F(ResponderTest, a_receive_whose_keys_do_not_allow_it_fails_both_sides) {
  post_receive(8);
  may_place = false;
  receive({.n = 0, .length = 8});
  EXPECT_THAT(completions, ElementsAre(DoneReceive{0, WcStatus::kLocalProtectionError, 0}));
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::nak_syndrome(NakCode::kRemoteOperationalError), 0}));
}

TEST_F(ResponderTest, a_malformed_receive_fails_both_sides) {
  post_receive(8, true);
  receive({.n = 0, .length = 8});
  EXPECT_THAT(completions, ElementsAre(DoneReceive{0, WcStatus::kLocalQpOperationError, 0}));
}

TEST_F(ResponderTest, a_failed_queue_of_receives_is_an_error_of_this_side) {
  queue_has_failed = true;
  receive({.n = 0, .length = 8});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::nak_syndrome(NakCode::kRemoteOperationalError), 0}));
  EXPECT_TRUE(did(Kind::kFailFatally));
}

TEST_F(ResponderTest, the_receive_of_a_message_under_way_is_given_back_to_be_flushed) {
  post_receive(4096);
  receive({.operation = Operation::kSendFirst, .n = 0, .length = kTestMtu});
  const std::optional<RecvWork> current = responder.abandon();
  ASSERT_TRUE(current);
  EXPECT_EQ(current->wr_id, 0u);
  EXPECT_FALSE(responder.abandon());
}

TEST_F(ResponderTest, the_first_request_establishes_the_connection_once) {
  connection.enter(QpState::kRtr);
  for (int i = 0; i < 2; ++i) post_receive(8);
  receive({.n = 0, .length = 8});
  receive({.n = 1, .length = 8});
  EXPECT_THAT(events, ElementsAre(ib::AsyncEventType::kCommunicationEstablished));
}

TEST_F(ResponderTest, credits_tell_of_the_receives_that_no_message_has_taken) {
  profile.end_to_end_credits = true;
  surroundings.unused = 3;
  post_receive(8);
  receive({.n = 0, .length = 8});
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::ack_syndrome(ib::credit_code(3)), 1}));
}

// IBA 9.7.7.2.5: a peer that was told that there are no receives gets one unsolicited acknowledgement when
// there are.
TEST_F(ResponderTest, receives_after_the_last_are_told_of_once) {
  profile.end_to_end_credits = true;
  const auto on_receives = [&] {
    Actions more;
    responder.on_receives(more);
    tell(more);
  };
  surroundings.unused = 1;
  post_receive(8);
  receive({.n = 0, .length = 8});
  EXPECT_FALSE(did(Kind::kWatchReceives));
  on_receives();
  EXPECT_EQ(answers.size(), 1u) << "it knows of one";
  surroundings.unused = 0;
  post_receive(8);
  receive({.n = 1, .length = 8});
  EXPECT_TRUE(did(Kind::kWatchReceives));
  kinds.clear();
  receive({.operation = Operation::kWriteOnly, .n = 2, .length = 8, .reth = reth(8)});
  EXPECT_FALSE(did(Kind::kWatchReceives)) << "it is watched already";
  surroundings.unused = 5;
  on_receives();
  on_receives();
  EXPECT_THAT(answers, ElementsAre(Answer{psn(0), ib::ack_syndrome(1), 1}, Answer{psn(1), ib::ack_syndrome(0), 2},
                                   Answer{psn(2), ib::ack_syndrome(0), 3}, Answer{psn(2), ib::ack_syndrome(4), 3}));
}

TEST_F(ResponderTest, receives_are_not_told_of_before_responses_that_are_owed_nor_in_error) {
  profile.end_to_end_credits = true;
  receive({.operation = Operation::kReadRequest, .n = 0, .reth = reth(8)});
  surroundings.unused = 5;
  Actions more;
  responder.on_receives(more);
  tell(more);
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_THAT(send_all(),
              ElementsAre(std::pair{Operation::kReadResponseOnly, psn(0)}, std::pair{Operation::kAcknowledge, psn(0)}));
  surroundings.unused = 0;
  receive({.operation = Operation::kWriteOnly, .n = 1, .length = 8, .reth = reth(8)});
  connection.enter(QpState::kErr);
  surroundings.unused = 5;
  responder.on_receives(more);
  tell(more);
  EXPECT_EQ(answers.size(), 1u);
}

class UnreliableResponderTest : public ResponderTest {
 protected:
  UnreliableResponderTest() : ResponderTest(ib::QpType::kUc) {}
};

TEST_F(UnreliableResponderTest, after_a_gap_the_rest_of_the_message_is_lost_and_its_receive_serves_the_next) {
  post_receive(4096);
  receive({.operation = Operation::kSendFirst, .n = 0, .length = kTestMtu, .asks = false});
  receive({.operation = Operation::kSendLast, .n = 2, .length = 8, .asks = false});
  EXPECT_THAT(completions, IsEmpty());
  receive({.operation = Operation::kSendOnly, .n = 3, .length = 8, .asks = false});
  EXPECT_THAT(completions, ElementsAre(DoneReceive{0, WcStatus::kSuccess, 8}));
  EXPECT_THAT(answers, IsEmpty());
}

TEST_F(UnreliableResponderTest, what_is_wrong_with_a_message_is_nobodys_error) {
  receive({.operation = Operation::kWriteOnly, .n = 0, .length = 8, .reth = reth(8, 0, 99)});
  receive({.operation = Operation::kSendOnly, .n = 1, .length = 8});
  EXPECT_THAT(drops, ElementsAre(DropReason::kRefused, DropReason::kNoReceive));
  EXPECT_FALSE(did(Kind::kEnterError));
}

TEST_F(UnreliableResponderTest, a_message_that_asks_for_an_acknowledgement_gets_none) {
  receive({.operation = Operation::kWriteOnly, .n = 0, .length = 8, .asks = true, .reth = reth(8)});
  EXPECT_EQ(placed.size(), 1u);
  EXPECT_THAT(answers, IsEmpty());
}

class DatagramResponderTest : public ResponderTest {
 protected:
  DatagramResponderTest() : ResponderTest(ib::QpType::kUd) {}
};

TEST_F(DatagramResponderTest, the_payload_lies_behind_the_place_of_the_grh) {
  post_receive(ib::kGrhBytes + 8);
  receive({.n = 5, .length = 8});
  ASSERT_EQ(placed.size(), 1u);
  EXPECT_EQ(placed[0].offset, ib::kGrhBytes);
  EXPECT_EQ(placed[0].length, 8u);
  EXPECT_THAT(completions, ElementsAre(DoneReceive{0, WcStatus::kSuccess, ib::kGrhBytes + 8}));
}

TEST_F(DatagramResponderTest, a_wrong_qkey_is_counted_and_dropped) {
  const ib::PacketPtr packet = make({.n = 0, .length = 8});
  packet->deth.qkey = 0x12;
  receive(*packet);
  EXPECT_THAT(kinds, ElementsAre(Kind::kCountQkeyViolation, Kind::kDrop));
}

}  // namespace
}  // namespace verbatim::hca
