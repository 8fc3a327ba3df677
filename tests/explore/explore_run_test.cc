// Races are found, shrunk, explained and replayed; invalid input is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/explore/explore_runs.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;

// Runs verbatim while a helper kills its child processes.
Finished verbatim_losing_its_processes(std::vector<std::string> words) {
  const std::vector<std::string> shell = {
      "sh", "-c",
      "\"$@\" & it=$!; while :; do kill -9 $(cat /proc/$it/task/$it/children) 2>/dev/null; done 2>/dev/null & killer=$!; "
      "wait $it; code=$?; kill $killer; exit $code",
      "sh", VERBATIM_PROGRAM};
  words.insert(words.begin(), shell.begin(), shell.end());
  return run_command(std::move(words));
}

TEST_F(Explore, a_race_is_found_made_small_told_and_replayed) {
  const Finished run = explore(out_, {"--runs", "60"}, pair_of("last_byte", "buggy"));
  ASSERT_EQ(run.code, 1) << run.out << run.err;
  expect_found(run.out, "\n  in run [0-9]+: on host server, [^\n]* ended with exit code 1 at [0-9.]+ us\n");
  expect_found(run.out, "\n  made small: on host server, [^\n]* ended with exit code 1 at [0-9.]+ us\n");
  expect_found(run.out, "for the failure \\([0-9]+ runs made it small\\):\n");
  EXPECT_EQ(run.out.find("were used by no run"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("the pieces of a message reach memory in another order"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("ibv_reg_mr(3), ORDERING SEMANTICS"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("write of "), std::string::npos) << run.out;
  const auto file = nlohmann::json::parse(content(replay_));
  EXPECT_LE(file["decisions"].size(), 3u) << run.out;
  EXPECT_GE(file["decisions"].size(), 1u);
  const auto results = nlohmann::json::parse(content(out_ + "/explore.json"));
  EXPECT_EQ(results["failures"].size(), 1u);
  EXPECT_NE(content(out_ + "/junit.xml").find("failures=\"1\""), std::string::npos);

  // From another folder and in both modes the bytes are the same.
  for (const char* mode : {"--quiet", "--call-by-call"}) {
    const Finished again = run_command({VERBATIM_PROGRAM, "replay", mode, replay_}, "/");
    EXPECT_EQ(again.code, 1) << again.err;
    EXPECT_NE(again.out.find("replay: the same failure, with the same digest"), std::string::npos) << again.out << again.err;
  }
  // Ends shortly before the failure.
  const Finished early = verbatim({"replay", "--quiet", "--until", "100ms", replay_});
  EXPECT_EQ(early.code, 4) << early.err;
  EXPECT_NE(early.out.find("replay: the run ended differently from the recorded one"), std::string::npos) << early.out;
}

// The numbers of the lines that contain `text`, as a regular expression: "file.c:(43|52)\b".
std::string lines_with(const std::string& source, const std::string& text) {
  std::ifstream file(std::string(VERBATIM_SOURCE_DIR) + "/tests/litmus/" + source);
  std::string numbers;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find(text) != line.npos) numbers += (numbers.empty() ? "" : "|") + std::to_string(number);
  }
  return source + ":(" + numbers + ")\\b";
}

std::string cause_in(const Finished& run) {
  const std::size_t at = run.out.find("cause: ");
  return at == run.out.npos ? run.out : run.out.substr(at, run.out.find("\n", run.out.find("what to do: ", at)) - at);
}

// The advice belongs to the failure, not to the kind of decision that shows it: three of these are found by a late
// read of a send buffer.
TEST_F(Explore, the_advice_fits_the_mistake_of_the_program) {
  struct Mistake {
    const char *program, *cause, *remedy, *not_said;
  };
  constexpr Mistake kMistakes[] = {
      {"overwritten", "sends other bytes: the buffer was changed", "do not change the buffer of a request until", "on one queue pair"},
      {"two_queues", "a message on QP 73 arrives .* before 256 bytes at 0x[0-9a-f]+ of a message on QP 72", "send both on one queue pair", "do not change"},
      {"read_again", "changed the memory before the READ had been executed", "IBV_SEND_FENCE", "do not change the buffer"},
      {"reply_first", "the send queue is full", "poll CQ 128 until fewer than max_send_wr requests are outstanding", "lock"},
      {"last_byte", "reaches memory in [0-9]+ pieces", "wait for a completion", "lock"},
      {"teardown", "calls ibv_destroy_qp\\(QP 72\\)", "pthread_join", "message"},
      {"stale_completion", "gets the same number", "generation number", "message where"},
      {"ring_tail", "8 bytes at 0x[0-9a-f]+ at .*, then 64 bytes at .* registered with IBV_ACCESS_RELAXED_ORDERING", "without IBV_ACCESS_RELAXED_ORDERING",
       "pieces"},
      {"datagram_order", "a datagram to QP 72 \\(PSN [0-9]+\\) is delayed from .*, after .* sent later", "put them in order", "timeout"},
      {"datagram_lost", "a datagram to QP 72 is lost at", "after a timeout the sender sends again", "scenario"},
      {"slot_reuse", "the sleep does not wait for thread 1002", "let thread 1000 wait for thread 1002 itself", "lock from"},
      {"overrun-gcc", "AddressSanitizer, .* of server, reports heap-buffer-overflow: WRITE of size 1 .* main at overrun\\.c:14", "within the object", "thread T1"},
      {"handed_buffer-gcc", "ThreadSanitizer, .* of client, reports data race: .*main at handed_buffer\\.c:42; .*send_buffer at handed_buffer\\.c:13",
       "order the two accesses", "within the object"},
  };
  for (const Mistake& mistake : kMistakes) {
    // Programs with sanitizers are built only where the compiler has them.
    if (!std::filesystem::exists(std::string(VERBATIM_LITMUS) + "/" + mistake.program)) continue;
    const Finished run = explore(out_, {"--runs", "300"}, pair_of(mistake.program, "buggy"));
    ASSERT_EQ(run.code, 1) << mistake.program << run.out << run.err;
    const std::string cause = cause_in(run);
    expect_found(cause, mistake.cause);
    expect_found(cause, mistake.remedy);
    EXPECT_EQ(cause.find(mistake.not_said), cause.npos) << mistake.program << "\n" << cause;
    EXPECT_EQ(run.out.find("use a lock, a condition variable or a message"), std::string::npos) << run.out;
  }
}

// The word has the same value before and after the delay, and another one in between.
TEST_F(Explore, a_word_that_is_changed_and_changed_back_is_reported) {
  const Finished run =
      explore(out_, {"--runs", "200", "--spec-accesses", "--shrink-time", "10s"}, {"--topology", kTopology, "server=" GIVEN_BACK});
  ASSERT_EQ(run.code, 1) << run.out << run.err;
  expect_found(run.out, "cause: thread [0-9]+ of server is held at given_back\\.c:[0-9]+, before storing 4 bytes at 0x[0-9a-f]+, which become 0x2 "
                        "meanwhile and then 0x0 again: another thread changes them in this time");
}

// A program that fails without a mistake of verbs gets no advice.
TEST_F(Explore, no_advice_is_given_where_no_rule_fits) {
  const Finished run = explore(out_, {"--runs", "1"}, {"--topology", kTopology, "server=sh -c 'echo broken >&2; exit 7'"});
  expect_found(run.out, "cause: not known: no rule of verbatim fits the records of this failure\n  the last calls of server:\n");
  EXPECT_EQ(run.out.find("what to do"), std::string::npos) << run.out;
}

// The other program's request fails because its peer has ended, which is no cause of the peer's end.
TEST_F(Explore, what_follows_from_the_first_end_of_a_program_is_no_cause) {
  const Finished run = explore(out_, {"--runs", "1"}, pair_of("imm_takes_receive", "buggy"));
  expect_found(run.out, "possible cause: the completion that server polls last, .*WRITE with immediate data");
  EXPECT_EQ(run.out.find("find out why it ended"), std::string::npos) << run.out;
}

// A key that was valid is no wrong key, whichever packet of the message finds it invalid.
TEST_F(Explore, a_window_that_is_closed_too_early_is_named) {
  const Finished run = explore(out_, {"--runs", "60"}, pair_of("window_gone", "buggy"));
  expect_found(run.out, "with rkey 0x[1-9a-f][0-9a-f]*(: it has been deregistered| is not bound)");
  expect_found(run.out, "what to do: .* only when every request that names it has completed|what to do: keep the region registered until");
  EXPECT_EQ(run.out.find("rkey 0x0"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("not the lkey"), std::string::npos) << run.out;
}

// The post is in a function that posts for many callers, so the place of the caller comes first.
TEST_F(Explore, the_place_of_a_post_is_outside_the_wrappers_of_the_program) {
  const Finished run = explore(out_, {"--runs", "60"}, pair_of("overwritten", "buggy"));
  expect_found(run.out, "posted at " + lines_with("overwritten.c", "litmus_send(") + ", through litmus\\.h:");
}

TEST_F(Explore, a_late_call_is_named_and_the_ladder_has_the_steps_of_threads) {
  const Finished run = explore(out_, {"--runs", "60"}, pair_of("teardown", "buggy"));
  expect_found(run.out, "> [0-9.]+ .*│ thread 1002 is held at teardown\\.c:");
  expect_found(run.out, "  [0-9.]+ .*│ thread 1000 calls ibv_destroy_qp\\(QP 72\\)");
  expect_found(run.out, "> [0-9.]+ .*│ thread 1002 goes on\n");
  const Finished post = explore(out_, {"--runs", "200"}, pair_of("receive_after_accept", "buggy"));
  expect_found(post.out, "thread-before-local-call number [0-9]+, .*, in ibv_post_recv\\(QP [0-9]+, wr_id 0, .*\\): a thread makes a call late");
  EXPECT_EQ(post.out.find("a clock read"), std::string::npos) << post.out;
}

// Findings are reported for runs that do not fail, too; a failure by a check has the check's whole text.
TEST_F(Explore, findings_of_checks_are_reported) {
  const Finished warned = explore(out_, {"--runs", "3"}, pair_of("two_threads", "buggy"));
  EXPECT_EQ(warned.code, 0) << warned.out;
  expect_found(warned.out, "checks have found mistakes, whether or not the run failed:\n  threads, in 3 of 3 runs, first in run 1: server: threads 1000 and 1002 use CQ 130 at once.*, at two_threads\\.c:17");
  const auto found = nlohmann::json::parse(content(out_ + "/explore.json"))["findings"];
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0]["check"], "threads");
  EXPECT_EQ(found[0]["host"], "server");
  EXPECT_EQ(found[0]["runs"], 3);
  const Finished failed = explore(out_, {"--runs", "3", "--check", "threads=error"}, pair_of("two_threads", "buggy"));
  expect_found(failed.out, "\n  in run 1: the check threads has found a mistake, which --check makes an error: threads 1000 and 1002 use CQ 130 at once");
}

