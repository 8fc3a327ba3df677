// Existing programs in partitions: members of one communicate; others fail as on a real fabric.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

using equality::run_both;

// In topologies/partitions_4.json: h0 has {default, red}, h1 {default, red limited}, h2 {default, red
// limited, blue}, h3 {default, blue}.
struct Talk {
  std::string from, to;
  int from_index, to_index;  // index of the P_Key
};

support::RunRequest request(const Talk& talk, const std::string& command) {
  const std::string index = " --pkey_index=";
  return {.topology = "partitions_4",
          .commands = {talk.to + "=" + command + index + std::to_string(talk.to_index),
                       talk.from + "=" + command + index + std::to_string(talk.from_index) + " " + talk.to}};
}

TEST(Partitions, members_of_one_partition_talk_whatever_the_index) {
  const std::pair<Talk, const char*> talks[] = {{{"h0", "h3", 0, 0}, "ib_send_bw -n 10"},
                                                {{"h0", "h1", 1, 1}, "ib_write_lat -n 5"},
                                                {{"h2", "h0", 1, 1}, "ib_send_lat -c UD -n 5"},
                                                {{"h2", "h3", 2, 1}, "ib_send_lat -c UD -n 5"},
                                                {{"h2", "h3", 2, 1}, "ib_send_bw -n 10"}};
  for (const auto& [talk, command] : talks) {
    const auto runs = run_both(request(talk, command));
    expect_equal(runs);
    EXPECT_EQ(runs.slices.code, 0) << runs.slices.story();
  }
}

TEST(Partitions, two_limited_members_and_strangers_hear_nothing_of_each_other) {
  const Talk talks[] = {{"h1", "h2", 1, 1}, {"h0", "h3", 1, 1}, {"h0", "h1", 0, 1}, {"h0", "h3", 5, 5}};
  for (const Talk& talk : talks) {
    const auto run = support::run(request(talk, "ib_write_bw -n 20"));
    EXPECT_NE(run.code, 0) << run.story();
    // IBV_WC_RETRY_EXC_ERR
    EXPECT_NE(run.story().find("Failed status 12"), std::string::npos) << run.story();
  }
}

}  // namespace
}  // namespace verbatim
