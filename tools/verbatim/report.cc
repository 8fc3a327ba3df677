#include "tools/verbatim/report.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "sim/config/words.h"
#include "sim/core/time_text.h"
#include "sim/observe/folder_content.h"
#include "tools/verbatim/fail_pattern.h"
#include "tools/verbatim/kept_digest.h"
#include "tools/verbatim/program_ends.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/run_congestion.h"
#include "tools/verbatim/unused_rdma.h"

namespace verbatim::cli {

namespace {

std::string_view name_of(supervisor::Outcome outcome) {
  switch (outcome) {
    case supervisor::Outcome::kFinished:
      return "finished";
    case supervisor::Outcome::kDeadlock:
      return "deadlock";
    case supervisor::Outcome::kTimeLimit:
      return "time-limit";
    case supervisor::Outcome::kStuck:
      return "stuck";
    case supervisor::Outcome::kInterrupted:
      return "interrupted";
    case supervisor::Outcome::kMachine:
      return "machine";
    case supervisor::Outcome::kNotStarted:
      return "not-started";
  }
  CHECK(false);
}

std::string missing_output(const std::vector<std::string>& expected, const std::string& text) {
  std::size_t from = 0;
  for (const std::string& wanted : expected) {
    const std::size_t at = text.find(wanted, from);
    if (at == std::string::npos) return wanted;
    from = at + wanted.size();
  }
  return "";
}

// The first matching line; empty if there is none.
std::string first_line_with(const std::string& text, const std::regex& pattern) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, pattern)) return line;
  }
  return "";
}

// Members that do not apply to a queue are left out.
nlohmann::ordered_json queues_of(const supervisor::RunResult& result) {
  nlohmann::ordered_json queues = nlohmann::ordered_json::array();
  for (const supervisor::QueueFigures& figures : result.queues) {
    nlohmann::ordered_json entry = {{"host", figures.host}, {"pid", figures.process}, {"queue", figures.queue}};
    if (figures.entries != 0) {
      entry["entries"] = figures.entries;
      entry["most"] = figures.most;
    }
    if (figures.send_entries != 0) {
      entry["send_entries"] = figures.send_entries;
      entry["send_most"] = figures.send_most;
      entry["send_full"] = figures.send_full;
      entry["rnr_naks"] = figures.rnr_naks;
    }
    if (figures.recv_entries != 0) {
      entry["recv_entries"] = figures.recv_entries;
      entry["recv_least"] = figures.receives_taken != 0 ? nlohmann::ordered_json(figures.recv_least) : nlohmann::ordered_json();
      entry["receives_taken"] = figures.receives_taken;
    }
    queues.push_back(std::move(entry));
  }
  return queues;
}

// Process 0 means the fabric, or several processes.
std::string of_process(std::uint32_t pid) { return pid == 0 ? "" : ", process " + std::to_string(pid); }

nlohmann::ordered_json losses_of(const observe::Losses& losses, const std::vector<std::string>& failed_links) {
  nlohmann::ordered_json json = {{"packets_dropped", losses.packets_dropped()},
                                 {"packets_discarded", losses.packets_discarded()},
                                 {"packets_sent_again", losses.packets_sent_again()},
                                 {"retries", losses.retries()},
                                 {"rnr_naks", losses.rnr_naks()},
                                 {"most_retried_message", nullptr}};
  json["failed_links"] = failed_links;
  if (losses.any()) json["text"] = losses_text(losses, failed_links);
  if (const observe::Losses::Message worst = losses.worst_message(); worst.retries != 0) {
    json["most_retried_message"] = {{"adapter", worst.adapter}, {"qpn", worst.qpn}, {"psn", worst.psn},
                                    {"retries", worst.retries}, {"first_ps", worst.first_ps}, {"last_ps", worst.last_ps}};
  }
  return json;
}

}  // namespace