// No run ends within the shortest possible time limit.
TEST_F(Explore, a_failure_for_which_there_was_no_time_is_kept_and_not_called_minimal) {
  const Finished run = explore(out_, {"--runs", "60", "--shrink-time", "1ps"}, pair_of("last_byte", "buggy"));
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("; not minimal: the time was up before a run with them had ended\n"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("did not reproduce"), std::string::npos) << run.out;
  const Finished again = verbatim({"replay", "--quiet", replay_});
  EXPECT_EQ(again.code, 1) << again.out << again.err;
}

TEST_F(Explore, a_late_thread_is_told_with_its_place_in_the_program) {
  const Finished run = explore(out_, {"--runs", "60"}, pair_of("teardown", "buggy"));
  expect_found(run.out, "1\\. thread/[0-9]+, thread-.*, at " + lines_with("teardown.c", "(") + ".*: a thread makes a call late");
}

// Each race is found within 200 runs, needs one or two decisions, is reported with its line, and replayed
// from its file.
TEST_F(Explore, a_race_between_two_accesses_is_found_and_told_with_its_place) {
  for (const char* program : {"plain_counter", "plain_add"}) {
    const Finished run = explore(out_, {"--runs", "200", "--spec-accesses"}, pair_of(program, "buggy"));
    ASSERT_EQ(run.code, 1) << program << run.out << run.err;
    expect_found(run.out, std::string("[12]\\. thread/[0-9]+, thread-before-access number [0-9]+, until [0-9.]+ us, at ") + program +
                              "\\.c:[0-9]+.* bytes at 0x[0-9a-f]+(, which become 0x[0-9a-f]+ meanwhile .*)?: a thread accesses memory late");
    EXPECT_LE(nlohmann::json::parse(content(replay_))["decisions"].size(), 2u) << run.out;
    const Finished again = verbatim({"replay", "--quiet", replay_});
    EXPECT_NE(again.out.find("replay: the same failure, with the same digest"), std::string::npos) << again.out << again.err;
    const Finished repaired = explore(out_, {"--runs", "100", "--spec-accesses"}, pair_of(program, "fixed"));
    EXPECT_EQ(repaired.code, 0) << program << repaired.out << repaired.err;
  }
}

