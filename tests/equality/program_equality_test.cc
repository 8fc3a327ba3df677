// Every scenario of the project and many existing programs have the same bytes in slices and call by call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "tests/equality/both_modes.h"

namespace verbatim::equality {
namespace {

class ScenarioEquality : public ::testing::TestWithParam<std::string> {};

// Limits its programs to 100 messages, unless faults concern later ones; program_equality_sweep runs the
// whole scenario.
std::string shortened(const std::string& name, const std::string& folder) {
  nlohmann::json scenario = nlohmann::json::parse(support::text_of_file(path_of_scenario(name)));
  if (scenario.contains("faults") || !scenario.contains("programs")) return path_of_scenario(name);
  scenario["topology"] = VERBATIM_SOURCE_DIR "/scenarios/" + scenario["topology"].get<std::string>();
  for (nlohmann::json& program : scenario["programs"]) {
    const std::string command = program["command"];
    const std::string without_count = std::regex_replace(command, std::regex(" -n [0-9]+"), "");
    program["command"] = std::regex_replace(without_count, std::regex("^ibv?_[a-z_]+"), "$& -n 100");
  }
  const std::string path = folder + "/" + name + ".json";
  std::ofstream(path) << scenario;
  return path;
}

TEST_P(ScenarioEquality, slices_and_call_by_call) {
  const support::TemporaryFolder folder;
  expect_equal(run_both(shortened(GetParam(), folder.path())));
}

INSTANTIATE_TEST_SUITE_P(OfTheProject, ScenarioEquality, ::testing::ValuesIn(shipped_scenarios()),
                         [](const auto& info) { return info.param; });

// A change during an iteration is visible to the next check, and to no earlier one.
TEST(PollTurns, slices_and_call_by_call) {
  const BothModes runs = run_both({.commands = {"server=" + support::quoted(POLL_TURNS) + " fixed",
                                                "client=" + support::quoted(POLL_TURNS) + " fixed server"}});
  expect_equal(runs);
  const std::string& told = runs.slices.output("server");
  for (const std::string place : {"after poll 0", "after poll 1"}) {
    int times = 0;
    for (std::size_t at = 0; (at = told.find(place, at)) != std::string::npos; ++at) ++times;
    EXPECT_GE(times, 10) << place << "\n" << told;
  }
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 10, runs.call_by_call.report["hand_overs"].get<int>())
      << "the turns in which nothing happens are not executed";
}

// After the failure each receive has to ring a doorbell. The program learns this from a record that the
// adapter writes.
TEST(FlushedReceives, slices_and_call_by_call) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--freedom", "spec", "--seed", "1"}, {"--freedom", "spec", "--seed", "6"}}) {
    expect_equal(run_both({.commands = {"server=" + support::quoted(FLUSHED_RECEIVES),
                                        "client=" + support::quoted(FLUSHED_RECEIVES) + " server"},
                           .options = options}));
  }
}

// Before its horizon a thread itself performs the adapter's reads and writes.
TEST(TouchedMemory, slices_and_call_by_call) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--seed", "2"}, {"--freedom", "spec", "--seed", "5"}}) {
    expect_equal(run_both({.commands = {"server=" + support::quoted(TOUCHED_MEMORY),
                                        "client=" + support::quoted(TOUCHED_MEMORY) + " server"},
                           .options = options}));
  }
}

// With the token the thread receives data for memory that it may not write; it is stored nevertheless, by
// either method of access.
TEST(ReadOnlyReceives, slices_and_call_by_call) {
  const std::string program = support::quoted(READ_ONLY_RECEIVES);
  // A program that misses a message exits, and the other one would wait for ever.
  const std::vector<std::string> first{"--time-limit", "110ms"};
  for (const std::vector<std::string>& options : {first, {first[0], first[1], "--assume-missing", "process-vm"}}) {
    const BothModes runs = run_both({.commands = {"server=" + program, "client=" + program + " server"}, .options = options});
    expect_equal(runs);
    for (const char* host : {"server", "client"}) EXPECT_EQ(runs.slices.output(host), "120 messages, all whole\n");
  }
}

