// Findings of the checks: each mistake with its place, and no finding for the corrected program; off, warn
// and error; checks do not change a run.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using ::testing::ContainsRegex;
using ::testing::MatchesRegex;

struct Mistake {
  const char* check;
  const char* host;
  const char* place;  // of the finding, in the program
  const char* text;
};

class CheckTest : public ::testing::TestWithParam<Mistake> {};

RunReport run(const std::string& check, const std::string& variant, std::vector<std::string> options) {
  support::RunRequest request;
  const std::string program = support::quoted(std::string(CHECKS_FOLDER) + "/mistakes") + " " + check + " " + variant;
  request.commands = {"server=" + program, "client=" + program + " server"};
  request.options = std::move(options);
  return support::run(request);
}

TEST_P(CheckTest, finds_the_mistake_and_nothing_without_it) {
  const Mistake& which = GetParam();
  const std::string on = std::string(which.check) + "=warn";
  const RunReport result = run(which.check, "buggy", {"--check", on});
  EXPECT_EQ(result.code, 0) << result.story();
  const auto& checks = result.report["checks"];
  ASSERT_GE(checks.size(), 1u) << result.story();
  EXPECT_EQ(checks[0]["check"], which.check);
  EXPECT_EQ(checks[0]["level"], "warn");
  EXPECT_THAT(checks[0]["host"].get<std::string>(), MatchesRegex(std::string("host/") + which.host));
  EXPECT_THAT(checks[0]["place"].get<std::string>(), MatchesRegex(which.place));
  EXPECT_THAT(checks[0]["text"].get<std::string>(), MatchesRegex(which.text));
  EXPECT_THAT(result.err, ::testing::HasSubstr(std::string("check ") + which.check + ": host/"));
  auto call_by_call = run(which.check, "buggy", {"--check", on, "--call-by-call"}).report["checks"];
  // If there are many conflicting accesses, the two modes may report different ones.
  if (std::string(which.check) == "threads" && call_by_call.size() == checks.size())
    call_by_call[0]["time_ps"] = checks[0]["time_ps"];
  EXPECT_EQ(call_by_call, checks);

  for (const char* freedom : {"friendly", "spec"}) {
    const RunReport right = run(which.check, "fixed", {"--check", on, "--freedom", freedom});
    EXPECT_EQ(right.code, 0) << right.story();
    EXPECT_EQ(right.report["checks"].size(), 0u) << right.story();
  }
}

TEST(SendBuffer, a_store_of_the_bytes_that_are_there_is_found_where_stores_trap) {
  const std::vector<std::string> options = {"--check", "send-buffer=warn", "--freedom", "spec", "--spec-accesses"};
  const RunReport result = run("same-bytes", "buggy", options);
  EXPECT_EQ(result.code, 0) << result.story();
  ASSERT_GE(result.report["checks"].size(), 1u) << result.story();
  EXPECT_THAT(result.report["checks"][0]["text"].get<std::string>(),
              MatchesRegex("QP [0-9]+: the program wrote to the buffer of the send with wr_id 0 between ibv_post_send and the poll of its completion"));
  EXPECT_THAT(result.report["checks"][0]["place"].get<std::string>(), MatchesRegex("litmus.h:[0-9]+.*"));
  const RunReport right = run("same-bytes", "fixed", options);
  EXPECT_EQ(right.code, 0) << right.story();
  EXPECT_EQ(right.report["checks"].size(), 0u) << right.story();
}

// On ordinary hardware the thread does not sleep: the adapter raises an event for completions that the CQ held before.
TEST(MissedWakeUp, is_found_where_an_event_hides_that_one_of_two_completions_is_left) {
  const std::string program = "missed-wakeup-of-some";
  for (const char* mode : {"--freedom=friendly", "--call-by-call"}) {
    const RunReport result = run(program, "buggy", {"--check", "missed-wakeup=warn", mode});
    EXPECT_EQ(result.code, 0) << result.story();
    const auto& checks = result.report["checks"];
    ASSERT_EQ(checks.size(), 1u) << result.story();
    EXPECT_THAT(checks[0]["text"].get<std::string>(),
                MatchesRegex("thread 1000 waits for the next event of CQ 129, which held 1 completion that it had not polled when it armed the CQ: .*"));
  }
  for (const char* freedom : {"friendly", "spec"}) {
    const RunReport right = run(program, "fixed", {"--check", "missed-wakeup=warn", "--freedom", freedom});
    EXPECT_EQ(right.code, 0) << right.story();
    EXPECT_EQ(right.report["checks"].size(), 0u) << right.story();
  }
}

