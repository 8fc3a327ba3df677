#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/cli/command.h"
#include "tests/litmus/seeds.h"

namespace verbatim::litmus {

namespace {

// The seventh message's last packet is lost; the receiver detects this with the next message.
constexpr char kLostPacket[] = R"({"action": "drop", "from": "client", "opcode": "Send Last", "nth": 7})";

// It remains in flight until long after its sender has abandoned it.
constexpr char kLateWrite[] =
    R"({"action": "delay", "from": "client", "opcode": "RDMA Write Only", "nth": 1, "delay": "300 us"})";
constexpr char kLostAnswer[] = R"({"action": "drop", "from": "server", "opcode": "RDMA Read Response Only", "nth": 1})";

std::vector<std::string> commands_of(const Pair& pair, const std::string& variant) {
  const std::string program = support::quoted(std::string(LITMUS_FOLDER) + "/" + pair.name) + " " + variant;
  return {"server=" + program, "client=" + program + " server"};
}

std::vector<std::string> options_of(const Pair& pair, const std::string& freedom) {
  std::vector<std::string> options = {"--freedom", freedom, "--time-limit", "20s"};
  if (!pair.fault.empty()) options.insert(options.end(), {"--fault", pair.fault});
  if (!pair.check.empty()) options.insert(options.end(), {"--check", pair.check + "=error"});
  if (pair.accesses) options.push_back("--spec-accesses");
  return options;
}

}  // namespace

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.name << (pair.fault.empty() ? "" : ", a packet that is lost or late");
}

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all = {
      {.name = "lost_wakeup", .seeds = 12},
      {.name = "two_cq_wakeup", .seeds = 12},
      {.name = "overwritten", .seeds = 10},
      {.name = "overwritten", .fails_when_friendly = true, .fault = kLostPacket},
      {.name = "last_byte", .seeds = 6},
      {.name = "flag_elsewhere", .seeds = 6},
      {.name = "reply_first", .seeds = 6},
      {.name = "two_queues", .seeds = 20},
      {.name = "missing_fence", .fails_when_friendly = true, .seeds = 4},
      {.name = "teardown"},
      {.name = "failed_opcode", .seeds = 4},
      {.name = "failed_opcode", .fails_when_friendly = true, .check = "undefined-field", .seeds = 2},
      {.name = "stale_completion", .seeds = 10},
      {.name = "qpn_reuse", .seeds = 10},
      {.name = "credit_first", .seeds = 6},
      {.name = "read_then_write", .seeds = 6},
      {.name = "read_again", .seeds = 10},
      {.name = "read_again", .fault = kLostAnswer, .seeds = 10},
      {.name = "atomic_mix", .seeds = 12},
      {.name = "torn_read", .seeds = 60},
      {.name = "window_gone", .seeds = 20},
      {.name = "receive_after_accept"},
      {.name = "receive_after_accept", .fails_when_friendly = true, .check = "late-receive", .seeds = 2},
      {.name = "plain_counter", .accesses = true, .seeds = 20},
      {.name = "plain_add", .accesses = true, .seeds = 20},
      {.name = "claimed_slot", .accesses = true, .seeds = 20},
      {.name = "sleep_flag", .accesses = true, .seeds = 40},
      {.name = "slot_reuse", .seeds = 50},
      {.name = "ring_tail", .seeds = 20},
      {.name = "short_record", .accesses = true, .seeds = 40},
      {.name = "two_processes", .accesses = true, .seeds = 60},
      // These also fail on ordinary hardware.
      {.name = "unacknowledged", .fails_when_friendly = true, .seeds = 2},
      {.name = "queue_full", .fails_when_friendly = true, .seeds = 2},
      {.name = "ghost_write", .fails_when_friendly = true, .fault = kLateWrite, .seeds = 4},
      {.name = "srq_limit", .fails_when_friendly = true, .seeds = 2},
      {.name = "last_wqe", .fails_when_friendly = true, .seeds = 2},
      {.name = "cq_overrun", .fails_when_friendly = true, .seeds = 2},
      {.name = "reset_drops", .fails_when_friendly = true, .seeds = 2},
      {.name = "rd_atomic", .fails_when_friendly = true, .seeds = 4},
      {.name = "imm_takes_receive", .fails_when_friendly = true, .seeds = 2},
      {.name = "disconnect", .fails_when_friendly = true, .seeds = 4},
      {.name = "before_established", .fails_when_friendly = true, .seeds = 4},
      {.name = "fork_copy", .fails_when_friendly = true, .seeds = 2},
      {.name = "two_threads", .fails_when_friendly = true, .check = "threads", .seeds = 2},
  };
  return all;
}

