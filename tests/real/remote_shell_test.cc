// `ssh` and `rsh` of simulated hosts: what passes between the halves, and how the near one ends.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim::real {
namespace {

support::RunReport run_in_both_modes(const std::string& command) {
  support::RunRequest request;
  request.commands = {"server=bash -c '" + command + "'"};
  request.options = {"--time-limit", "1000s"};
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  return runs.slices;
}

TEST(RemoteShell, a_script_loops_over_hosts) {
  const auto run = run_in_both_modes(
      "for host in server client; do echo to $host | ssh -x -o BatchMode=yes root@$host "
      "\"cat; hostname; echo wrong >&2; exit 3\"; "
      "echo $?; done");
  EXPECT_EQ(run.output("server"), "to server\nserver\n3\nto client\nclient\n3\n") << run.story();
  EXPECT_EQ(run.errors("server"), "wrong\nwrong\n") << run.story();
}

TEST(RemoteShell, a_megabyte_comes_back) {
  const auto run = run_in_both_modes("head -c 1000000 /dev/zero | rsh client cat | wc -c");
  EXPECT_EQ(run.output("server"), "1000000\n") << run.story();
}

TEST(RemoteShell, passes_signals_and_tells_of_ends_by_them) {
  const auto run = run_in_both_modes(
      "ssh -n client \"trap \\\"echo told; exit 5\\\" TERM; sleep 100 & wait\" & sleep 1; kill -TERM $!; wait $!; echo $?; "
      "ssh client \"kill -KILL \\$\\$\"; echo $?");
  EXPECT_EQ(run.output("server"), "told\n5\n255\n") << run.story();
}

// The copy is compared at its destination.
TEST(RemoteShell, tells_that_a_file_has_arrived_intact_by_rcopy) {
  support::RunRequest request;
  request.commands = {"server=rcopy &",
                      "client=bash -c 'seq 50000 > /tmp/sent; rcopy /tmp/sent server:/tmp/got >/dev/null && "
                      "ssh -n server cksum /tmp/got && cksum /tmp/sent'"};
  request.options = {"--time-limit", "100s"};
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  const std::string& said = runs.slices.output("client");
  EXPECT_EQ(said.substr(0, said.find('/')), said.substr(said.find('\n') + 1, said.find('/'))) << runs.slices.story();
}

TEST(RemoteShell, hosts_that_are_not_there_are_named) {
  const auto run = run_in_both_modes("ssh nowhere true; echo $?");
  EXPECT_EQ(run.output("server"), "255\n") << run.story();
  EXPECT_NE(run.errors("server").find("Could not resolve hostname nowhere"), std::string::npos) << run.story();
}

}  // namespace
}  // namespace verbatim::real