TEST_P(CheckTest, off_says_nothing_error_fails_and_neither_changes_the_run) {
  const std::string name = GetParam().check;
  const RunReport off = run(name, "buggy", {"--check", name + "=off"});
  EXPECT_EQ(off.code, 0) << off.story();
  EXPECT_EQ(off.report["checks"].size(), 0u) << off.story();
  const RunReport error = run(name, "buggy", {"--check", name + "=error"});
  EXPECT_EQ(error.code, 1) << error.story();
  EXPECT_THAT(error.err, ::testing::HasSubstr("the check " + name + " has found a mistake, which --check makes an error"));
  EXPECT_EQ(error.digest(), off.digest());
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CheckTest,
    ::testing::Values(
        Mistake{"send-buffer", "client", "litmus.h:[0-9]+",
                "QP 72: the buffer of the send with wr_id 0 was changed between ibv_post_send and the poll of its completion"},
        Mistake{"missed-wakeup", "server", "mistakes.c:[0-9]+",
                "thread 1000 sleeps until the next event of CQ 129, which held 1 completion that it had not polled when it armed the CQ: .*"},
        Mistake{"region-in-use", "server", "mistakes.c:[0-9]+ .in region_in_use, from main at mistakes.c:[0-9]+.",
                "thread 1000 deregisters the memory region with lkey 0x[0-9a-f]+ while 1 receive of QP 72 still uses it"},
        Mistake{"receive-buffer", "server", "litmus.h:[0-9]+",
                "QP 72: the program wrote to the buffer of the receive with wr_id 1 between ibv_post_recv and the message for it"},
        Mistake{"late-receive", "server", "litmus.h:[0-9]+",
                "QP 73: its first receive .wr_id 1. was posted after the change to RTR, and the peer could not know of it before it sent: the "
                "message may arrive first, and the peer's rnr_retry is limited"},
        Mistake{"write-target", "server", "mistakes.c:[0-9]+",
                "thread 1000 has waited in a loop until some of 64 bytes at 0x10000000 changed, which an adapter writes, and reads others of them "
                "before it has polled a completion: the bytes of a message arrive in any order"},
        Mistake{"memory-gone", "(client|server)", "mistakes.c:[0-9]+",
                "thread 1000 frees [0-9]+ bytes at 0x[0-9a-f]+ by (munmap|madvise.MADV_DONTNEED.), but a (send|receive) of QP 72 with wr_id [67], "
                "whose completion has not been polled, uses memory there; it was posted at mistakes.c:[0-9]+"},
        Mistake{"undefined-field", "client", "mistakes.c:[0-9]+ .in undefined_field, from main at mistakes.c:[0-9]+.",
                "thread 1001 decides by opcode of a failed completion of QP 72 .wr_id 0, Work Request Flushed Error., in which only wr_id, "
                "status, qp_num and vendor_err are defined"},
        Mistake{"unsignaled", "client", "litmus.h:[0-9]+ .in litmus_send, from unsignaled at mistakes.c:[0-9]+, from main at mistakes.c:[0-9]+.",
                "QP 72: its send queue is full, and none of the 4 work requests in it is signaled: no completion will free a slot"},
        Mistake{"threads", "client", "mistakes.c:[0-9]+ .in poll_single.",
                "threads 100[0-9] and 100[0-9] use CQ 130 at once, although the program promised to use it from one thread at a time"},
        Mistake{"forked-context", "client",
                "litmus.h:[0-9]+ .in litmus_send, from forked_context at mistakes.c:[0-9]+, from main at mistakes.c:[0-9]+.",
                "ibv_post_send: QP 72 belongs to process 100[01], from which this one was forked: verbs objects work only in the process that .*"},
        Mistake{"unacknowledged", "server", "mistakes.c:[0-9]+ .in unacknowledged, from main at mistakes.c:[0-9]+.",
                "thread 1000 destroys CQ 129 and waits until 1 events are acknowledged, the last of which it has taken itself"},
        Mistake{"remote-race", "client", "",
                "a WRITE of 256 bytes at 0x[0-9a-f]+ by client through QP 72 of server is sent before a READ of 256 bytes at .* is "
                "answered, so their order is not defined: give the WRITE IBV_SEND_FENCE, or post it after the READ has completed"},
        Mistake{"leak", "(server|client)", "litmus.h:[0-9]+|mistakes.c:[0-9]+", "the program exits without destroying QP 72"}),
    [](const auto& info) {
      std::string name = info.param.check;
      std::ranges::replace(name, '-', '_');
      return name;
    });

