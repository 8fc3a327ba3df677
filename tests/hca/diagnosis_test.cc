// Diagnoses of refused commands and failed requests: each common mistake, with the details that a user needs.
#include <gtest/gtest.h>

#include "sim/ib/addressee.h"
#include "sim/ib/drop_reason.h"
#include "sim/observe/diagnosis_log.h"
#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;

std::string all_of(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

// Expects a diagnosis that contains all of the words.
void expect_reported(const World& world, const std::vector<std::string>& words) {
  for (const std::string& text : world.diagnoses.texts) {
    if (std::all_of(words.begin(), words.end(), [&](const std::string& word) { return text.find(word) != text.npos; })) return;
  }
  ADD_FAILURE() << "not told: " << testing::PrintToString(words) << "\n" << all_of(world.diagnoses.texts);
}

// Posts `request` from a to b and expects its completion status.
void expect_failure(Pair& pair, const SendRequest& request, WcStatus status) {
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  const auto sent = pair.a.program.drain(pair.a.send_cq);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, code(status));
}

TEST(Diagnosis, says_nothing_when_nothing_is_wrong) {
  Pair pair;
  expect_failure(pair, write_to(pair, 0, 4096), WcStatus::kSuccess);
  EXPECT_EQ(pair.world.diagnoses.count, 0u) << all_of(pair.world.diagnoses.texts);
}

TEST(Diagnosis, of_a_modify_names_the_attributes_and_the_row_of_the_table) {
  Pair pair;
  const Qp& qp = pair.a.qp;
  ASSERT_EQ(pair.a.program.to_state(qp, QpState::kReset), 0);
  ASSERT_EQ(pair.a.program.to_init(qp, {}), 0);
  protocol::QpAttributes attributes{};
  attributes.qp_state = static_cast<std::uint32_t>(QpState::kRtr);
  attributes.path_mtu = 3;
  attributes.path.dlid = 2;
  attributes.path.port = 1;
  const std::uint32_t mask = ib::kQpState | ib::kQpAv | ib::kQpPathMtu | ib::kQpDestQpn | ib::kQpRqPsn;
  EXPECT_EQ(pair.a.program.modify(qp, mask | ib::kQpSqPsn, attributes), EINVAL);
  expect_reported(pair.world, {"ibv_modify_qp: EINVAL: INIT to RTR", "lacks IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC",
                           "has IBV_QP_SQ_PSN, which cannot be changed here", "the change needs IBV_QP_AV | IBV_QP_PATH_MTU"});
  attributes.path_mtu = 9;
  EXPECT_EQ(pair.a.program.modify(qp, mask | ib::kQpMinRnrTimer | ib::kQpMaxDestRdAtomic, attributes), EINVAL);
  expect_reported(pair.world, {"path_mtu 9 is not an ibv_mtu"});
  attributes.qp_state = static_cast<std::uint32_t>(QpState::kRts);
  EXPECT_EQ(pair.a.program.modify(qp, ib::kQpState, attributes), EINVAL);
  expect_reported(pair.world, {"a queue pair cannot change from INIT to RTS"});
}

TEST(Diagnosis, of_a_path_mtu_above_the_ports_tells_both) {
  PairOptions options;
  options.world.profile.max_mtu = 3;
  options.path.mtu = 3;
  Pair pair(options);
  ASSERT_EQ(pair.a.program.to_state(pair.a.qp, QpState::kReset), 0);
  ASSERT_EQ(pair.a.program.to_init(pair.a.qp, {}), 0);
  PathOptions path;
  path.mtu = 5;
  EXPECT_EQ(pair.a.program.to_rtr(pair.a.qp, 2, pair.b.qp.made.number, path), EINVAL);
  expect_reported(pair.world, {"path_mtu (an ibv_mtu) 5 is more than 3"});
}