// Completions polled after an arm are not yet polled when the adapter processes the arm, although the program
// runs ahead.
TEST(ArmedQueues, slices_and_call_by_call) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--seed", "2"}, {"--freedom", "spec", "--seed", "3"}}) {
    expect_equal(run_both({.commands = {"server=" + support::quoted(ARMED_QUEUES),
                                        "client=" + support::quoted(ARMED_QUEUES) + " server"},
                           .options = options}));
  }
}

// Alternating polls of two queues are recognised from the first iteration on: each of the sixty waits takes a
// few hand-overs.
TEST(PollTurns, are_parked_at_the_first_look) {
  const support::RunReport run = support::run({.commands = {"server=" + support::quoted(POLL_TURNS) + " fixed",
                                                            "client=" + support::quoted(POLL_TURNS) + " fixed server"}});
  EXPECT_LT(run.report["hand_overs"].get<int>(), 340) << run.story();
}

// A flag that is read after the second poll may change before it: a thread woken in the middle of an
// iteration continues there.
TEST(PollTurns, go_on_when_what_changed_is_looked_at_later) {
  const std::string program = support::quoted(POLL_TURNS "_once") + " fixed";
  const BothModes runs = run_both({.commands = {"server=" + program, "client=" + program + " server"}});
  expect_equal(runs);
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>(), 285) << runs.slices.story();
}

// Two hosts wait for times by reading clocks, so their reads alternate in virtual time.
class ClockRows : public ::testing::TestWithParam<const char*> {};

TEST_P(ClockRows, slices_and_call_by_call) {
  const std::string program = support::quoted(std::string(CLOCK_ROWS) + GetParam());
  const BothModes runs = run_both({.commands = {"server=" + program, "client=" + program}, .options = {"--stagger", "3 us"}});
  expect_equal(runs);
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 2, runs.call_by_call.report["hand_overs"].get<int>())
      << "what happens between two reads is interpreted\n"
      << runs.slices.story();
}

INSTANTIATE_TEST_SUITE_P(Compiled, ClockRows, ::testing::Values("", "_plain"),
                         [](const auto& info) { return std::string(info.index == 0 ? "optimised" : "plain"); });

// GASNet sends two bytes of an uninitialised structure with each active message.
TEST(LeftoverFrames, slices_and_call_by_call) {
  const std::string program = support::quoted(LEFTOVER_FRAMES);
  const BothModes runs = run_both({.commands = {"server=" + program, "client=" + program + " server"}});
  expect_equal(runs);
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 2, runs.call_by_call.report["hand_overs"].get<int>())
      << "most calls are answered by the threads themselves";
}

// Proofs of some turns serve later waits that begin with other counters.
TEST(ProgressTurns, slices_and_call_by_call) {
  const std::string program = support::quoted(PROGRESS_TURNS) + " fixed";
  const BothModes runs = run_both({.commands = {"server=" + program, "client=" + program + " server"}});
  expect_equal(runs);
  EXPECT_THAT(runs.slices.output("server"), ::testing::HasSubstr(" other turns, times "));
  for (const auto& thread : runs.slices.report["waiting"]) EXPECT_GT(thread["parks"], 40) << runs.slices.story();
}

// The cost of a clock read rises only when more have been made in a row than a poll has found completions.
TEST(TimedCompletions, slices_and_call_by_call) {
  const BothModes runs = run_both(support::RunRequest{.commands = {"server=" + support::quoted(TIMED_COMPLETIONS)}});
  expect_equal(runs);
  EXPECT_THAT(runs.slices.output("server"),
              ::testing::StartsWith("64 completions: a read of the clock takes 25 ns at most, then 25 "));
}

// The iteration at which a poke interrupts a loop depends on real time; the loop's own jump into the runtime
// does not.
TEST(LoopJumps, slices_and_call_by_call) {
  const BothModes runs = run_both({.commands = {"server=" + support::quoted(LOOP_JUMPS)}, .options = {"--log", "debug"}});
  expect_equal(runs);
  std::smatch found;
  const std::regex told(R"((\d+) asked by their own jump)");
  ASSERT_TRUE(std::regex_search(runs.slices.err, found, told)) << runs.slices.story();
  // Without these jumps, pokes would find two of five waits of each kind, and more on a busy machine.
  constexpr int kKinds = 17 * 2;
  EXPECT_GE(std::stoi(found[1]), kKinds) << runs.slices.story();
}