namespace {

std::string text_of_link_down(const config::FaultSpec& fault) {
  const auto at = [](Duration time) { return time_text(instant_from_ps(time.count())); };
  return "the link " + fault.link + " went down at " + at(fault.at) +
         (fault.until.count() != 0 ? " until " + at(fault.until) : " for the rest of the run");
}

}  // namespace

std::vector<std::string> failed_links_of(const RunPlan& plan, const RunFigures& figures) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < figures.faults.size(); ++i) {
    const config::FaultSpec& fault = plan.scenario.faults[i];
    if (fault.action == "link_down" && !fault.is_drawn && figures.faults[i].fired != 0) sentences.push_back(text_of_link_down(fault));
  }
  return sentences;
}

std::vector<std::string> drawn_failures_of(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < figures.faults.size(); ++i) {
    const config::FaultSpec& fault = plan.scenario.faults[i];
    if (!fault.is_drawn || figures.faults[i].fired == 0) continue;
    if (fault.of_adapter()) {
      sentences.push_back("the adapter of " + fault.host + " failed at " + time_text(instant_from_ps(fault.at.count())));
    } else {
      sentences.push_back(text_of_link_down(fault));
    }
  }
  for (std::size_t i = 0; i < result.programs.size(); ++i) {
    const config::ProgramSpec& spec = plan.scenario.programs[i];
    if (!spec.kill_is_drawn || result.programs[i].signal != SIGKILL) continue;
    sentences.push_back("on host " + spec.host + ", `" + config::join_words(spec.command) + "` was killed at " + time_text(instant_from_ps(spec.kill.count())));
  }
  return sentences;
}

std::vector<std::string> warnings_of(const RunPlan& plan, const supervisor::RunResult& result,
                                     const RunFigures& figures) {
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < result.programs.size(); ++i) {
    const config::ProgramSpec& spec = plan.scenario.programs[i];
    if (spec.kill.count() == 0 || spec.kill_is_drawn || result.programs[i].signal == SIGKILL) continue;
    warnings.push_back("on host " + spec.host + ", `" + config::join_words(spec.command) +
                       "` was not killed, since it had already ended");
  }
  for (std::size_t i = 0; i < figures.faults.size(); ++i) {
    const config::FaultSpec& fault = plan.scenario.faults[i];
    if (figures.faults[i].fired != 0 || fault.is_drawn) continue;
    std::string text =
        (fault.pointer.empty() ? "a --fault" : "the fault " + fault.pointer) + " (" + fault.action;
    if (fault.action == "link_down" || fault.action == "pause_storm" || fault.of_adapter()) {
      text += ") never happened: the run ended before its time";
    } else if (fault.is_random()) {
      text += ") never happened: none of the " + std::to_string(figures.faults[i].seen) + " packets that it applies to was drawn";
    } else {
      text += ") never happened: it hits packet number " + std::to_string(fault.nth) + " of those it applies to, and only " +
              std::to_string(figures.faults[i].seen) + (fault.of_management() ? " were sent" : " were sent on that link");
    }
    warnings.push_back(std::move(text));
  }
  std::string unused_rdma = unused_rdma_text(plan.scenario, result, figures.packets);
  if (!unused_rdma.empty()) warnings.push_back(std::move(unused_rdma));
  constexpr std::size_t kMostMismatches = 5;  // that are listed
  const std::vector<std::string>& mismatches = plan.scenario.topology.mismatches;
  for (std::size_t i = 0; i < std::min(kMostMismatches, mismatches.size()); ++i) warnings.push_back("mismatch: " + mismatches[i]);
  if (mismatches.size() > kMostMismatches) warnings.push_back("and " + std::to_string(mismatches.size() - kMostMismatches) + " more mismatches");
  return warnings;
}