// Without that option some schedules of a search delay threads at accesses.
TEST_F(Explore, a_race_between_two_accesses_is_found_by_a_search_that_was_told_nothing) {
  const Finished run = explore(out_, {"--runs", "400"}, pair_of("claimed_slot", "buggy"));
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_NE(run.out.find("(accesses)"), std::string::npos) << run.out;
  EXPECT_LE(nlohmann::json::parse(content(replay_))["decisions"].size(), 3u) << run.out;
  EXPECT_NE(verbatim({"replay", replay_}).out.find("the same failure, with the same digest"), std::string::npos);
}

TEST_F(Explore, the_result_does_not_depend_on_the_number_of_jobs) {
  const Finished one = explore(out_, {"--runs", "6", "--keep-going", "--jobs", "1"}, pair_of("last_byte", "buggy"));
  const std::string replay = content(replay_);
  const Finished four = explore(out_, {"--runs", "6", "--keep-going", "--jobs", "4"}, pair_of("last_byte", "buggy"));
  EXPECT_EQ(one.code, 1) << one.err;
  EXPECT_EQ(one.out, four.out);
  EXPECT_EQ(replay, content(replay_));
}

TEST_F(Explore, the_repair_does_not_fail_and_the_bound_is_told) {
  const Finished run = explore(out_, {"--runs", "20"}, pair_of("last_byte", "fixed"));
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  expect_found(run.out, "explored 20 schedules, [0-9]+ different, with freedom spec, strategy portfolio: 0 failed, of 0 kinds\n");
  EXPECT_NE(run.out.find("0 of 20 runs failed: with 95 % confidence, less than 14 % of such schedules fail\n"), std::string::npos) << run.out;
  EXPECT_NE(content(out_ + "/junit.xml").find("failures=\"0\""), std::string::npos);
  const std::size_t unused = nlohmann::json::parse(content(out_ + "/explore.json"))["unused"].size();
  expect_found(run.out, std::to_string(unused) + " freedoms were used by no run; explore.json names them \\(unused\\)\n");
}

