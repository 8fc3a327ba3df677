// End-to-end credits (IBA 9.7.7.2.5) in a program, in both modes: receives posted after the peer was told
// that there are none cause no delay.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

// The program's output on an adapter with or without credits; nanoseconds.
std::int64_t time_of_messages(bool has_credits) {
  const support::TemporaryFolder folder;
  auto hca = nlohmann::json::parse(support::text_of_file(PROFILES "/edr_hca.json"));
  auto topology = nlohmann::json::parse(support::text_of_file(support::topology("two_hosts_direct")));
  hca["end_to_end_credits"]["value"] = has_credits;
  for (auto& host : topology["hosts"]) host["hca"] = "granting.json";
  std::ofstream(folder.path() + "/granting.json") << hca;
  std::ofstream(folder.path() + "/topology.json") << topology;
  support::RunRequest request;
  request.topology = folder.path() + "/topology.json";
  request.commands = {"server=" + support::quoted(CREDITS_PROGRAM)};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
  return std::stoll("0" + runs.slices.output("server"));
}

// The adapter reads its record of receives a little more often, and that is all: a message that has to find out by itself that
// there are receives would hold the others up for the time of a round trip, 440 ns here.
TEST(Credits, of_receives_that_were_posted_meanwhile_hold_no_message_up) {
  constexpr std::int64_t kReadingRecords = 100;
  const std::int64_t with = time_of_messages(true), without = time_of_messages(false);
  EXPECT_GT(without, 1000);
  EXPECT_LT(with, without + kReadingRecords);
}

}  // namespace
}  // namespace verbatim