std::vector<std::string> slow_waits(const supervisor::RunResult& result, double wall_seconds) {
  constexpr double kLeastPolling = 0.2;  // seconds
  // An interrupted run names its waits; computation is of interest if the run was mostly that.
  const double kLongComputing = result.outcome == supervisor::Outcome::kInterrupted ? wall_seconds / 2 : 3;
  std::vector<std::string> sentences;
  for (const supervisor::WaitingTime& time : result.waiting) {
    if (time.polling_seconds < kLeastPolling || time.polling_seconds < wall_seconds / 10) continue;
    char figures[64];
    std::snprintf(figures, sizeof figures, "%.1f s of %.1f s", time.polling_seconds, wall_seconds);
    std::string sentence = time.thread + ": " + figures + " of real time in a poll loop that finds nothing";
    if (!time.place.empty()) sentence += " at " + time.place;
    sentence += ", which could not be proven to be a wait";
    sentences.push_back(time.refusal.empty() ? sentence : sentence + ", since it " + time.refusal);
  }
  for (const supervisor::WaitingTime& time : result.waiting) {
    if (time.computing_seconds < kLongComputing || time.computing_seconds < wall_seconds / 10) continue;
    sentences.push_back(fmt::format("{}: {:.1f} s of {:.1f} s of real time in computation{}, in which no virtual time passes; if it waits "
                                    "for memory to change, this could not be proven",
                                    time.thread, time.computing_seconds, wall_seconds,
                                    time.computing_place.empty() ? "" : " at or near " + time.computing_place));
  }
  return sentences;
}

void log_diagnoses(const std::vector<observe::DiagnosisLog::Entry>& diagnoses) {
  constexpr std::size_t kMostOfOne = 5;
  std::map<std::uint32_t, std::size_t> logged;  // number of diagnoses logged, by process
  for (const observe::DiagnosisLog::Entry& entry : diagnoses) {
    const bool is_usual = entry.error == EOPNOTSUPP || entry.error == EAGAIN || entry.error == ENOMEM;
    const auto level = is_usual ? spdlog::level::info : spdlog::level::warn;
    if (!is_usual && ++logged[entry.process] > kMostOfOne) continue;
    spdlog::log(level, "{}{}, at {}: {}{}", entry.component, of_process(entry.process), time_text(entry.time_ps), entry.text, entry.times > 1 ? fmt::format(" ({} times)", entry.times) : "");
  }
  for (const auto& [process, count] : logged) {
    if (count > kMostOfOne) spdlog::warn("process {}: {} more failed verbs and work requests, in run.json (--out) and --trace", process, count - kMostOfOne);
  }
}

void log_checks(const std::vector<observe::CheckLog::Entry>& findings, const CheckLevels& levels) {
  constexpr std::size_t kMostOfOne = 10;
  std::map<std::uint32_t, std::size_t> logged;  // number of findings logged, by process
  for (const observe::CheckLog::Entry& entry : findings) {
    if (++logged[entry.process] > kMostOfOne) continue;
    spdlog::log(levels.of(entry.check) == CheckLevel::kError ? spdlog::level::err : spdlog::level::warn,
                "check {}: {}{}, at {}: {}{}", entry.check, entry.component, of_process(entry.process), time_text(entry.time_ps),
                entry.text, entry.place.empty() ? "" : ", at " + entry.place);
  }
  for (const auto& [process, count] : logged) {
    if (count > kMostOfOne) spdlog::warn("process {}: {} more findings of checks, in run.json (--out) and --trace", process, count - kMostOfOne);
  }
}