// An older file may be the only record of its failure.
TEST_F(Explore, files_of_an_earlier_search_are_kept_and_named) {
  std::filesystem::create_directories(out_);
  for (const char* name : {"failure-1.replay", "failure-2.rec", "failure-2.vbundle", "failures.txt"}) std::ofstream(out_ + "/" + name) << "older\n";
  const Finished sound = explore(out_, {"--runs", "3"}, pair_of("last_byte", "fixed"));
  EXPECT_EQ(sound.code, 0) << sound.err;
  expect_found(sound.err, "note: .*/failure-1.replay is of an earlier search\nverbatim: note: .*/failure-2.rec is of an earlier "
                          "search\nverbatim: note: .*/failure-2.vbundle is of an earlier search\n");
  EXPECT_EQ(content(replay_), "older\n");
  const Finished found = explore(out_, {"--runs", "1", "--quiet"}, {"--topology", kTopology, "server=false"});
  EXPECT_EQ(found.code, 1) << found.err;
  EXPECT_EQ(found.err.find("note: "), std::string::npos) << found.err;
  EXPECT_NE(content(replay_), "older\n");
}

// Each search loses one datagram and lets one be overtaken, without being asked to.
TEST_F(Explore, a_lost_and_an_overtaken_datagram_are_tried_unasked) {
  for (const auto& [program, decision] : {std::pair("datagram_lost", "a datagram is lost"),
                                          std::pair("datagram_order", "a datagram arrives after datagrams that were sent later")}) {
    const Finished run = explore(out_, {"--runs", "60"}, pair_of(program, "buggy"));
    EXPECT_EQ(run.code, 1) << run.out << run.err;
    EXPECT_NE(run.out.find(decision), std::string::npos) << run.out;
    const Finished again = verbatim({"replay", "--quiet", replay_});
    EXPECT_NE(again.out.find("replay: the same failure, with the same digest"), std::string::npos) << again.out << again.err;
    const Finished repaired = explore(out_, {"--runs", "80"}, pair_of(program, "fixed"));
    EXPECT_EQ(repaired.code, 0) << repaired.out << repaired.err;
  }
}

TEST_F(Explore, a_grace_period_that_is_shorter_than_a_preemption_is_found) {
  const Finished run = explore(out_, {"--runs", "300"}, pair_of("slot_reuse", "buggy"));
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  EXPECT_LE(nlohmann::json::parse(content(replay_))["decisions"].size(), 2u) << run.out;
}

// Without IBV_ACCESS_RELAXED_ORDERING the order of WRITEs is kept, except by the quirk.
TEST_F(Explore, writes_overtake_each_other_in_a_region_without_relaxed_ordering_only_by_a_quirk) {
  EXPECT_EQ(explore(out_, {"--runs", "40"}, pair_of("ring_tail", "fixed")).code, 0);
  const Finished quirk = explore(out_, {"--runs", "40", "--freedom", "quirk:unordered-writes"}, pair_of("ring_tail", "fixed"));
  EXPECT_EQ(quirk.code, 1) << quirk.out << quirk.err;
  EXPECT_NE(quirk.out.find("a WRITE is visible before an earlier WRITE of its queue pair"), std::string::npos) << quirk.out;
}