RunReport take_away(const std::string& way, std::vector<std::string> options = {}) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(std::string(CHECKS_FOLDER) + "/memory_gone") + " " + way};
  request.options = std::move(options);
  return support::run(request);
}

TEST(MemoryGone, is_found_whatever_takes_it_away_and_changes_no_digest) {
  const std::pair<const char*, const char*> kWays[] = {
      {"munmap", "munmap"}, {"free", "free"}, {"free_small", "free"}, {"realloc", "realloc"},
      {"realloc_shorter", "realloc"}, {"mremap", "mremap"}, {"map_over", "mmap"}, {"brk", "brk"}, {"shmdt", "shmdt"},
      {"dontneed", "madvise.MADV_DONTNEED."}, {"remove", "madvise.MADV_REMOVE."}, {"thread", "madvise.MADV_DONTNEED."}};
  for (const auto& [way, call] : kWays) {
    const RunReport run = take_away(way);
    const auto& checks = run.report["checks"];
    ASSERT_EQ(checks.size(), 1u) << way << run.story();
    EXPECT_EQ(checks[0]["check"], "memory-gone");
    EXPECT_THAT(checks[0]["text"].get<std::string>(),
                ContainsRegex(std::string(" by ") + call + ", but a receive of QP 72 with wr_id 1, .* posted at memory_gone.c:[0-9]+"));
    const bool is_of_library = std::string(way) == "thread";  // the C library unmaps the stack
    EXPECT_THAT(checks[0]["place"].get<std::string>(), ContainsRegex(is_of_library ? "libc" : "memory_gone.c:[0-9]+")) << way;
    const RunReport unseen = take_away(way, {"--check", "memory-gone=off", "--call-by-call"});
    EXPECT_EQ(unseen.report["checks"].size(), 0u);
    EXPECT_EQ(unseen.digest(), run.digest()) << way;
  }
}

TEST(MemoryGone, is_not_told_of_what_no_request_needs) {
  for (const char* way : {"beside", "deregistered", "refused", "reset", "child", "shared_dontneed", "other_block", "block_deregistered", "rest_of_block"}) {
    const RunReport run = take_away(way, {"--check", "region-in-use=off"});
    EXPECT_EQ(run.code, 0) << way << run.story();
    EXPECT_EQ(run.report["checks"].size(), 0u) << way << run.story();
  }
}

// Two hosts write the same bytes of a third host, milliseconds apart.
RunReport run_third_party(const std::string& way, std::vector<std::string> options = {}) {
  support::RunRequest request{.topology = "star_8"};
  const std::string program = support::quoted(std::string(CHECKS_FOLDER) + "/third_party");
  request.commands = {"h0=" + program + " target " + way, "h1=" + program + " first " + way + " h0",
                      "h2=" + program + " second " + way + " h0"};
  request.options = {"--check", "remote-race=warn"};
  request.options.insert(request.options.end(), options.begin(), options.end());
  return support::run(request);
}

TEST(RemoteRaces, of_two_hosts_are_found_though_they_are_milliseconds_apart) {
  const RunReport run = run_third_party("clock");
  EXPECT_EQ(run.code, 0) << run.story();
  const auto& checks = run.report["checks"];
  ASSERT_EQ(checks.size(), 1u) << run.story();
  EXPECT_EQ(checks[0]["host"], "host/h2");
  EXPECT_THAT(checks[0]["text"].get<std::string>(),
              MatchesRegex("a WRITE of 256 bytes at 0x10000000 by h2 through QP [0-9]+ of h0 is sent [0-9.]+ us after a WRITE of 256 bytes at "
                           "0x10000000 by h1 through QP [0-9]+ of h0 was answered, and h2 has received nothing since that depends on it, so their order is not defined: .*"));
  EXPECT_EQ(run_third_party("clock", {"--call-by-call"}).report["checks"], checks);
}

TEST(RemoteRaces, are_none_when_word_goes_round) {
  for (const char* way : {"tcp", "end", "send", "flag", "read"}) {
    for (const char* freedom : {"friendly", "spec"}) {
      const RunReport run = run_third_party(way, {"--freedom", freedom});
      EXPECT_EQ(run.code, 0) << run.story();
      EXPECT_EQ(run.report["checks"].size(), 0u) << way << run.story();
    }
  }
}