Verdict judge(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
              const ProgramOutput& output) {
  Verdict verdict;
  const auto fail = [&](std::string sentence) {
    verdict.sentences.push_back(std::move(sentence));
    if (verdict.code == kAsExpected) verdict.code = kProgramFailed;
  };
  const auto fail_of = [&](std::size_t program, const std::string& sentence) {
    verdict.of_programs[program].push_back(sentence);
    fail(sentence);
  };
  const config::ExpectSpec& expect = plan.scenario.expect;
  const std::string_view outcome = name_of(result.outcome);
  const auto first = first_failed(plan, result);
  bool is_first_told = false;
  if (outcome != expect.outcome) {
    switch (result.outcome) {
      case supervisor::Outcome::kDeadlock:
        verdict.code = kDeadlock;
        // The deadlock may follow from the end of that program.
        is_first_told = first && !result.is_fabric_deadlock;
        if (is_first_told) fail_of(*first, how_it_failed(plan, result, *first));
        if (result.idle_since != kNever) {
          verdict.sentences.push_back(
              fmt::format("no program has made progress since {}: only timers have fired for {} s of virtual time; the next lines say "
                          "what the programs wait for, and --time-limit sets another end of such a run",
                          time_text(result.idle_since), (figures.virtual_end - result.idle_since) / std::chrono::seconds(1)));
          break;
        }
        verdict.sentences.push_back(result.is_fabric_deadlock
                                        ? "the fabric is deadlocked at " + time_text(figures.virtual_end) +
                                              ": packets wait for each other's buffers in a circle of switch outputs and never move again"
                                        : plan.programs.empty()
                                        ? "nothing can happen any more at " + time_text(figures.virtual_end)
                                        : (first ? "the other programs are deadlocked at " : "the programs are deadlocked at ") +
                                              time_text(figures.virtual_end) +
                                              ": each of them waits for something that can no longer happen");
        break;
      case supervisor::Outcome::kTimeLimit: {
        verdict.code = kLimit;
        const std::string next =
            plan.programs.empty() ? "; the next lines say which flows are not finished" : "; the next lines say what the programs wait for";
        verdict.sentences.push_back(figures.virtual_end < kEndOfTime
                                        ? "the limit of " + time_text(figures.virtual_end) + " of virtual time was reached" + next +
                                              ", and --time-limit sets a longer limit"
                                        : "virtual time ends after 106 days" + next);
        break;
      }
      case supervisor::Outcome::kStuck:
        verdict.code = kLimit;
        verdict.sentences.push_back(
            "a program computes or sleeps without end, so virtual time cannot advance");
        break;
      case supervisor::Outcome::kInterrupted:
        if (figures.reached_wall_limit) {
          verdict.code = kLimit;
          verdict.sentences.push_back(
              fmt::format("the limit of {} s of wall time was reached at {}; the next lines say what the programs wait for, and "
                          "--wall-limit sets another limit",
                          plan.wall_limit / std::chrono::seconds(1), time_text(figures.virtual_end)));
          break;
        }
        verdict.code = kInterrupted;
        verdict.sentences.push_back("the run was interrupted at " + time_text(figures.virtual_end) +
                                    (plan.programs.empty() ? "" : "; the next lines say what the programs wait for"));
        break;
      case supervisor::Outcome::kNotStarted:
        fail("a program could not be started, so the run was ended at " + time_text(figures.virtual_end) +
             "; `verbatim check --host` says whether this machine or container can run simulations");
        break;
      case supervisor::Outcome::kMachine:
        verdict.code = kMachineFault;
        verdict.sentences.push_back("this machine (no simulated host) ended the run at " + time_text(figures.virtual_end) +
                                    ": it killed a program, or refused memory, processes or files; free some of these, or raise the limits, and run again; "
                                    "`verbatim check --host` says whether this machine or container can run simulations");
        break;
      case supervisor::Outcome::kFinished:
        fail("the run finished, but the scenario expects \"" + expect.outcome + "\"");
        break;
    }
  }
  const bool is_cut_off = plan.scenario.until != Duration(0) && to_ps(figures.virtual_end) == plan.scenario.until.count();
  for (std::size_t i = 0; i < result.programs.size(); ++i) {
    const supervisor::ProgramResult& program = result.programs[i];
    const config::ProgramSpec& spec = plan.scenario.programs[i];
    if (plan.programs[i].on_terminal) continue;  // a person may end a shell in any manner
    if (program.exited && !as_expected(program, spec)) {
      if (!is_first_told || i != *first) fail_of(i, how_it_failed(plan, result, i));
    } else if (!program.exited && !spec.background && result.outcome == supervisor::Outcome::kFinished && !is_cut_off) {
      fail_of(i, "on host " + spec.host + ", `" + config::join_words(spec.command) + "` never ended");
    }
    if (const std::string missing = missing_output(spec.expect_output, output.kept(i)); !missing.empty()) {
      fail_of(i, "on host " + spec.host + ", the output of `" + config::join_words(spec.command) + "` lacks " +
           config::in_quotes(missing) + ", which the scenario expects there");
    }
  }
  constexpr std::size_t kMostFlows = 20;  // that are listed
  std::size_t failed_flows = 0;
  for (std::size_t i = 0; i < figures.flows.size(); ++i) {
    const FlowFigures& flow = figures.flows[i];
    const std::string failure = failure_of(i, plan.scenario, flow);
    if (failure.empty() || (flow.finish == kNever && outcome == expect.outcome)) continue;
    if (++failed_flows <= kMostFlows) fail(failure);
  }
  for (const GraphFigures& graph : figures.graphs) {
    if (is_cut_off || (graph.failure.empty() && outcome == expect.outcome && outcome != "finished")) continue;
    for (const std::string& sentence : failures_of(graph)) fail(sentence);
  }
  if (failed_flows > kMostFlows) fail("and " + std::to_string(failed_flows - kMostFlows) + " more flows");
  if (!plan.fail_on.empty()) {
    const std::regex pattern = fail_pattern(plan.fail_on);
    for (std::size_t i = 0; i < result.programs.size(); ++i) {
      for (const std::string* text : {&output.kept(i), &output.kept_errors(i)}) {
        const std::string line = first_line_with(*text, pattern);
        if (line.empty()) continue;
        fail_of(i, "on host " + plan.scenario.programs[i].host + ", the output of `" +
             config::join_words(plan.scenario.programs[i].command) + "` has the line " + config::in_quotes(line) +
             ", which matches --fail-on");
        break;
      }
    }
  }
  if (!expect.digest.empty() && expect.digest != figures.digest) {
    fail("the digest is " + figures.digest + "; the scenario expects " + expect.digest);
  }
  if (expect.virtual_time_max.count() != 0 && to_ps(figures.virtual_end) > expect.virtual_time_max.count()) {
    fail("the run ended at " + time_text(figures.virtual_end) + "; the scenario expects at most " +
         time_text(instant_from_ps(expect.virtual_time_max.count())));
  }
  const auto is_error = [&](const observe::CheckLog::Entry& entry) {
    return figures.check_levels.of(entry.check) == CheckLevel::kError;
  };
  if (const auto found = std::ranges::find_if(figures.checks, is_error); found != figures.checks.end()) {
    fail("the check " + found->check + " has found a mistake, which --check makes an error: " + found->text +
         (found->place.empty() ? "" : ", at " + found->place));
  }
  for (const std::string& finding : result.findings) verdict.sentences.push_back(finding);
  return verdict;
}

