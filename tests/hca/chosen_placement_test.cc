// Bytes that are held back while messages of other queue pairs pass them, and what does not pass.
#include <gtest/gtest.h>

#include "tests/hca/many_pairs.h"
#include "tests/hca/scripted_choices.h"

namespace verbatim::test {
namespace {

constexpr std::uint32_t kLength = 64, kLongest = 1'000'000;

// The first packet that is placed is held back for as long as may be.
struct HeldWrite {
  explicit HeldWrite(bool late_answer = true) {
    choices.answers["placement"] = 1;
    choices.answers_once["placement/hold"] = 1;
    choices.answers["placement/delay"] = kLongest;
    if (late_answer) choices.answers["ack-delay"] = kLongest;
    PairOptions options;
    options.world.choices = &choices;
    pairs.emplace(options, 2);
    for (std::uint32_t i = 0; i < 2; ++i) pairs->a.fill(i * ManyPairs::kArea, kLength, kSeed);
  }
  void post(std::uint32_t qp, const SendRequest& request) { pairs->a.program.post_send(pairs->of_a[qp], request); }
  bool is_there(std::uint32_t area) { return pairs->b.equals(area * ManyPairs::kArea, kLength, kSeed); }

  static constexpr std::uint8_t kSeed = 0x31;
  ScriptedChoices choices;
  std::optional<ManyPairs> pairs;
};

TEST(ChosenPlacement, bytes_of_another_queue_pair_pass_those_that_are_held_back) {
  HeldWrite run;
  run.post(0, run.pairs->write(0, kLength));
  run.post(1, run.pairs->write(1, kLength));
  bool passed = false;
  while (run.pairs->world.engine.step()) {
    passed = passed || (run.is_there(1) && !run.is_there(0));
    // Rule 8 and what an acknowledgement says: whoever has the completion finds the bytes.
    while (const auto entry = run.pairs->a.program.poll(run.pairs->a.send_cq)) {
      EXPECT_TRUE(run.is_there(static_cast<std::uint32_t>(entry->wr_id)));
    }
  }
  EXPECT_TRUE(passed);
  EXPECT_TRUE(run.is_there(0));
}

TEST(ChosenPlacement, the_next_message_of_the_queue_pair_does_not_pass) {
  HeldWrite run;
  run.post(0, run.pairs->write(0, kLength));
  run.post(0, run.pairs->write(1, kLength));
  while (run.pairs->world.engine.step()) EXPECT_TRUE(!run.is_there(1) || run.is_there(0));
  EXPECT_TRUE(run.is_there(1));
}

// Rule 1: read after write of the same bytes, and write after write, whoever does it.
TEST(ChosenPlacement, a_read_of_another_queue_pair_finds_bytes_that_are_held_back) {
  HeldWrite run;
  run.post(0, run.pairs->write(0, kLength));
  SendRequest read = run.pairs->request(0, WqeOpcode::kRdmaRead, kLength);
  read.sges = {run.pairs->a.sge(5 * ManyPairs::kArea, kLength)};
  run.post(1, read);
  run.pairs->world.run();
  EXPECT_TRUE(run.pairs->a.equals(5 * ManyPairs::kArea, kLength, HeldWrite::kSeed));
}

TEST(ChosenPlacement, a_later_write_of_another_queue_pair_stays_on_top) {
  HeldWrite run;
  run.post(0, run.pairs->write(0, kLength));
  run.pairs->a.fill(ManyPairs::kArea, kLength, 0x77);
  SendRequest over = run.pairs->write(1, kLength);
  over.remote_va = Program::kBuffer;
  run.post(1, over);
  run.pairs->world.run();
  EXPECT_TRUE(run.pairs->b.equals(0, kLength, 0x77));
}

// A command of the program itself ends the wait; one of another program does not.
TEST(ChosenPlacement, commands_of_the_program_release_its_own_memory_alone) {
  for (const bool own : {true, false}) {
    HeldWrite run;
    Program other(run.pairs->world, *run.pairs->world.server, 1 << 20, 1 << 20, 101);
    run.post(0, run.pairs->write(0, kLength));
    run.pairs->world.run_for(Duration(2'000'000));  // it has come, and nothing is acknowledged
    ASSERT_FALSE(run.is_there(0));
    const auto query = [](Program& program, const Cq& cq) {
      protocol::ModifyCq command{};
      command.handle = cq.handle;
      program.command(command);
    };
    own ? query(run.pairs->b.program, run.pairs->b.recv_cq) : query(other, other.create_cq(8));
    run.pairs->world.run_for(Duration(700'000));
    EXPECT_EQ(run.is_there(0), own);
    run.pairs->world.run();
    EXPECT_TRUE(run.is_there(0));
  }
}

}  // namespace
}  // namespace verbatim::test