// A program that waits for an event that hardware with the quirk does not raise.
TEST_F(Explore, what_fails_by_a_quirk_is_told_to_be_a_matter_of_the_hardware_and_is_replayed) {
  const Finished allowed = explore(out_, {"--runs", "40"}, pair_of("last_wqe", "fixed"));
  EXPECT_EQ(allowed.code, 0) << allowed.out << allowed.err;
  EXPECT_EQ(allowed.out.find("goes beyond the specification"), std::string::npos) << allowed.out;
  const Finished run = explore(out_, {"--runs", "40", "--freedom", "quirk:no-last-wqe"}, pair_of("last_wqe", "fixed"));
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  expect_found(run.out, "explored [0-9]+ schedules, [0-9]+ different, with freedom quirk:no-last-wqe, ");
  EXPECT_NE(run.out.find("hardware that violates the specification as follows:\n  no-last-wqe: "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("IBV_EVENT_QP_LAST_WQE_REACHED is not raised"), std::string::npos)
      << run.out;
  EXPECT_EQ(nlohmann::json::parse(content(replay_))["freedom"], "quirk:no-last-wqe");
  const Finished again = verbatim({"replay", replay_});
  EXPECT_EQ(again.code, 3) << again.err;  // it waits for ever
  EXPECT_NE(again.out.find("replay: the same failure, with the same digest"), std::string::npos) << again.out << again.err;
}

TEST_F(Explore, without_freedom_there_is_nothing_to_explore) {
  EXPECT_EQ(explore(out_, {"--runs", "2", "--freedom", "friendly"}, pair_of("last_byte", "fixed")).code, 2);
}

TEST_F(Explore, a_failure_that_needs_no_decision_says_so) {
  const Finished run = explore(out_, {"--runs", "2"}, {"--topology", kTopology, "server=sh -c 'echo broken >&2; exit 7'"});
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("server ended with exit code 7, with the last words: broken"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("it fails without any decision"), std::string::npos) << run.out;
}

TEST_F(Explore, a_run_that_the_machine_kills_ends_the_search_and_is_no_failure_of_the_program) {
  const std::string takes_long = "server=sh -c 'i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done'";
  // Repeated, because the kill may hit processes before their first schedule or during it.
  for (int i = 0; i < 20; ++i) {
    const Finished search =
        verbatim_losing_its_processes({"explore", "--out", out_, "--runs", "5", "--topology", kTopology, takes_long});
    ASSERT_EQ(search.code, 71) << search.out << search.err;
    ASSERT_NE(search.err.find("run 1 (default): the run's process was killed from outside (signal 9, SIGKILL)"), std::string::npos)
        << search.err;
    ASSERT_EQ(search.out, "");
  }

  const Finished seeds =
      verbatim_losing_its_processes({"run", "--topology", kTopology, "--seeds", "1..2", takes_long});
  EXPECT_EQ(seeds.code, 71) << seeds.out << seeds.err;
  EXPECT_NE(seeds.out.find("seed 1: exit code 71: the run's process was killed from outside"), std::string::npos) << seeds.out;

  // The same during shrinking, for a program that fails late.
  const std::string fails_late = "server=sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 1'";
  ASSERT_EQ(explore(out_, {"--runs", "1"}, {"--topology", kTopology, fails_late}).code, 1);
  const Finished shrunk = verbatim_losing_its_processes({"shrink", replay_});
  EXPECT_EQ(shrunk.code, 71) << shrunk.out << shrunk.err;
}

TEST_F(Explore, output_can_be_the_failure) {
  const std::vector<std::string> what = {"--topology", kTopology, "server=echo balance -3"};
  EXPECT_EQ(explore(out_, {"--runs", "1"}, what).code, 0);
  const Finished run = explore(out_, {"--runs", "1", "--fail-on", "balance -[0-9]"}, what);
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("has the line \"balance -3\", which matches --fail-on"), std::string::npos) << run.out;
  EXPECT_EQ(verbatim({"replay", "--quiet", replay_}).code, 1);
}

TEST_F(Explore, it_is_told_how_many_schedules_made_a_difference) {
  // A program that does not use the adapter has few different schedules.
  const std::vector<std::string> what = {"--topology", kTopology, "server=true"};
  const Finished one = explore(out_, {"--runs", "40", "--jobs", "1"}, what);
  const auto results = nlohmann::json::parse(content(out_ + "/explore.json"));
  EXPECT_EQ(results["runs"], 40);
  EXPECT_GE(results["different"], 1);
  EXPECT_LT(results["different"], 40);
  EXPECT_NE(one.out.find("explored 40 schedules, " + results["different"].dump() + " different, with"), std::string::npos) << one.out;
  EXPECT_EQ(explore(out_, {"--runs", "40", "--jobs", "4"}, what).out, one.out);
}