// Programs of one host wait in parallel.
TEST(TwoPollers, are_both_parked) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(TWO_POLLERS)};
  const BothModes runs = run_both(request);
  expect_equal(runs);
  EXPECT_EQ(runs.slices.output("server"), "child: over\nparent: over\n");
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>(), 100) << "the polls in between are not executed";
}

// Other threads of the process see the count of a parked thread, also in the middle of an iteration of
// sixteen polls.
TEST(SharedTurns, slices_and_call_by_call) {
  const std::string program = support::quoted(SHARED_TURNS) + " fixed";
  const BothModes runs = run_both({.commands = {"server=" + program, "client=" + program + " server"}});
  expect_equal(runs);
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 10, runs.call_by_call.report["hand_overs"].get<int>())
      << "the turns in which nothing happens are not executed";
}

// Every process that waits for shared memory sees an adapter's write to it; any of them may have registered
// the memory.
TEST(SharedMemory, slices_and_call_by_call) {
  const std::string program = support::quoted(SHARED_MEMORY) + " fixed";
  const BothModes runs = run_both({.commands = {"server=" + program, "client=" + program + " server"}});
  expect_equal(runs);
  EXPECT_NE(runs.slices.output("client").find("worker 3 has answered 10"), std::string::npos) << runs.slices.story();
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 2, runs.call_by_call.report["hand_overs"].get<int>());
}

// A stopped program neither polls nor counts until it is continued.
TEST(StoppedPoller, slices_and_call_by_call) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(STOPPED_POLLER)};
  const BothModes runs = run_both(request);
  expect_equal(runs);
  EXPECT_NE(runs.slices.output("server").find("parent: over"), std::string::npos) << runs.slices.story();
}

// Calls local to a host are answered before earlier calls of other hosts; this is invisible to programs.
class HostCalls : public ::testing::TestWithParam<std::string> {};

TEST_P(HostCalls, slices_and_call_by_call) {
  const support::TemporaryFolder folder;
  const std::string topology = folder.path() + "/ring.json";
  std::ofstream(topology) << R"({"name": "ring", "link_layer": "infiniband",
      "generate": {"shape": "leaf_spine", "hosts": 6, "hosts_per_leaf": 3, "spines": 1, "rate": "EDR 4x", "length": "2 m"},
      "management_network": {"latency": "3 us", "bandwidth": "10 Gbps"}})";
  support::RunRequest request{.topology = topology, .options = {"--stagger", "0 s", "--log", "debug"}};
  if (!GetParam().empty()) request.options.insert(request.options.end(), {"--freedom", "spec", "--seed", GetParam()});
  for (int i = 0; i < 6; ++i) {
    const std::string next = "h" + std::to_string((i + 1) % 6), own = "h" + std::to_string(i);
    request.commands.push_back(own + "=" + support::quoted(HOST_CALLS) + " " + own + " " + next + " 40");
  }
  const BothModes runs = run_both(request);
  expect_equal(runs);
  const auto answered_ahead = [](const support::RunReport& run) {
    std::smatch found;
    const bool told = std::regex_search(run.err, found, std::regex("([0-9]+) answered before their time"));
    return told ? std::stoi(found[1]) : -1;
  };
  EXPECT_GT(answered_ahead(runs.slices), 1000);
  EXPECT_EQ(answered_ahead(runs.call_by_call), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, HostCalls, ::testing::Values("", "1", "2", "3"),
                         [](const auto& info) { return info.param.empty() ? "friendly" : "seed_" + info.param; });

// Two adapters of a host in one program have separate rings, keys and completions.
class TwoAdapters : public ::testing::TestWithParam<std::string> {};