TEST(Diagnosis, of_a_gid_index_of_another_type_tells_both_gids) {
  PairOptions options;
  options.world.roce = true;
  options.path.is_global = true;
  Pair pair(options);
  protocol::CreateAh create{};
  create.pd = pair.a.program.pd;
  create.address.port = create.address.is_global = 1;
  create.address.dgid[10] = create.address.dgid[11] = 0xff;
  create.address.dgid[12] = 10;
  create.address.dgid[15] = 2;
  EXPECT_EQ(pair.a.program.command(create), EINVAL);
  expect_reported(pair.world, {"sgid_index 0 is ", "dgid is ", "one is of IPv4, the other of IPv6"});
}

TEST(Diagnosis, of_a_range_says_by_how_many_bytes_it_misses_which_memory) {
  Pair pair;
  expect_failure(pair, write_to(pair, (1 << 20) - 4, 12), WcStatus::kRemoteAccessError);
  expect_reported(pair.world, {"refuses RDMA Write Only", "the range ends 8 bytes after its end"});
  expect_reported(pair.world, {"wr_id 4 completes with remote access error", "LID 2, QP"});
}

TEST(Diagnosis, of_an_unknown_rkey_tells_whether_its_bytes_are_swapped_or_it_is_stale) {
  for (const bool is_swapped : {true, false}) {
    Pair pair;
    SendRequest request = write_to(pair, 0, 8);
    if (is_swapped) request.rkey = __builtin_bswap32(request.rkey);
    else ASSERT_EQ(pair.b.program.destroy(protocol::CommandType::kDeregMr, pair.b.mr.handle), 0);
    expect_failure(pair, request, WcStatus::kRemoteAccessError);
    expect_reported(pair.world, {is_swapped ? "the same bytes in reverse order" : "it has been deregistered"});
  }
}

TEST(Diagnosis, of_a_missing_right_tells_whose_it_is) {
  PairOptions options;
  options.path.access = ib::kRemoteRead;
  Pair pair(options);
  expect_failure(pair, write_to(pair, 0, 8), WcStatus::kRemoteAccessError);
  expect_reported(pair.world, {"qp_access_flags 0x4 lack IBV_ACCESS_REMOTE_WRITE"});
}

TEST(Diagnosis, of_a_local_key_names_it_when_the_request_is_posted) {
  Pair pair;
  SendRequest request = write_to(pair, 0, 8);
  request.sges[0].va += 1 << 20;
  expect_failure(pair, request, WcStatus::kLocalProtectionError);
  expect_reported(pair.world, {"work request with wr_id 4: the bytes", "are not within the memory with lkey", "begins 0 bytes after its end"});
}

TEST(Diagnosis, of_a_region_without_bytes_says_so) {
  Pair pair;
  const auto empty = pair.b.program.reg_mr(Program::kBuffer + 8, 0, ib::kLocalWrite | ib::kRemoteWrite);
  SendRequest request = write_to(pair, 8, 8);
  request.rkey = empty.rkey;
  expect_failure(pair, request, WcStatus::kRemoteAccessError);
  expect_reported(pair.world, {"are not within the memory with rkey", "because it was registered with a length of 0 bytes"});
}

TEST(Diagnosis, of_a_message_too_long_for_its_receive_has_both_lengths) {
  Pair pair;
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
  expect_failure(pair, {.wr_id = 5, .sges = {pair.a.sge(0, 101)}}, WcStatus::kRemoteInvalidRequestError);
  expect_reported(pair.world, {"refuses Send Only", "the message has 101 bytes, and the receive for it has 100"});
}

TEST(Diagnosis, of_no_receive_is_told_on_both_sides) {
  PairOptions options;
  options.path.rnr_retry = 0;
  Pair pair(options);
  pair.a.program.post_send(pair.a.qp, {.wr_id = 5, .sges = {pair.a.sge(0, 8)}});
  pair.world.run_for(Duration{50'000'000});
  expect_reported(pair.world, {"no receive is posted for Send Only", "RNR NAK"});
  expect_reported(pair.world, {"wr_id 5 completes with RNR retry counter exceeded", "rnr_retry = 0"});
}