void PrintTo(const Service& service, std::ostream* out) { *out << service.name; }

const std::vector<Service>& services() {
  static const std::vector<Service> all = {
      {"event_server", "CQ 129 holds [0-9]+ completions? that the program has not polled, .* the program must poll once more after arming",
       "thread-before-|event-on-arm"},
      {"connection_pool", "a call for record [0-9]+ gets the answer to one for record [0-9]+", "thread-|completion-delay|gather-delay"},
      {"key_value_store", "is answered with the reply to request|has a wrong checksum",
       "do not change the buffer (of a request )?until", true},
      {"credit_stream", "has a credit, but no slot in the send queue",
       "completion-delay|ack-delay|ack-coalescing|gather-delay", true},
      {"session_server", "server was ended by signal 11 \\(SIGSEGV\\)", "thread-after-wait|event-delay", true},
  };
  return all;
}

void expect_found(const Service& service, const std::vector<std::string>& options, bool is_explained) {
  const std::string out = ::testing::TempDir() + "/found-" + service.name + "-" + std::to_string(::getpid());
  std::vector<std::string> words = {support::verbatim_program(), "explore", "--out", out, "--time-limit", "5s",
                                    "--topology", support::topology("two_hosts")};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  for (const std::string& command : commands_of({.name = service.name}, "buggy")) words.push_back(command);
  const cli::Finished finished = cli::run_command(words);
  std::error_code ignored;
  std::filesystem::remove_all(out, ignored);
  EXPECT_EQ(finished.code, 1) << finished.err;
  EXPECT_TRUE(std::regex_search(finished.out, std::regex(service.symptom))) << finished.out;
  if (!is_explained) return;
  EXPECT_TRUE(std::regex_search(finished.out, std::regex(service.explanation))) << finished.out;
  EXPECT_TRUE(std::regex_search(finished.out, std::regex("; [1-3] (is|are) enough for the failure"))) << finished.out;
}

Seeds run_seeds(const Pair& pair, const std::string& variant, const std::string& freedom, std::int64_t first,
                std::int64_t last) {
  std::vector<std::string> words = {
      support::verbatim_program(),    "run",     "--topology",
      support::topology("two_hosts"), "--seeds", std::to_string(first) + ".." + std::to_string(last)};
  for (const std::string& option : options_of(pair, freedom)) words.push_back(option);
  words.push_back("--");
  for (const std::string& command : commands_of(pair, variant)) words.push_back(command);
  const cli::Finished finished = cli::run_command(words);
  Seeds seeds;
  seeds.code = finished.code;
  seeds.story = finished.out + finished.err;
  const std::regex failure("(^|\n)seed ([0-9]+): exit code"),
      summary("\nseeds [0-9.]+: ([0-9]+) as expected");
  for (std::sregex_iterator it(finished.out.begin(), finished.out.end(), failure), end; it != end; ++it) {
    seeds.failed.push_back(std::stoll((*it)[2]));
  }
  std::smatch match;
  const std::string text = "\n" + finished.out;
  if (std::regex_search(text, match, summary)) seeds.as_expected = std::stoll(match[1]);
  return seeds;
}

support::RunReport run_seed(const Pair& pair, const std::string& variant, const std::string& freedom,
                            std::int64_t seed, bool call_by_call) {
  support::RunRequest request;
  request.options = options_of(pair, freedom);
  request.options.insert(request.options.end(), {"--seed", std::to_string(seed)});
  if (call_by_call) request.options.push_back("--call-by-call");
  request.options.push_back("--");
  request.commands = commands_of(pair, variant);
  request.trace = true;
  return support::run(request);
}

void expect_same_in_both_modes(const Pair& pair, std::int64_t first, std::int64_t last) {
  if (!pair.fault.empty()) return;
  for (const char* variant : {"buggy", "fixed"}) {
    for (std::int64_t seed = first; seed <= last; ++seed) {
      const support::RunReport slices = run_seed(pair, variant, "spec", seed);
      if (slices.code != 0) continue;
      const support::RunReport oracle = run_seed(pair, variant, "spec", seed, true);
      EXPECT_EQ(slices.code, oracle.code) << oracle.story();
      EXPECT_EQ(slices.trace, oracle.trace) << oracle.command;
      EXPECT_EQ(slices.digest(), oracle.digest());
    }
  }
}

}  // namespace verbatim::litmus
