// Correct programs: with all checks as errors there are no findings, and every program succeeds.
#include <gtest/gtest.h>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

void expect_nothing(const std::string& server, const std::string& client, const std::vector<std::string>& more = {}) {
  support::RunRequest request;
  request.commands = {"server=" + server, "client=" + client};
  request.options = {"--check", "all=error", "--check", "leak=off", "--time-limit", "20s"};
  request.options.insert(request.options.end(), more.begin(), more.end());
  const support::RunReport result = support::run(request);
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.report["checks"].size(), 0u) << result.report["checks"];
}

TEST(ChecksSweep, nothing_in_programs_of_debian) {
  for (const std::string verb : {"send", "write", "read", "atomic"}) {
    for (const std::string what : {"bw", "lat"}) {
      const std::string program = "ib_" + verb + "_" + what + " -n 200";
      expect_nothing(program, program + " server");
      if (verb == "send") expect_nothing(program + " -e", program + " -e server");
    }
  }
  for (const std::string options : {"-b -n 200 -a", "-b -n 200 -c UD", "-n 200 -r 16 -t 4", "-n 200 -q 4"}) {
    expect_nothing("ib_send_bw " + options, "ib_send_bw " + options + " server");
  }
  expect_nothing("ib_write_bw -b -n 200", "ib_write_bw -b -n 200 server");
  for (const std::string program : {"rc", "uc", "ud", "srq", "xsrq"}) {
    const std::string name = "ibv_" + program + "_pingpong";
    expect_nothing(name, name + " server");
    expect_nothing(name + " -e", name + " -e server");
  }
  expect_nothing("rping -s -a 10.0.0.1 -C 20", "rping -c -a 10.0.0.1 -C 20");
}

TEST(ChecksSweep, nothing_in_the_repaired_litmus_programs) {
  for (const std::string name : {"lost_wakeup", "overwritten", "last_byte", "reply_first", "two_queues", "missing_fence", "teardown"}) {
    const std::string program = support::quoted(std::string(LITMUS_FOLDER) + "/" + name) + " fixed";
    for (int seed = 1; seed <= 20; ++seed) {
      expect_nothing(program, program + " server", {"--freedom", "spec", "--seed", std::to_string(seed)});
    }
  }
}

}  // namespace
}  // namespace verbatim
