// Multicast groups as programs use them, on InfiniBand and on Ethernet with both kinds of GIDs: members on other hosts and on
// the sender's own, what leaving does, and that who has not joined gets nothing.
#include <gtest/gtest.h>

#include <string>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

struct Link {
  std::string name, topology, group;
  int gid_index = 0;
  friend void PrintTo(const Link& link, std::ostream* out) { *out << link.name; }
};

class Multicast : public ::testing::TestWithParam<Link> {
 protected:
  // Command of `host`, whose first `attached` of three queue pairs join. The sender uses its last one.
  std::string command(const std::string& host, int attached, bool sends) const {
    return host + "=" + support::quoted(MULTICAST_PROGRAM) + " " + std::to_string(GetParam().gid_index) + " " +
           GetParam().group + " " + std::to_string(attached) + (sends ? " send" : "");
  }
};

constexpr const char* kLeaves = "destroy: EBUSY, detach: 0 EINVAL\n";

TEST_P(Multicast, members_of_all_hosts_get_a_copy_until_they_leave) {
  support::RunRequest request;
  request.topology = GetParam().topology;
  const bool leaf_spine = request.topology.starts_with("leaf_spine");
  const std::string a = leaf_spine ? "h0" : "server", b = leaf_spine ? "h13" : "client";
  request.commands = {command(a, 2, false), command(b, 1, true)};
  if (leaf_spine) request.commands.push_back(command("h5", 0, false));
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.output(a), std::string(" 1 1 0\n") + kLeaves + " 0 1 0\nleft: 0\n");
  EXPECT_EQ(runs.slices.output(b), std::string("sent 0\n 1 0 0\n") + kLeaves + "sent 0\n 0 0 0\nleft: 0\n");
  if (leaf_spine) {
    EXPECT_EQ(runs.slices.output("h5"), " 0 0 0\n 0 0 0\nleft: 0\n");
  }
}

TEST_P(Multicast, holds_for_seeds_of_what_the_specification_allows) {
  for (int seed = 1; seed <= 5; ++seed) {
    support::RunRequest request;
    request.topology = GetParam().topology;
    const bool leaf_spine = request.topology.starts_with("leaf_spine");
    const std::string a = leaf_spine ? "h0" : "server", b = leaf_spine ? "h13" : "client";
    request.commands = {command(a, 2, false), command(b, 1, true)};
    request.options = {"--freedom", "spec", "--seed", std::to_string(seed)};
    const support::RunReport run = support::run(request);
    EXPECT_EQ(run.output(a), std::string(" 1 1 0\n") + kLeaves + " 0 1 0\nleft: 0\n") << run.story();
    EXPECT_EQ(run.output(b), std::string("sent 0\n 1 0 0\n") + kLeaves + "sent 0\n 0 0 0\nleft: 0\n") << run.story();
  }
}

INSTANTIATE_TEST_SUITE_P(Links, Multicast,
                         ::testing::Values(Link{"infiniband", "two_hosts", "ff12::1234", 0},
                                           Link{"roce_ipv6", "two_hosts_roce", "ff0e::1234", 0},
                                           Link{"roce_ipv4", "two_hosts_roce", "::ffff:239.1.2.3", 1},
                                           Link{"leaf_spine_ipv6", "leaf_spine_16_roce", "ff0e::1234", 0},
                                           Link{"leaf_spine_ipv4", "leaf_spine_16_roce", "::ffff:239.1.2.3", 1}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace verbatim
