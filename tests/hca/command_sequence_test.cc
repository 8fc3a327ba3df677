// Random plausible commands, a million for each seed, with a model of the existing objects and their users:
// destroying a used object is EBUSY, a destroyed one ENOENT, references to missing objects are refused,
// handles are unique, limits are exact, and when the programs have ended none of their objects is left.
// Messages are transferred meanwhile.
#include "tests/hca/command_sequence.h"

namespace verbatim::test {
namespace {

class CommandSequence : public testing::TestWithParam<int> {};

TEST_P(CommandSequence, is_answered_as_the_model_says) {
  WorldOptions options;
  options.profile = small_profile();
  options.record = false;
  World world(options);
  Rng random(static_cast<std::uint64_t>(GetParam()), "test/command_sequence");
  std::map<std::uint32_t, Tally> tallies;
  std::array<std::uint32_t, kKinds> alive{};
  constexpr int kPrograms = 3;
  std::unique_ptr<Sequence> programs[kPrograms];
  std::uint32_t process = 1000;
  for (int round = 0; round < 1'000'000 && !testing::Test::HasFailure(); ++round) {
    auto& program = programs[random.below(kPrograms)];
    // A program that ends leaves nothing; its successor starts without objects.
    if (program == nullptr || random.below(3000) == 0) {
      program.reset();
      program = std::make_unique<Sequence>(world, random, ++process, tallies, alive);
    }
    program->step();
  }
  for (auto& program : programs) program.reset();
  for (const std::uint32_t left : alive) EXPECT_EQ(left, 0u);
  // Every refusal has a diagnosis with a reason.
  EXPECT_GT(world.diagnoses.count, 100'000u);
  for (const std::string& text : world.diagnoses.wordless) ADD_FAILURE() << text;
  world.run_for(Duration{2'000'000'000});
  EXPECT_TRUE(world.engine.empty()) << "the objects are gone and something goes on";

  // A later program can allocate every object up to the limit.
  Program last(world, *world.client, 1 << 16, 1 << 20, ++process);
  ASSERT_NE(last.pd, 0u);
  std::uint32_t made = 0;
  const Cq cq = last.create_cq(4);
  while (last.create_cq(1).handle != 0) ++made;
  EXPECT_EQ(made + 1, kLimits[kCq]);
  for (made = 0; last.create_qp(cq, cq, {1, 1, 1, 1, 0}).made.number != 0;) ++made;
  EXPECT_EQ(made, kLimits[kQp]);
  for (made = 0; last.reg_mr(Program::kBuffer, 64, 0).handle != 0;) ++made;
  EXPECT_EQ(made, kLimits[kMr]);
  for (made = 0; last.create_srq(1).made.handle != 0;) ++made;
  EXPECT_EQ(made, kLimits[kSrq]);
  for (made = 0; last.create_ah(1) != 0;) ++made;
  EXPECT_EQ(made, kLimits[kAh]);

  // Every kind of answer has occurred for every command.
  for (const auto& [type, tally] : tallies) {
    std::printf("command %2u: done %7llu, refused %7llu, EBUSY %6llu, ENOMEM %6llu\n", type,
                static_cast<unsigned long long>(tally.done), static_cast<unsigned long long>(tally.refused),
                static_cast<unsigned long long>(tally.busy), static_cast<unsigned long long>(tally.full));
    EXPECT_GT(tally.done, 300u) << type;
    if (type == static_cast<std::uint32_t>(CommandType::kOpenXrcd)) continue;  // no error is possible
    EXPECT_GT(tally.refused + tally.full, 1000u) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CommandSequence, testing::Range(1, 5));

}  // namespace
}  // namespace verbatim::test
