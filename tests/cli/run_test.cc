// Runs of real programs through the command line: output, exit codes, run.json, verification.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"
#include "tools/verbatim/install_paths.h"

namespace verbatim::cli {
namespace {

using config::Folder;

nlohmann::json run_json(const std::string& folder) {
  config::Diagnostics diagnostics;
  return nlohmann::json::parse(config::read_file(folder + "/run.json", diagnostics).value_or("null"));
}

std::string file_text(const std::string& path) {
  config::Diagnostics diagnostics;
  return config::read_file(path, diagnostics).value_or("(no file)");
}

TEST(Run, ping_pong_ends_as_expected_and_twice_the_same) {
  Folder folder;
  std::set<std::string> digests, outputs;
  for (const char* name : {"/one", "/two"}) {
    const Finished run = verbatim({"run", "--out", folder.path() + name, "scenarios/rc_pingpong.json"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("client| 1000 iters in "), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("server| 1000 iters in "), std::string::npos) << run.out;
    EXPECT_NE(run.err.find("verbatim: virtual time "), std::string::npos) << run.err;
    const auto json = run_json(folder.path() + name);
    digests.insert(json.at("digest").get<std::string>());
    outputs.insert(run.out);
  }
  EXPECT_EQ(digests.size(), 1u);
  EXPECT_EQ(digests.begin()->size(), 32u);
  EXPECT_EQ(outputs.size(), 1u);
}

TEST(Run, run_json_has_every_promised_key) {
  Folder folder;
  const Finished run =
      verbatim({"run", "--seed", "7", "--out", folder.path() + "/out", "--topology", kTopology,
                "server=sh -c 'echo to out; echo to err >&2; exit 3'", "client=echo 'two words'"});
  EXPECT_EQ(run.code, 1);
  const auto json = run_json(folder.path() + "/out");
  for (const char* key : {"digest", "virtual_time_ps", "wall_seconds", "peak_memory_kib", "events", "packets",
                          "determinism", "programs", "warnings", "seed", "version"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["packets"], 0);
  ASSERT_EQ(json["programs"].size(), 2u);
  EXPECT_EQ(json["programs"][0]["host"], "server");
  EXPECT_EQ(json["programs"][0]["exit_code"], 3);
  EXPECT_TRUE(json["programs"][0]["signal"].is_null());
  EXPECT_EQ(json["programs"][1]["argv"], (nlohmann::json{"echo", "two words"}));
  EXPECT_EQ(file_text(folder.path() + "/out/server.stdout"), "to out\n");
  EXPECT_EQ(file_text(folder.path() + "/out/server.stderr"), "to err\n");
  EXPECT_EQ(file_text(folder.path() + "/out/client.stdout"), "two words\n");
}

// The unfinished line is removed before the comparison, because output_test checks its place.
TEST(Run, output_is_marked_and_kept_apart) {
  const Finished run =
      verbatim({"run", "--topology", kTopology, "server=sh -c 'echo a; echo b >&2; printf c'",
                "server=echo second", "client=printf 'x\\ny\\n'"});
  EXPECT_EQ(run.code, 0) << run.err;
  std::string lines = run.out;
  const std::size_t unfinished = lines.find("server| c\n");
  ASSERT_NE(unfinished, std::string::npos) << run.out;
  lines.erase(unfinished, 10);
  EXPECT_EQ(lines, "server| a\nserver.2| second\nclient| x\nclient| y\n");
  EXPECT_NE(run.err.find("server| b\n"), std::string::npos);
}

TEST(Run, quiet_prints_only_what_went_wrong) {
  Finished run = verbatim({"run", "--quiet", "--topology", kTopology, "server=echo hello"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out + run.err, "");
  run = verbatim({"run", "--quiet", "--topology", kTopology, "server=false"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err.find("verbatim: on host server, `false` ended with exit code 1 at "), 0u) << run.err;
}

TEST(Run, a_signal_is_named) {
  const Finished run = verbatim({"run", "--topology", kTopology, "server=sh -c 'kill -SEGV $$'"});
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("was ended by signal 11 (SIGSEGV)"), std::string::npos) << run.err;
}

TEST(Run, two_servers_deadlock) {
  const Finished run =
      verbatim({"run", "--topology", kTopology, "server=ibv_rc_pingpong", "client=ibv_rc_pingpong"});
  EXPECT_EQ(run.code, 3);
  for (const char* host : {"verbatim: server: ", "verbatim: client: "}) {
    EXPECT_NE(run.err.find(host), std::string::npos) << run.err;
  }
}

TEST(Run, a_time_limit_is_a_limit) {
  const Finished run = verbatim({"run", "--time-limit", "1s", "--topology", kTopology, "server=sleep 2"});
  EXPECT_EQ(run.code, 4);
  EXPECT_NE(run.err.find("the limit of 1.000000000 s of virtual time was reached"), std::string::npos) << run.err;
}

TEST(Run, stagger_and_start_are_virtual_and_free) {
  Folder folder;
  const Finished run = verbatim({"run", "--stagger", "1000s", "--out", folder.path() + "/out", "--topology",
                                 kTopology, "server=true", "client=true"});
  EXPECT_EQ(run.code, 0);
  const auto json = run_json(folder.path() + "/out");
  EXPECT_LT(json["programs"][0]["ended_ps"], 1'000'000'000'000);
  EXPECT_GE(json["programs"][1]["ended_ps"], 1'000'000'000'000'000);
  EXPECT_LT(json["wall_seconds"], 100.0);
}

TEST(Run, expectations_decide) {
  Folder folder;
  const auto run = [&](const std::string& program, const std::string& more) {
    folder.write("s.json", R"({"topology": ")" VERBATIM_SOURCE_DIR
                           R"(/topologies/two_hosts.json", "programs": [{"host": "server", )" +
                               program + "}]" + more + "}");
    return verbatim({"run", "s.json"}, folder.path());
  };
  EXPECT_EQ(run(R"("command": "sh -c 'exit 3'", "expect_exit": 3)", "").code, 0);
  EXPECT_EQ(run(R"("command": "true", "expect_exit": 3)", "").code, 1);
  EXPECT_EQ(run(R"("command": "sh -c 'kill -9 $$'", "expect_exit": "SIGKILL")", "").code, 0);
  EXPECT_EQ(run(R"("command": "echo one two", "expect_output": ["one", "two"])", "").code, 0);
  const Finished missing = run(R"("command": "echo two one", "expect_output": ["one", "two"])", "");
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("lacks \"two\", which the scenario expects there"), std::string::npos) << missing.err;
  EXPECT_EQ(run(R"("command": "ibv_rc_pingpong")", R"(, "expect": {"outcome": "deadlock"})").code, 0);
  EXPECT_EQ(run(R"("command": "true")", R"(, "expect": {"outcome": "deadlock"})").code, 1);
  EXPECT_EQ(run(R"("command": "true")", R"(, "expect": {"digest": "00000000000000000000000000000000"})").code,
            1);
  EXPECT_EQ(run(R"("command": "sleep 2")", R"(, "expect": {"virtual_time_max": "1 s"})").code, 1);
  EXPECT_EQ(
      run(R"("command": "pwd", "cwd": ".", "env": {"A": "b"}, "expect_output": [")" + folder.path() + "\"]",
          "")
          .code,
      0);
}

TEST(Run, trace_is_one_fact_a_line_in_time_order) {
  Folder folder;
  const std::string path = folder.path() + "/trace";
  ASSERT_EQ(verbatim({"run", "--trace", path, "--topology", kTopology, "server=ibv_rc_pingpong -n 10",
                      "client=ibv_rc_pingpong -n 10 server"})
                .code,
            0);
  std::istringstream lines(file_text(path));
  double last = 0;
  std::size_t n = 0, packets = 0;
  for (std::string line; std::getline(lines, line); ++n) {
    const double time = std::stod(line);
    EXPECT_GE(time, last) << line;
    last = time;
    EXPECT_NE(line.find(" us  "), std::string::npos) << line;
    packets += line.find("  packet-transmitted  ") != std::string::npos;
  }
  EXPECT_GT(n, 100u);
  EXPECT_EQ(packets, 2u * 20 * (4 + 1)) << "20 messages of 4 packets and an acknowledgement, over two links";
}

TEST(Run, verify_finds_nothing_in_a_sound_run) {
  const Finished run = verbatim({"run", "--verify", "--topology", kTopology, "server=ibv_rc_pingpong -n 10",
                                 "client=ibv_rc_pingpong -n 10 server"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("verbatim: verify: both runs have the same trace\n"), std::string::npos) << run.err;
}

TEST(Run, verify_keeps_the_exit_code) {
  EXPECT_EQ(verbatim({"run", "--verify", "--topology", kTopology, "server=ibv_rc_pingpong"}).code, 3);
  EXPECT_EQ(verbatim({"run", "--verify", "--topology", kTopology, "server=false"}).code, 1);
  EXPECT_EQ(verbatim({"run", "--verify", "--topology", kTopology, "server=no-such-program"}).code, 2);
}

TEST(Run, verify_names_a_planted_difference) {
  const Finished run =
      run_command({VERBATIM_PROGRAM, "run", "--plant-address", "--verify", "--topology", kTopology, "server=true"});
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("verbatim: verify: the runs differ first in record 0:\n"
                         "  first run:  0.000000 us  host/server  program-warning  pid=0 kind=0 detail="),
            std::string::npos)
      << run.err;
}

TEST(CheckHost, says_that_this_machine_can_run) {
  const Finished run = verbatim({"check", "--host"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("\nhost: can run simulations\n"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find(" missing "), std::string::npos) << run.out;
}

TEST(CheckHost, has_a_line_for_each_second_way_and_says_what_follows) {
  std::istringstream names(verbatim({"check", "--host", "--list-facilities"}).out);
  int count = 0;
  for (std::string name; std::getline(names, name); ++count) {
    const Finished run = verbatim({"check", "--host", "--assume-missing", name});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(std::regex_search(run.out, std::regex("host: " + name + " +works by other means .*: assumed to be missing; .")))
        << name << "\n" << run.out;
  }
  EXPECT_GE(count, 5);
}

TEST(CheckHost, refuses_an_unknown_facility) {
  EXPECT_EQ(verbatim({"check", "--host", "--assume-missing", "luck"}).code, 2);
  EXPECT_EQ(verbatim({"run", "--assume-missing", "luck", "--topology", kTopology, "server=true"}).code, 2);
}

// A copy of the executable with all libraries except `missing`.
TEST(CheckHost, misses_each_part_of_the_installation) {
  namespace fs = std::filesystem;
  for (const char* const missing : kShimParts) {
    const Folder folder;
    const fs::path here = folder.path();
    const fs::path built = fs::path(VERBATIM_PROGRAM).parent_path();
    fs::create_directory(here / "lib");
    fs::copy_file(built / "verbatim", here / "verbatim");
    for (const char* const part : kShimParts) {
      if (part != missing) fs::create_symlink(built / "lib" / part, here / "lib" / part);
    }
    const Finished check = run_command({here / "verbatim", "check", "--host"});
    EXPECT_EQ(check.code, 2) << missing;
    EXPECT_NE(check.out.find("missing"), std::string::npos) << check.out;
    const Finished run = run_command({here / "verbatim", "run", "--topology", kTopology, "server=true"});
    EXPECT_EQ(run.code, 2) << missing;
    EXPECT_NE(run.err.find("are not all where this installation should have them"), std::string::npos) << run.err;
  }
}

// /tmp of a simulated host is a folder of its own, which does not contain the simulator's libraries.
TEST(Installation, below_tmp_starts_programs_on_other_hosts) {
  namespace fs = std::filesystem;
  const Folder folder;
  const fs::path here = folder.path();
  const fs::path built = fs::path(VERBATIM_PROGRAM).parent_path();
  fs::create_directory(here / "lib");
  fs::copy_file(built / "verbatim", here / "verbatim");
  for (const char* const part : kShimParts) fs::copy_file(built / "lib" / part, here / "lib" / part);
  const Finished run =
      run_command({here / "verbatim", "run", "--topology", kTopology, "server=sleep 1", "client=ssh -n server hostname"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("server"), std::string::npos) << run.out << run.err;
}

}  // namespace
}  // namespace verbatim::cli