TEST_P(TwoAdapters, slices_and_call_by_call) {
  support::RunRequest request{.topology = "rails_4"};
  if (!GetParam().empty()) request.options = {"--freedom", "spec", "--seed", GetParam()};
  request.commands = {"h0=" + support::quoted(TWO_ADAPTERS), "h1=" + support::quoted(TWO_ADAPTERS) + " h0"};
  const BothModes runs = run_both(request);
  expect_equal(runs);
  for (const char* host : {"h0", "h1"}) {
    EXPECT_NE(runs.slices.output(host).find("adapter 0: message 23"), std::string::npos) << runs.slices.story();
    EXPECT_NE(runs.slices.output(host).find("adapter 1: message 23"), std::string::npos);
    EXPECT_NE(runs.slices.output(host).find("the other adapter's memory: remote access error"), std::string::npos)
        << runs.slices.story();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TwoAdapters, ::testing::Values("", "1", "2"),
                         [](const auto& info) { return info.param.empty() ? "friendly" : "seed_" + info.param; });

// A loop with a system call in each iteration is parked, and continues when the call has a result or a signal
// arrives.
TEST(AskingPoller, slices_and_call_by_call) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(ASKING_POLLER)};
  const BothModes runs = run_both(request);
  expect_equal(runs);
  EXPECT_NE(runs.slices.output("server").find("parent: over"), std::string::npos) << runs.slices.story();
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 10, runs.call_by_call.report["hand_overs"].get<int>())
      << "the turns in which nothing is there are not executed";
}

// The analysis of a loop forgets memory that was unmapped, became unreadable or has other content.
TEST(GonePages, slices_and_call_by_call) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(GONE_PAGES)};
  const BothModes runs = run_both(request);
  expect_equal(runs);
  EXPECT_NE(runs.slices.output("server").find("over at"), std::string::npos) << runs.slices.story();
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 10, runs.call_by_call.report["hand_overs"].get<int>());
}

// An iteration that reads clocks takes time: a change may occur between any two of its reads.
class ClockTurns : public ::testing::TestWithParam<std::string> {};

TEST_P(ClockTurns, slices_and_call_by_call) {
  const std::string program = support::quoted(CLOCK_TURNS + GetParam()) + " fixed";
  const BothModes runs = run_both({.commands = {"server=" + program, "client=" + program + " server"}});
  expect_equal(runs);
  const std::string& told = runs.slices.output("server");
  // Consecutive reads of a clock take little time, so fewer changes occur between them.
  const std::pair<std::string, int> kPlaces[] = {{"after poll", 10},  {"after clock", 10}, {"after counter", 10},
                                                 {"after yield", 10}, {"after day", 3},    {"after seconds", 3}};
  for (const auto& [place, least] : kPlaces) {
    int times = 0;
    for (std::size_t at = 0; (at = told.find(place, at)) != std::string::npos; ++at) ++times;
    EXPECT_GE(times, least) << place << "\n" << told;
  }
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 10, runs.call_by_call.report["hand_overs"].get<int>())
      << "the turns in which nothing happens are not executed";
}

INSTANTIATE_TEST_SUITE_P(Compiled, ClockTurns, ::testing::Values("", "_plain"),
                         [](const auto& info) { return info.param.empty() ? "O2" : "O0"; });

// An iteration counts in a register that a function saves on the stack, and the loop ends depending on a
// clock.
TEST(CountedLooks, slices_and_call_by_call) {
  const BothModes runs = run_both(support::RunRequest{.commands = {"server=" + support::quoted(COUNTED_LOOKS)}});
  expect_equal(runs);
  EXPECT_LT(runs.slices.report["hand_overs"].get<int>() * 10, runs.call_by_call.report["hand_overs"].get<int>())
      << "the turns in which nothing happens are not executed";
}

// Both hosts run the same command; the client's has the server's name appended.
class VerbsProgramEquality : public ::testing::TestWithParam<std::string> {};

TEST_P(VerbsProgramEquality, slices_and_call_by_call) {
  for (const char* topology : {"two_hosts", "two_hosts_direct"}) {
    expect_equal(run_both(
        {.topology = topology, .commands = {"server=" + GetParam(), "client=" + GetParam() + " server"}}));
  }
}

