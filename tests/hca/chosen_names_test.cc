// Choices of an adapter about what it tells programs: fields that a failed completion leaves undefined, numbers and keys; and
// that nothing is chosen where it makes no difference.
#include <gtest/gtest.h>

#include "tests/hca/driver.h"
#include "tests/hca/scripted_choices.h"

namespace verbatim::test {
namespace {

PairOptions options_with(Choices& choices) {
  PairOptions options;
  options.world.choices = &choices;
  return options;
}

protocol::Cqe refused_write(Choices& choices) {
  Pair pair(options_with(choices));
  SendRequest request{.wr_id = 7, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, 64)}};
  request.remote_va = Program::kBuffer;
  request.rkey = 0;
  pair.a.program.post_send(pair.a.qp, request);
  pair.world.run();
  const auto entries = pair.a.program.drain(pair.a.send_cq);
  EXPECT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries.at(0).wr_id, 7u);
  EXPECT_EQ(entries.at(0).qpn, pair.a.qp.made.number);
  EXPECT_EQ(entries.at(0).status, static_cast<std::uint8_t>(ib::WcStatus::kRemoteAccessError));
  return entries.at(0);
}

// ibv_poll_cq(3): if status is other than IBV_WC_SUCCESS, only wr_id, status, qp_num and vendor_err are valid.
TEST(ChosenNames, fields_that_a_failure_leaves_undefined_may_hold_anything) {
  DefaultChoices defaults;
  const protocol::Cqe usual = refused_write(defaults);
  EXPECT_EQ(usual.opcode, static_cast<std::uint8_t>(ib::WcOpcode::kRdmaWrite));
  ScriptedChoices choices;
  choices.answers = {{"failed-completion-fields", 1}, {"failed-completion-fields/opcode", 4}, {"failed-completion-fields/value", 99}};
  const protocol::Cqe odd = refused_write(choices);
  EXPECT_EQ(odd.opcode, static_cast<std::uint8_t>(ib::WcOpcode::kReceive));
  EXPECT_EQ(odd.byte_length, 99u);
  EXPECT_EQ(odd.vendor_error, usual.vendor_error);
  EXPECT_EQ(odd.wqe_counter, usual.wqe_counter);
  EXPECT_EQ(odd.queue, usual.queue);
}

std::uint32_t number_after_destroying(std::uint32_t choice, std::uint32_t* before) {
  ScriptedChoices choices;
  Pair pair(options_with(choices));
  *before = pair.a.qp.made.number;
  EXPECT_EQ(pair.a.program.destroy(protocol::CommandType::kDestroyQp, pair.a.qp.made.handle), 0);
  choices.answers["queue-pair-number"] = choice;
  return pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq).made.number;
}

TEST(ChosenNames, a_number_is_the_next_or_one_that_was_given_back_or_behind_a_gap) {
  std::uint32_t before = 0;
  EXPECT_EQ(number_after_destroying(0, &before), before + 1);
  EXPECT_EQ(number_after_destroying(1, &before), before);
  EXPECT_GT(number_after_destroying(2, &before), before + 1);
}

std::uint32_t key_after_deregistering(std::uint32_t choice, std::uint32_t* before) {
  ScriptedChoices choices;
  Pair pair(options_with(choices));
  *before = pair.a.mr.lkey;
  EXPECT_EQ(pair.a.program.destroy(protocol::CommandType::kDeregMr, pair.a.mr.handle), 0);
  choices.answers["memory-key"] = choice;
  return pair.a.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite).lkey;
}

TEST(ChosenNames, a_key_is_another_of_the_same_index_or_the_same_again_or_of_a_new_index) {
  std::uint32_t before = 0;
  EXPECT_EQ(key_after_deregistering(0, &before), before + 1);
  EXPECT_EQ(key_after_deregistering(1, &before), before);
  EXPECT_EQ(key_after_deregistering(2, &before) >> 8, (before >> 8) + 1);
}

TEST(ChosenNames, a_timeout_is_chosen_when_the_time_has_come_and_not_before) {
  for (const bool lost : {false, true}) {
    ScriptedChoices choices;
    PairOptions options = options_with(choices);
    options.path.timeout = 10;
    Pair pair(options);
    if (lost) pair.world.to_server.keep = [](ib::Packet&) { return false; };
    for (std::uint64_t i = 0; i < 20; ++i) pair.a.program.post_send(pair.a.qp, {.wr_id = i, .sges = {pair.a.sge(0, 8)}});
    for (std::uint64_t i = 0; i < 20; ++i) pair.b.program.post_recv(pair.b.qp, i, {pair.b.sge(0, 8)});
    pair.world.run();
    EXPECT_EQ(choices.asked["ack-timeout"], lost ? 8 : 0);
  }
}

}  // namespace
}  // namespace verbatim::test