TEST(Diagnosis, of_a_receive_that_the_message_came_back_for_says_when_it_was_posted) {
  Pair pair;
  pair.a.program.post_send(pair.a.qp, {.wr_id = 5, .sges = {pair.a.sge(0, 8)}});
  pair.world.run_for(Duration{50'000'000});
  pair.b.program.post_recv(pair.b.qp, 77, {pair.b.sge(0, 8)});
  pair.world.run();
  ASSERT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
  expect_reported(pair.world, {"the receive with wr_id 77 was posted 4", " us after the message for it had arrived"});
}

TEST(Diagnosis, of_a_receive_that_was_posted_while_the_adapter_looked_says_so) {
  int met = 0;
  for (int step = 0; step < 100; ++step) {
    Pair pair;
    pair.a.program.post_send(pair.a.qp, {.wr_id = 5, .sges = {pair.a.sge(0, 8)}});
    pair.world.run_for(Duration{50'000} * step);
    pair.b.program.post_recv(pair.b.qp, 77, {pair.b.sge(0, 8)});
    pair.world.run();
    ASSERT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
    for (const std::string& text : pair.world.diagnoses.texts) {
      EXPECT_EQ(text.find("was posted 18"), text.npos) << text;
      met += text.find("wr_id 77 was posted while a message arrived") != text.npos ? 1 : 0;
    }
  }
  EXPECT_GT(met, 0);
}

TEST(Diagnosis, of_no_answer_tells_who_dropped_the_packets_and_why) {
  PairOptions options;
  options.path.timeout = 1;
  options.path.retry_cnt = 2;
  Pair pair(options);
  observe::DiagnosisLog log(pair.world.components);
  pair.world.tracer.add(static_cast<DiagnosisObserver&>(log));
  pair.world.tracer.add(static_cast<ib::DropObserver&>(log));
  ASSERT_EQ(pair.b.program.to_state(pair.b.qp, QpState::kReset), 0);
  ASSERT_EQ(pair.b.program.to_init(pair.b.qp, {}), 0);
  expect_failure(pair, write_to(pair, 0, 8), WcStatus::kRetryExceeded);
  expect_reported(pair.world, {"drops RDMA Write Only: it is in INIT, and a queue pair receives requests from RTR on"});
  ASSERT_FALSE(log.entries().empty());
  const std::string& last = log.entries().back().text;
  EXPECT_NE(last.find("no answer from LID 2"), last.npos) << last;
  EXPECT_NE(last.find("server/hca dropped 3 packets to it"), last.npos) << last;
  EXPECT_NE(last.find("does not receive in its state"), last.npos) << last;
}

// Drops of another component, or for another reason, are no part of the sentence about the last one.
TEST(DiagnosisLog, counts_drops_by_component_and_reason) {
  World world;
  observe::DiagnosisLog log(world.components);
  ib::Packet packet;
  packet.lrh.destination = ib::Lid{2};
  packet.bth.destination = ib::Qpn{80};
  const auto drop = [&](std::uint32_t component, ib::DropReason reason) {
    log.on_drop(packet, static_cast<std::uint64_t>(reason), ComponentId{component}, Instant{});
  };
  for (int i = 0; i < 3; ++i) drop(0, ib::DropReason::kLinkDown);
  for (int i = 0; i < 5; ++i) drop(1, ib::DropReason::kAfterNak);
  drop(0, ib::DropReason::kLinkDown);
  const std::string text = log.dropped_to(ib::addressee(packet));
  EXPECT_NE(text.find(world.components.name(ComponentId{0}) + " dropped 4 packets to it"), text.npos) << text;
}

TEST(DiagnosisLog, counts_what_is_said_again_and_keeps_its_first_time) {
  World world;
  observe::DiagnosisLog log(world.components);
  const ComponentId adapter = world.components.id("client/hca");
  for (const std::int64_t at : {5, 6, 7}) log.on_diagnosis({adapter, 1000, EINVAL, "the same"}, Instant{Duration{at}});
  log.on_diagnosis({adapter, 1001, EINVAL, "the same"}, Instant{Duration{8}});
  ASSERT_EQ(log.entries().size(), 2u);
  EXPECT_EQ(log.entries()[0].times, 3u);
  EXPECT_EQ(log.entries()[0].time_ps, 5);
  EXPECT_EQ(log.count(), 4u);
}

}  // namespace
}  // namespace verbatim::test
