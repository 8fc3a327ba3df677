// Debian's verbs programs of every transport: they end well in both modes with the same bytes, print figures,
// and send exactly the packets that their messages make.
#include <gtest/gtest.h>

#include <regex>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

using equality::BothModes;
using equality::run_both;

struct Job {
  std::string name;
  std::string command;     // both ends; the client's has the server's name behind it
  long messages;           // sum of both directions
  long packets_each;       // ceil(bytes / path MTU)
  long answers_each;       // acknowledgements or response packets
  long messages_more = 0;  // limit of additional messages in flight at the program's end
  friend void PrintTo(const Job& job, std::ostream* out) { *out << job.command; }
};

// The last line that holds numbers alone, or ibv_*_pingpong's summary.
bool prints_figures(const std::string& command, const std::string& output) {
  if (command.starts_with("ibv_xsrq")) return output.find("success") != std::string::npos;
  if (command.starts_with("ibv_")) {
    return std::regex_search(output,
                             std::regex(R"(\d+ bytes in [\d.]+ seconds = (?!0\.00)[\d.]+ Mbit/sec)")) &&
           std::regex_search(output,
                             std::regex(R"(\d+ iters in [\d.]+ seconds = (?!0\.00)[\d.]+ usec/iter)"));
  }
  return std::regex_search(output, std::regex(R"(\n +\d+ +\d+ +(?!0\.00)[\d.]+)"));
}

class TransportProgram : public ::testing::TestWithParam<Job> {};

TEST_P(TransportProgram, ends_well_in_both_modes_and_sends_what_it_must) {
  const Job& job = GetParam();
  const BothModes runs =
      run_both({.commands = {"server=" + job.command, "client=" + job.command + " server"}});
  expect_equal(runs);
  const support::RunReport& run = runs.slices;
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_TRUE(prints_figures(job.command, run.output("client"))) << run.story();
  const long packets = run.report["packets"];
  const long each = job.packets_each + job.answers_each;
  EXPECT_EQ(packets % each, 0) << run.story();
  EXPECT_GE(packets / each, job.messages) << run.story();
  EXPECT_LE(packets / each, job.messages + job.messages_more) << run.story();
}

std::string name_of(const ::testing::TestParamInfo<Job>& info) { return info.param.name; }

// ibv_*_pingpong: 4096 bytes (UD 2048) and path MTU 1024 by default, as many messages in each direction as
// iterations; below -r, receives are posted again. ibv_srq_pingpong has a message in flight on each of its 16
// queue pairs.
INSTANTIATE_TEST_SUITE_P(
    PingPong, TransportProgram,
    ::testing::Values(Job{"uc", "ibv_uc_pingpong -r 50 -n 150", 300, 4, 0},
                      Job{"uc_events", "ibv_uc_pingpong -e -n 100", 200, 4, 0},
                      Job{"uc_large", "ibv_uc_pingpong -s 65536 -n 20", 40, 64, 0},
                      Job{"uc_odd", "ibv_uc_pingpong -m 256 -s 10001 -n 30", 60, 40, 0},
                      Job{"uc_global", "ibv_uc_pingpong -g 0 -n 50", 100, 4, 0},
                      Job{"ud", "ibv_ud_pingpong -r 50 -n 150", 300, 1, 0},
                      Job{"ud_events", "ibv_ud_pingpong -e -n 100", 200, 1, 0},
                      Job{"ud_small", "ibv_ud_pingpong -s 1 -n 100", 200, 1, 0},
                      Job{"ud_global", "ibv_ud_pingpong -g 0 -n 50", 100, 1, 0},
                      Job{"srq", "ibv_srq_pingpong -r 100 -n 300", 600, 4, 1, 32},
                      Job{"srq_events", "ibv_srq_pingpong -e -n 100", 200, 4, 1, 32},
                      Job{"srq_four", "ibv_srq_pingpong -q 4 -s 10000 -n 40", 80, 10, 1, 8},
                      Job{"srq_small", "ibv_srq_pingpong -m 4096 -s 1 -n 100", 200, 1, 1, 32},
                      Job{"xsrq", "ibv_xsrq_pingpong", 10, 4, 1},
                      Job{"xsrq_events", "ibv_xsrq_pingpong -e -n 100", 200, 4, 1},
                      Job{"xsrq_large", "ibv_xsrq_pingpong -s 10000 -n 30", 60, 10, 1},
                      Job{"xsrq_global", "ibv_xsrq_pingpong -g 0 -n 50", 100, 4, 1}),
    name_of);