// A litmus program whose worker process reads its own copy of a buffer.
TEST(Checks, a_forked_process_that_fails_is_told_that_its_buffers_are_copies) {
  support::RunRequest request;
  const std::string program = support::quoted(FORK_COPY);
  request.commands = {"server=" + program + " buggy", "client=" + program + " buggy server"};
  const RunReport buggy = support::run(request);
  EXPECT_EQ(buggy.code, 1) << buggy.story();
  const auto& checks = buggy.report["checks"];
  ASSERT_EQ(checks.size(), 1u) << buggy.story();
  EXPECT_EQ(checks[0]["check"], "forked-buffer");
  EXPECT_THAT(checks[0]["text"].get<std::string>(),
              MatchesRegex("the process ends with exit code 1; it is a copy of process 1000, forked at [0-9.]+ us, and adapters have written only to "
                           "the memory of process 1000 since then .last 64 bytes at 0x[0-9a-f]+, at [0-9.]+ us.: this process still has the "
                           "old bytes"));
  EXPECT_THAT(buggy.err, ContainsRegex("possible cause: .*check forked-buffer"));
  support::RunRequest call_by_call = request;
  call_by_call.options = {"--call-by-call"};
  EXPECT_EQ(support::run(call_by_call).report["checks"], checks);
  support::RunRequest repaired = request;
  repaired.commands = {"server=" + program + " fixed", "client=" + program + " fixed server"};
  repaired.options = {"--check", "all=error", "--check", "leak=off"};
  const RunReport fixed = support::run(repaired);
  EXPECT_EQ(fixed.code, 0) << fixed.story();
}

TEST(Checks, whatever_is_left_is_told_with_the_place_where_it_was_made) {
  const RunReport result = run("leak", "buggy", {"--check", "leak=warn"});
  for (const char* what : {"QP 72", "CQ 128", "a memory region", "a protection domain"})
    EXPECT_THAT(result.err, ContainsRegex(std::string("without destroying ") + what + ", at (litmus\\.h|mistakes\\.c):[0-9]+")) << what;
}

TEST(Checks, of_a_stale_key_is_told_where_and_when_its_region_ended) {
  const RunReport result = run("stale-key", "buggy", {});
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, ContainsRegex("there is no memory with rkey 0x[0-9a-f]+: it has been deregistered at mistakes\\.c:[0-9]+, "
                                        "[0-9]+\\.[0-9]+ us before"));
}

TEST(Checks, of_one_kind_a_hundred_are_told_of_a_program_and_the_others_counted) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(std::string(CHECKS_FOLDER) + "/many_leaks"), "client=true"};
  request.options = {"--check", "leak=warn"};
  const RunReport result = support::run(request);
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.report["checks"].size(), 100u);
  EXPECT_EQ(result.report["warnings"], nlohmann::json({"server: many_leaks: 30 more findings of the check leak"})) << result.story();
}

TEST(Checks, a_name_or_level_that_does_not_exist_is_refused) {
  EXPECT_EQ(run("leak", "fixed", {"--check", "leaks=warn"}).code, 2);
  EXPECT_EQ(run("leak", "fixed", {"--check", "leak=loud"}).code, 2);
  EXPECT_EQ(run("leak", "fixed", {"--check", "leak"}).code, 2);
}

TEST(Checks, all_are_named_at_once) {
  EXPECT_GE(run("leak", "buggy", {"--check", "all=error"}).report["checks"].size(), 2u);
  EXPECT_EQ(run("send-buffer", "buggy", {"--check", "all=off"}).report["checks"].size(), 0u);
}

TEST(Checks, how_full_queues_were_is_told) {
  const RunReport result = run("unsignaled", "buggy", {});
  const auto& queues = result.report["queues"];
  const auto found = std::ranges::find_if(queues, [](const auto& entry) { return entry["host"] == "client" && entry["queue"] == "QP 72"; });
  ASSERT_NE(found, queues.end()) << queues;
  EXPECT_EQ((*found)["send_entries"], 4);
  EXPECT_EQ((*found)["send_most"], 4);
  EXPECT_EQ((*found)["send_full"], 4);
  const auto completions = std::ranges::find_if(queues, [](const auto& entry) { return entry.value("queue", "").starts_with("CQ "); });
  ASSERT_NE(completions, queues.end()) << queues;
  EXPECT_GT((*completions)["entries"], 0);
  const auto peer = std::ranges::find_if(queues, [](const auto& entry) { return entry["host"] == "server" && entry["queue"] == "QP 72"; });
  ASSERT_NE(peer, queues.end()) << queues;
  EXPECT_EQ((*peer)["recv_least"], 5);
}

}  // namespace
}  // namespace verbatim
