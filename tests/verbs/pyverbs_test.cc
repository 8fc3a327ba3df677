// rdma-core's own tests of the verbs, as Debian ships them, in the simulator.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstalled = "/usr/share/doc/rdma-core/tests";

// The tests as a package, unpacked.
const support::TemporaryFolder* unpacked() {
  static const support::TemporaryFolder folder;
  static const bool done = [] {
    if (!fs::is_directory(kInstalled)) return false;
    const std::string to = support::quoted(folder.path());
    const std::string command =
        std::string("cp ") + kInstalled + "/* " + to + " && gunzip -f " + to + "/*.gz";
    return std::system(command.c_str()) == 0;
  }();
  return done ? &folder : nullptr;
}

struct Module {
  std::string name;
  int passed;
  int skipped;  // by themselves, because the device or the machine lacks a feature
  std::string topology = "two_hosts";
  friend void PrintTo(const Module& module, std::ostream* out) { *out << module.name; }
};

class PyVerbs : public ::testing::TestWithParam<Module> {};

TEST_P(PyVerbs, passes) {
  const Module& module = GetParam();
  const auto* folder = unpacked();
  if (folder == nullptr) GTEST_SKIP() << "python3-pyverbs and its tests are not installed";
  const std::string command = "server=/usr/bin/python3 " + support::quoted(folder->path() + "/run_tests.py") +
                              " --port 1 --gid 0 -v tests.test_" + module.name;
  const support::RunReport run = support::run({.topology = module.topology, .commands = {command}});
  ASSERT_EQ(run.code, 0) << run.story();
  std::smatch match;
  const std::string& said = run.errors("server");
  ASSERT_TRUE(std::regex_search(said, match, std::regex(R"(Ran (\d+) tests?)"))) << run.story();
  const int ran = std::stoi(match[1]);
  const bool skips = std::regex_search(said, match, std::regex(R"(OK \(skipped=(\d+)\))"));
  EXPECT_EQ(skips ? std::stoi(match[1]) : 0, module.skipped) << said;
  EXPECT_EQ(ran, module.passed + module.skipped) << said;
}

INSTANTIATE_TEST_SUITE_P(
    VendorNeutral, PyVerbs,
    ::testing::Values(Module{"addr", 2, 1}, Module{"atomic", 9, 0}, Module{"cq", 4, 0},
                      Module{"cq_events", 2, 0}, Module{"cqex", 5, 0}, Module{"device", 22, 0},
                      Module{"flow", 0, 5}, Module{"fork", 1, 0}, Module{"mr", 17, 10}, Module{"odp", 17, 0},
                      Module{"parent_domain", 6, 0}, Module{"pd", 4, 0}, Module{"qp", 21, 5},
                      Module{"qpex", 20, 0}, Module{"rdmacm", 10, 0}, Module{"relaxed_ordering", 3, 0},
                      Module{"rss_traffic", 0, 1}, Module{"shared_pd", 1, 0}, Module{"tag_matching", 4, 0}),
    [](const auto& info) { return info.param.name; });

// Features of Ethernet only.
INSTANTIATE_TEST_SUITE_P(OnEthernet, PyVerbs,
                         ::testing::Values(Module{"flow", 5, 0, "two_hosts_roce"}, Module{"qp", 26, 0, "two_hosts_roce"},
                                           Module{"rss_traffic", 1, 0, "two_hosts_roce"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace verbatim