// Path MTU 4096.
INSTANTIATE_TEST_SUITE_P(
    Atomic, TransportProgram,
    ::testing::Values(Job{"bw_compare_and_swap", "ib_atomic_bw -A CMP_AND_SWAP -n 300", 300, 1, 1},
                      Job{"bw_fetch_and_add", "ib_atomic_bw -A FETCH_AND_ADD -n 300", 300, 1, 1},
                      Job{"bw_four", "ib_atomic_bw -A FETCH_AND_ADD -q 4 -n 50", 200, 1, 1},
                      Job{"lat_compare_and_swap", "ib_atomic_lat -A CMP_AND_SWAP -n 50", 50, 1, 1},
                      Job{"lat_fetch_and_add", "ib_atomic_lat -A FETCH_AND_ADD -n 50", 50, 1, 1},
                      Job{"bw_xrc", "ib_atomic_bw -c XRC -n 100", 100, 1, 1}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Unreliable, TransportProgram,
    ::testing::Values(Job{"send_bw_uc", "ib_send_bw -c UC -n 150", 150, 16, 0},
                      Job{"send_lat_uc", "ib_send_lat -c UC -n 40", 80, 1, 0},
                      Job{"write_bw_uc", "ib_write_bw -c UC -n 100", 100, 16, 0},
                      Job{"write_lat_uc", "ib_write_lat -c UC -s 8192 -n 40", 80, 2, 0},
                      Job{"send_bw_uc_both_ways", "ib_send_bw -c UC -b -n 60", 120, 16, 0},
                      Job{"send_bw_ud", "ib_send_bw -c UD -n 300", 300, 1, 0},
                      Job{"send_bw_ud_events", "ib_send_bw -c UD -e -n 300", 300, 1, 0},
                      Job{"send_lat_ud", "ib_send_lat -c UD -n 40", 80, 1, 0},
                      Job{"send_lat_ud_global", "ib_send_lat -c UD -x 0 -n 40", 80, 1, 0},
                      Job{"send_bw_ud_shared", "ib_send_bw -c UD --use-srq -n 300", 300, 1, 0}),
    name_of);

INSTANTIATE_TEST_SUITE_P(SharedReceives, TransportProgram,
                         ::testing::Values(Job{"send_bw", "ib_send_bw --use-srq -n 100", 100, 16, 1},
                                           Job{"send_bw_four", "ib_send_bw --use-srq -q 4 -n 50 -s 4097",
                                               200, 2, 1},
                                           Job{"send_lat", "ib_send_lat --use-srq -n 40", 80, 1, 1}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Xrc, TransportProgram,
                         ::testing::Values(Job{"send_bw", "ib_send_bw -c XRC -n 100", 100, 16, 1},
                                           Job{"send_bw_events", "ib_send_bw -c XRC -e -n 100", 100, 16, 1},
                                           Job{"send_bw_two_both_ways", "ib_send_bw -c XRC -q 2 -b -n 30",
                                               120, 16, 1},
                                           Job{"send_lat", "ib_send_lat -c XRC -n 40", 80, 1, 1},
                                           Job{"write_bw", "ib_write_bw -c XRC -n 100", 100, 16, 1},
                                           Job{"write_lat", "ib_write_lat -c XRC -n 40", 80, 1, 1},
                                           Job{"read_bw", "ib_read_bw -c XRC -n 60", 60, 1, 16},
                                           Job{"read_lat", "ib_read_lat -c XRC -n 40", 40, 1, 1}),
                         name_of);

}  // namespace
}  // namespace verbatim