std::optional<std::int64_t> first_unexpected_end(const RunPlan& plan, const supervisor::RunResult& result) {
  const auto first = first_failed(plan, result);
  return first ? std::optional(to_ps(result.programs[*first].ended)) : std::nullopt;
}

void fill(RunReport& report, const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
          const ProgramOutput& output, const Verdict& verdict) {
  report.code = verdict.code;
  report.outcome = name_of(result.outcome);
  report.digest = figures.digest;
  report.virtual_end_ps = to_ps(figures.virtual_end);
  report.sentences = verdict.sentences;
  report.cause = lines_of(figures.cause);
  for (std::size_t i = 0; i < result.programs.size(); ++i) {
    const supervisor::ProgramResult& program = result.programs[i];
    const config::ProgramSpec& spec = plan.scenario.programs[i];
    RunReport::Program& entry = report.programs.emplace_back();
    entry.label = output.label(i);
    entry.as_expected = program.exited ? as_expected(program, spec) : spec.background;
    entry.how = program.exited ? how_it_ended(program) : "has not ended";
    entry.last_words = output.last_words(i);
    entry.sanitizer_report = output.sanitizer_report(i);
    if (program.exited) entry.ended_ps = to_ps(program.ended);
  }
  for (const observe::CheckLog::Entry& found : figures.checks) {
    if (report.findings.size() == RunReport::kMostFindings) break;
    report.findings.push_back({found.check, found.component, found.text, found.place, found.time_ps});
  }
}