// The shortest runs that execute every part of the programs: ib_send_bw and ib_write_bw wrap around their
// queues of 128.
INSTANTIATE_TEST_SUITE_P(PingPong, VerbsProgramEquality,
                         ::testing::Values("ibv_rc_pingpong -n 60", "ibv_rc_pingpong -e -n 60",
                                           "ibv_rc_pingpong -c -n 30 -s 9999 -m 512",
                                           "ibv_rc_pingpong -e -c -n 8 -s 100001 -m 256",
                                           "ibv_rc_pingpong -n 12 -s 65536 -g 0",
                                           "ibv_rc_pingpong -n 50 -r 2"));

INSTANTIATE_TEST_SUITE_P(Perftest, VerbsProgramEquality,
                         ::testing::Values("ib_send_bw -n 140", "ib_send_bw -n 50 -e -s 4097",
                                           "ib_send_bw -n 40 -b -q 4 -s 1", "ib_send_bw -n 64 -l 16 -s 64",
                                           "ib_send_lat -n 30", "ib_send_lat -n 20 -e -s 65536",
                                           "ib_write_bw -n 100", "ib_write_bw -n 100 -b -q 2 -s 4097",
                                           "ib_write_bw -n 280 -s 1", "ib_write_lat -n 20",
                                           "ib_write_lat -n 20 -s 4097", "ib_read_bw -n 40",
                                           "ib_read_bw -n 40 -b -s 1", "ib_read_lat -n 20"));

TEST(ProgramEquality, a_conversation_in_python_over_tcp) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no python3";
  const std::string server =
      "import socket, time\n"
      "s = socket.create_server((str(), 7000))\n"
      "c, peer = s.accept()\n"
      "while True:\n"
      "    got = c.recv(1000)\n"
      "    if not got: break\n"
      "    print(time.monotonic_ns(), len(got), flush=True)\n"
      "    c.sendall(got.upper())\n";
  const std::string client =
      "import socket, time, threading, random\n"
      "s = socket.create_connection((chr(49) + chr(48) + chr(46) + chr(48) + chr(46) + chr(48) + chr(46) + "
      "chr(49), 7000))\n"
      "threading.Thread(target=lambda: [time.sleep(0.0001) for i in range(20)]).start()\n"
      "for i in range(20):\n"
      "    s.sendall(bytes(random.randrange(97, 123) for j in range(i * 10 + 1)))\n"
      "    print(time.time_ns(), s.recv(1000), flush=True)\n"
      "s.close()\n";
  expect_equal(run_both({.commands = {"server=/usr/bin/python3 -I -S -c \"" + server + "\"",
                                      "client=/usr/bin/python3 -I -S -c \"" + client + "\""}}));
}

TEST(ProgramEquality, programs_of_the_process_suite) {
  const auto program = [](const std::string& name) { return support::quoted(PROCESS_FOLDER "/" + name); };
  expect_equal(
      run_both({.commands = {"server=" + program("server"), "client=" + program("client") + " server"}}));
  for (const char* name : {"threads", "clocks", "signals", "spin", "identity", "output", "randomness"}) {
    expect_equal(run_both({.commands = {"server=" + program(name), "client=" + program(name)}}));
  }
}

// The comparison can fail: an address in one of the two traces is found and shown with the lines around it.
TEST(FirstDifference, shows_the_lines_around_it) {
  EXPECT_EQ(first_difference("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(first_difference("", ""), "");
  EXPECT_EQ(first_difference("a\nb\nc\nd\n", "a\nb\nc\ne\n"),
            "in slices:\nb\nc\nd\n(the end)\ncall by call:\nb\nc\ne\n(the end)\n");
  EXPECT_NE(first_difference("a\nb\n", "a\n"), "");
}

TEST(FirstDifference, two_different_runs_differ) {
  const auto trace = [](const char* arguments) {
    support::RunRequest request{
        .commands = {"server=ibv_rc_pingpong -n 3", std::string("client=") + arguments}};
    request.trace = true;
    return support::run(request).trace;
  };
  const std::string a = trace("ibv_rc_pingpong -n 3 server");
  EXPECT_NE(first_difference(a, trace("ibv_rc_pingpong -n 3 -g 0 server")), "");
}

}  // namespace
}  // namespace verbatim::equality