TEST_F(Explore, systematic_search_is_complete_for_a_small_program) {
  const Finished run =
      explore(out_, {"--runs", "1000", "--strategy", "delay:1"}, {"--topology", kTopology, "server=true"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("complete: every schedule with at most 1 decision that differs from the default was run"), std::string::npos)
      << run.out;
}

// The digest over all runs of a search.
std::string digest_of(const std::string& out, const std::vector<std::string>& options, const std::vector<std::string>& what,
                      const std::string& seed = "3") {
  fs::remove_all(out);
  std::vector<std::string> all = {"--keep-going", "--shrink-time", "1 ms", "--seed", seed};
  all.insert(all.end(), options.begin(), options.end());
  const Finished run = explore(out, all, what);
  EXPECT_TRUE(run.code == 0 || run.code == 1) << run.err;
  return nlohmann::json::parse(content(out + "/explore.json"))["digest"];
}

TEST_F(Explore, a_run_after_others_is_the_same_as_one_that_is_started_afresh) {
  for (const char* program : {"disconnect", "torn_read"}) {
    const auto what = pair_of(program, "fixed");
    // The random strategy, because one that learns from the order of choices has other schedules call by
    // call.
    const std::string usual = digest_of(out_, {"--runs", "4", "--strategy", "random"}, what);
    EXPECT_EQ(usual, digest_of(out_, {"--runs", "4", "--strategy", "random", "--afresh"}, what)) << program;
    EXPECT_EQ(usual, digest_of(out_, {"--runs", "4", "--strategy", "random", "--jobs", "1"}, what)) << program;
    // These seeds have no delay of milliseconds, during which programs would poll call by call.
    const std::vector<std::string> few = {"--runs", "3", "--strategy", "random"};
    const std::vector<std::string> call_by_call = {"--runs", "3", "--strategy", "random", "--call-by-call"};
    EXPECT_EQ(digest_of(out_, few, what, "10"), digest_of(out_, call_by_call, what, "10")) << program;
  }
}

TEST_F(Explore, so_it_is_with_programs_that_start_others_and_leave_files) {
  const std::vector<std::string> what = {
      "--topology", kTopology,
      "server=sh -c 'ls -a /tmp $HOME; echo left > /tmp/left; cat /tmp/left; ls /proc/self/fd; (umask 77; trap \"\" HUP; umask; env)'"};
  EXPECT_EQ(digest_of(out_, {"--runs", "6"}, what), digest_of(out_, {"--runs", "6", "--afresh"}, what));
}

TEST_F(Explore, a_program_that_is_replaced_while_it_is_explored_is_started_anew) {
  // Each run replaces its program file and executes it. The file is outside the working folder, of which each
  // run has a copy.
  fs::create_directory(folder_.path() + "/work");
  std::ofstream(folder_.path() + "/next") << "basename";
  std::ofstream(folder_.path() + "/go.sh") << "cd ..\n"
                                              "next=$(cat next)\n"
                                              "[ $next = basename ] && printf dirname > next || printf basename > next\n"
                                              "cp /usr/bin/$next new && mv new program && ./program x/y\n";
  const Finished run = run_command({VERBATIM_PROGRAM, "explore", "--out", out_, "--jobs", "1", "--runs", "6", "--keep-going",
                                    "--fail-on", "^x$", "--shrink-time", "1 ms", "--topology",
                                    std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology, "server=sh " + folder_.path() + "/go.sh"},
                                   folder_.path() + "/work");
  EXPECT_NE(run.out.find("3 failed, of 1 kind"), std::string::npos) << run.out << run.err;
}

TEST_F(Explore, a_program_that_has_changed_is_refused_by_name) {
  const std::string program = folder_.path() + "/program";
  const auto write_program = [&](const char* text) {
    std::ofstream(program) << text;
    fs::permissions(program, fs::perms::owner_all);
  };
  write_program("#!/bin/sh\nexit 3\n");
  ASSERT_EQ(explore(out_, {"--runs", "1"}, {"--topology", kTopology, "server=" + program}).code, 1);
  ASSERT_EQ(verbatim({"replay", "--quiet", replay_}).code, 1);
  write_program("#!/bin/sh\nexit 0\n");
  const Finished strict = verbatim({"replay", "--quiet", replay_});
  EXPECT_EQ(strict.code, 2);
  EXPECT_NE(strict.err.find(program + " has changed"), std::string::npos) << strict.err;
  const Finished relaxed = verbatim({"replay", "--quiet", "--relaxed", replay_});
  EXPECT_EQ(relaxed.code, 0) << relaxed.err;
  EXPECT_NE(relaxed.out.find("replay: the run ended differently from the recorded one"), std::string::npos) << relaxed.out;
}

TEST_F(Explore, shrink_bisect_and_focus_work_on_what_was_found) {
  ASSERT_EQ(explore(out_, {"--runs", "60", "--shrink-time", "1 ns"}, pair_of("reply_first", "buggy")).code, 1);
  const auto before = nlohmann::json::parse(content(replay_));
  const std::string small = folder_.path() + "/small.replay", none = folder_.path() + "/none.replay";
  const Finished shrunk = verbatim({"shrink", "-o", small, replay_});
  EXPECT_EQ(shrunk.code, 0) << shrunk.err;
  // The report has source locations for the late completion and for the event that it follows.
  const std::string posted = "posted at [^)]*" + lines_with("reply_first.c", "litmus_send(");
  expect_found(shrunk.out, "completion of wr_id 0, QP 72, in CQ 128 \\(" + posted + ".*, after .*" + posted);
  const auto after = nlohmann::json::parse(content(small));
  EXPECT_LT(after["decisions"].size(), before["decisions"].size());
  EXPECT_LE(after["decisions"].size(), 3u) << shrunk.out;
  EXPECT_EQ(verbatim({"replay", "--quiet", small}).code, after["signature"].get<std::string>().starts_with("deadlock") ? 3 : 1);

  auto good = before;
  good["decisions"] = nlohmann::json::array();
  std::ofstream(none) << good;
  const Finished bisected = verbatim({"bisect", none, replay_});
  EXPECT_EQ(bisected.code, 0) << bisected.err;
  EXPECT_NE(bisected.out.find("makes the run fail: with this decision\n"), std::string::npos) << bisected.out;
  EXPECT_EQ(verbatim({"bisect", replay_, none}).code, 2);

  const Finished near = explore(out_, {"--runs", "3", "--keep-going", "--focus", small}, pair_of("reply_first", "buggy"));
  EXPECT_EQ(near.code, 1) << near.err;
  EXPECT_NE(near.out.find("strategy near"), std::string::npos) << near.out;
  // After the repair the output has an upper bound of the failure rate.
  const Finished repaired = explore(out_, {"--runs", "5", "--focus", small}, pair_of("reply_first", "fixed"));
  EXPECT_EQ(repaired.code, 0) << repaired.out;
  EXPECT_NE(repaired.out.find("0 of 5 runs failed: with 95 % confidence"), std::string::npos) << repaired.out;
}

// Also if the failure of a shorter run needs other decisions, and for any number of parallel runs.
TEST_F(Explore, arguments_that_have_a_range_become_as_small_as_still_fails) {
  const std::string path = "'" + std::string(VERBATIM_LITMUS) + "/last_byte' buggy ";
  const std::vector<std::string> what = {"--topology", kTopology, "--range", "records=1..100", "server=" + path + "- {records}",
                                         "client=" + path + "server {records}"};
  const Finished found = explore(out_, {"--runs", "60"}, what);
  ASSERT_EQ(found.code, 1) << found.out << found.err;
  expect_found(found.out, "\n  records 100 -> 1\n  [0-9]+ decisions? differ");
  const std::string kept = content(replay_);
  const auto file = nlohmann::json::parse(kept);
  EXPECT_EQ(file["arguments"]["records"], 1);
  const Finished alone = explore(out_, {"--runs", "60", "--jobs", "1"}, what);
  EXPECT_EQ(found.out, alone.out);
  EXPECT_EQ(kept, content(replay_));
  EXPECT_LE(file["decisions"].size(), 3u) << found.out;
  const auto failure = nlohmann::json::parse(content(out_ + "/explore.json"))["failures"][0];
  EXPECT_EQ(failure["arguments"], nlohmann::json::parse(R"({"records": {"range": "1..100", "found": 100, "value": 1}})"));

  const std::string run = folder_.path() + "/run";
  const Finished again = verbatim({"replay", "--out", run, replay_});
  EXPECT_NE(again.out.find("replay: the same failure, with the same digest"), std::string::npos) << again.out << again.err;
  const auto json = nlohmann::json::parse(content(run + "/run.json"));
  EXPECT_EQ(json["programs"][0]["argv"].back(), "1");
  EXPECT_EQ(json["arguments"], nlohmann::json::parse(R"({"records": {"range": "1..100", "value": 1}})"));
  EXPECT_NE(verbatim({"explain", run}).out.find("records 100 -> 1\n"), std::string::npos);
}

TEST_F(Explore, shrink_makes_the_arguments_of_a_scenario_small_and_set_chooses_them) {
  // Six lines or more fail; the number in the message does not make another kind of failure.
  const std::string program = R"(i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; [ $1 -lt 6 ] || { echo $i of $2 >&2; exit 1; })";
  const std::string scenario = folder_.write(
      "s.json", nlohmann::json{{"topology", std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology},
                               {"ranges", {{"lines", "2..90"}, {"files", "1..7"}}},
                               {"programs", nlohmann::json::array({{{"host", "server"}, {"command", {"sh", "-c", program, "sh", "{lines}", "{files}"}}}})}}
                    .dump());
  const Finished few = verbatim({"run", "--set", "lines=5", scenario});
  EXPECT_EQ(few.code, 0) << few.err;
  ASSERT_EQ(explore(out_, {"--runs", "1", "--set", "files=3", "--shrink-time", "1 ns"}, {scenario}).code, 1);
  EXPECT_EQ(nlohmann::json::parse(content(replay_))["arguments"], nlohmann::json::parse(R"({"files": 3, "lines": 90})"));
  const Finished small = verbatim({"shrink", replay_});
  EXPECT_EQ(small.code, 0) << small.err;
  EXPECT_NE(small.out.find("\n  files 3 -> 1\n  lines 90 -> 6\n  it fails without any decision"), std::string::npos) << small.out;
  EXPECT_NE(verbatim({"replay", replay_}).out.find("the same failure, with the same digest"), std::string::npos);
  const Finished smallest = verbatim({"shrink", "--json", replay_});
  EXPECT_EQ(nlohmann::json::parse(smallest.out)["arguments"]["lines"],
            nlohmann::json::parse(R"({"range": "2..90", "found": 6, "value": 6})")) << smallest.out;
}

// A failure that occurs with a seed is kept without a search.
TEST_F(Explore, a_run_with_freedom_keeps_what_it_chose) {
  const auto seed = [&](const char* number, const std::string& out) {
    std::vector<std::string> words = {"run", "--freedom", "spec", "--seed", number, "--out", out};
    const std::vector<std::string> pair = pair_of("last_byte", "buggy");
    words.insert(words.end(), pair.begin(), pair.end());
    return verbatim(words);
  };
  const std::string bad = folder_.path() + "/bad", good = folder_.path() + "/good", small = folder_.path() + "/small.replay";
  const Finished failed = seed("1", bad);
  ASSERT_EQ(failed.code, 1) << failed.err;
  ASSERT_EQ(seed("3", good).code, 0);
  const auto kept = nlohmann::json::parse(content(bad + "/run.replay"));
  EXPECT_GT(kept["decisions"].size(), 10u);
  EXPECT_EQ(kept["digest"], nlohmann::json::parse(content(bad + "/run.json"))["digest"]);
  EXPECT_NE(verbatim({"replay", bad + "/run.replay"}).out.find("the same failure, with the same digest"), std::string::npos);
  EXPECT_NE(verbatim({"replay", good + "/run.replay"}).out.find("the same run, with the same digest"), std::string::npos);
  EXPECT_EQ(verbatim({"shrink", "-o", small, bad + "/run.replay"}).code, 0);
  EXPECT_LE(nlohmann::json::parse(content(small))["decisions"].size(), 3u);
  EXPECT_EQ(verbatim({"shrink", good + "/run.replay"}).code, 2);
  const Finished bisected = verbatim({"bisect", good + "/run.replay", bad + "/run.replay"});
  EXPECT_EQ(bisected.code, 0) << bisected.err;
  EXPECT_NE(bisected.out.find("makes the run fail"), std::string::npos) << bisected.out;
  EXPECT_EQ(verbatim({"bisect", bad + "/run.replay", good + "/run.replay"}).code, 2);
}

TEST_F(Explore, what_cannot_be_used_is_refused) {
  const std::vector<std::string> what = {"--topology", kTopology, "server=true"};
  EXPECT_EQ(explore(out_, {"--strategy", "luck"}, what).code, 2);
  EXPECT_EQ(explore(out_, {"--time", "soon"}, what).code, 2);
  EXPECT_EQ(explore(out_, {"--runs", "0"}, what).code, 2);
  EXPECT_EQ(explore(out_, {"--fail-on", "("}, what).code, 2);
  EXPECT_EQ(explore(out_, {"--focus", "no/such/file"}, what).code, 2);
  EXPECT_EQ(explore(out_, {"--runs", "1"}, {"--topology", kTopology, "nobody=true"}).code, 2);
  EXPECT_EQ(explore(out_, {"--runs", "1", "--set", "n=1"}, what).code, 2);
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_EQ(verbatim({"replay", "no/such/file"}).code, 2);
  EXPECT_EQ(verbatim({"replay", std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology}).code, 2);
  ASSERT_EQ(explore(out_, {"--runs", "1"}, {"--topology", kTopology, "server=false"}).code, 1);
  // A file that is cut anywhere before its last brace is refused.
  std::string whole = content(replay_);
  whole.resize(whole.find_last_of('}') + 1);
  const std::string damaged = folder_.path() + "/damaged.replay";
  for (std::size_t cut = 0; cut < whole.size(); cut += whole.size() / 8) {
    std::ofstream(damaged) << whole.substr(0, cut);
    EXPECT_EQ(verbatim({"replay", damaged}).code, 2) << cut;
  }
  auto other_format = nlohmann::json::parse(whole);
  other_format["replay"] = 1;
  std::ofstream(damaged) << other_format;
  const auto refused = verbatim({"replay", damaged});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("has format 1"), std::string::npos) << refused.err;
  for (const char* key : {"words", "decisions", "contents", "files", "digest", "profile_folders"}) {
    auto json = nlohmann::json::parse(whole);
    json[key] = 5;
    std::ofstream(damaged) << json;
    EXPECT_EQ(verbatim({"replay", damaged}).code, 2) << key;
    json.erase(key);
    std::ofstream(damaged) << json;
    EXPECT_EQ(verbatim({"replay", damaged}).code, 2) << key;
  }
}

}  // namespace
}  // namespace verbatim::cli