namespace {

// Programs and libraries that the run executed, with digests, and without their folders and the simulator's own files.
nlohmann::ordered_json code_of(const RunPlan& plan, const supervisor::RunResult& result) {
  std::map<std::string, std::string> digests;
  if (plan.bundle == nullptr) {
    for (const std::string& path : result.code_files) {
      if (path.starts_with(plan.shim_directory + "/")) continue;
      digests[std::filesystem::path(path).filename().string()] = observe::content_digest(path);
    }
  }
  nlohmann::ordered_json code = nlohmann::ordered_json::array();
  for (const auto& [name, digest] : digests) code.push_back({{"file", name}, {"digest", digest}});
  return code;
}

}  // namespace

std::string run_json_of(const RunPlan& plan, const supervisor::RunResult& result, const RunFigures& figures,
                        const ProgramOutput& output) {
  using Json = nlohmann::ordered_json;
  Json programs = Json::array();
  for (std::size_t i = 0; i < result.programs.size(); ++i) {
    const supervisor::ProgramResult& program = result.programs[i];
    const config::ProgramSpec& spec = plan.scenario.programs[i];
    Json entry = {{"host", spec.host}, {"argv", spec.command}};
    entry["exit_code"] = program.exited && program.signal == 0 ? Json(program.exit_code) : Json();
    entry["signal"] = program.signal != 0 ? Json(program.signal) : Json();
    entry["ended_ps"] = program.exited ? Json(to_ps(program.ended)) : Json();
    entry["stdout"] = output.label(i) + ".stdout";
    entry["stderr"] = output.label(i) + ".stderr";
    programs.push_back(std::move(entry));
  }
  Json faults = Json::array();
  for (std::size_t i = 0; i < figures.faults.size(); ++i) {
    faults.push_back({{"action", plan.scenario.faults[i].action},
                      {"seen", figures.faults[i].seen},
                      {"fired", figures.faults[i].fired}});
  }
  Json waiting = Json::array();
  for (const supervisor::WaitingTime& time : result.waiting) {
    waiting.push_back({{"thread", time.thread},
                       {"parked_ps", time.parked.count()},
                       {"parks", time.parks},
                       {"polling_seconds", time.polling_seconds},
                       {"place", time.place},
                       {"not_proven", time.refusal},
                       {"computing_seconds", time.computing_seconds},
                       {"computing_place", time.computing_place}});
  }
  Json diagnoses = Json::array();
  for (const observe::DiagnosisLog::Entry& entry : figures.diagnoses) {
    diagnoses.push_back({{"time_ps", entry.time_ps},
                         {"adapter", entry.component},
                         {"pid", entry.process},
                         {"errno", entry.error},
                         {"text", entry.text},
                         {"times", entry.times}});
  }
  Json checks = Json::array();
  for (const observe::CheckLog::Entry& entry : figures.checks) {
    checks.push_back({{"check", entry.check},
                      {"level", figures.check_levels.of(entry.check) == CheckLevel::kError ? "error" : "warn"},
                      {"time_ps", entry.time_ps},
                      {"host", entry.component},
                      {"pid", entry.process},
                      {"place", entry.place},
                      {"text", entry.text}});
  }
  std::vector<std::string> warnings = result.warnings;
  for (std::string& warning : warnings_of(plan, result, figures)) warnings.push_back(std::move(warning));
  Json arguments = Json::object();
  for (const auto& [name, argument] : plan.scenario.arguments)
    arguments[name] = {{"range", config::format_argument_range(argument)}, {"value", argument.value}};
  // Without folders, which depend on the machine.
  const auto file_name = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
  const config::TopologySpec& topology = plan.scenario.topology;
  Json json = {{"version", VERBATIM_VERSION},
                     {"scenario", plan.scenario.file.empty() ? Json() : Json(file_name(plan.scenario.file))},
                     {"topology", {{"file", file_name(topology.file)},
                                   {"hosts", topology.hosts.size()},
                                   {"switches", topology.switches.size()},
                                   {"links", topology.links.size()}}},
                     {"arguments", arguments},
                     {"seed", plan.scenario.seed},
                     {"freedom", plan.scenario.freedom},
                     {"digest", figures.digest},
                     {kDigestVersionKey, observe::kDigestVersion},
                     {"determinism", result.exact ? "exact" : "weak"},
                     {"weak", result.weak},
                     {"outcome", name_of(result.outcome)},
                     {"virtual_time_ps", to_ps(figures.virtual_end)},
                     {"wall_seconds", figures.wall_seconds},
                     {"peak_memory_kib", figures.peak_memory_kib},
                     {"events", figures.events},
                     {"packets", figures.packets},
                     {"packet_hops", figures.packet_hops},
                     {"hand_overs", result.hand_overs},
                     {"waiting", waiting},
                     {"refused_files", result.refused_files},
                     {"programs", programs},
                     {"code", code_of(plan, result)},
                     {"cause", to_json(figures.cause)},
                     {"findings", result.findings},
                     {"warnings", warnings},
                     {"diagnoses", diagnoses},
                     {"checks", checks},
                     {"failures", to_json(figures.failures)},
                     {"losses", losses_of(*figures.losses, failed_links_of(plan, figures))},
                     {"queues", queues_of(result)},
                     {"faults", faults},
                     {"drawn_faults", figures.drawn_faults},
                     {"failing_calls", figures.failing_calls},
                     {"drawn_failures", drawn_failures_of(plan, result, figures)}};
  if (figures.congestion->any()) json["congestion"] = congestion_of(*figures.congestion);
  if (!figures.ports.empty()) json["ports"] = figures.ports;
  if (!figures.congestion_counters.empty()) json["congestion_counters"] = figures.congestion_counters;
  if (!figures.flows.empty()) {
    Json& flows = json["flows"] = Json::array();
    const std::size_t rows = std::min(figures.flows.size(), kMostFlowRows);
    for (std::size_t i = 0; i < rows; ++i) {
      const FlowFacts::Facts* const facts = i < figures.flow_facts.size() ? &figures.flow_facts[i] : nullptr;
      flows.push_back(flow_json(i, plan.scenario, figures.flows[i], facts));
    }
    if (rows < figures.flows.size()) json["flows_left_out"] = figures.flows.size() - rows;
    json["flow_times"] = to_json(flow_times(plan.scenario.traffic, figures.flows));
    if (!plan.scenario.workloads.empty()) json["workloads"] = to_json(workloads_of(plan.scenario, figures.flows));
  }
  if (!figures.graphs.empty()) json["collectives"] = to_json(figures.graphs);
  if (output.lost_lines() != 0) json["lost_stderr_lines"] = output.lost_lines();
  // Command lines may contain any bytes; JSON is UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_run_to_answer(Answer& answer, const std::string& run_json, const Verdict& verdict,
                       const std::vector<std::string>& failures) {
  auto run = Answer::Json::parse(run_json);
  // These depend on the machine and its load.
  for (const char* name : {"wall_seconds", "peak_memory_kib", "hand_overs", "waiting"}) run.erase(name);
  answer.document()["run"] = std::move(run);
  std::vector<std::string> wrong = verdict.sentences;
  wrong.insert(wrong.end(), failures.begin(), failures.end());
  answer.document()["wrong"] = wrong;
}

}  // namespace verbatim::cli
