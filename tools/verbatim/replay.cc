// `verbatim replay`: repeats a failure from its file.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <spdlog/spdlog.h>

#include "sim/config/freedom.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/bundle_run.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/shell/session_file.h"
#include "tools/verbatim/shrink.h"
#include "tools/verbatim/watch.h"
#include "tools/verbatim/working_files.h"

namespace verbatim::cli {

namespace {

// Paths on the command line of `replay` are relative to the caller's folder, not to the one where the failure
// was found.
void make_absolute(std::string& path) {
  if (path.empty() || path == "-" || path.front() == '/') return;
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (!error) path = whole.string();
}

}  // namespace

void take_decisions(const ReplayFile& replay, RunPlan& plan) {
  plan.schedule = schedule_of(replay.decisions);
  if (!config::is_free(plan.scenario.freedom)) plan.scenario.freedom = "spec";
  plan.fail_on = replay.fail_on;
}

std::optional<std::pair<RunPlan, RunOptions>> plan_of(const std::shared_ptr<BundleRun>& bundle) {
  RunOptions options = bundle->options();
  options.bundle = bundle;
  config::FileTexts files;
  std::optional<RunPlan> plan = make_plan(options, {{}, &files});
  if (!plan) return std::nullopt;
  if (bundle->has_decisions()) take_decisions(bundle->run(), *plan);
  return std::pair(std::move(*plan), std::move(options));
}

std::optional<std::pair<RunPlan, RunOptions>> plan_of(ReplayFile& replay, supervisor::RecordedFiles* recorder) {
  if (!replay.working_directory.empty() && ::chdir(replay.working_directory.c_str()) != 0) {
    complain("the folder " + replay.working_directory + ", in which the failure was found, does not exist");
    return std::nullopt;
  }
  ::setenv("PATH", replay.search_path.c_str(), 1);
  std::optional<RunOptions> options = run_options_of(replay.words);
  if (!options) {
    complain(replay.path + " has options that this version does not have, or is damaged");
    return std::nullopt;
  }
  options->recorder = recorder;
  if (!take_bundle(*options)) return std::nullopt;
  std::optional<RunPlan> plan = make_plan(*options, {replay.profile_folders, &replay.files});
  if (!plan) return std::nullopt;
  take_decisions(replay, *plan);
  plan->views_working_folders = true;
  plan->working_snapshot = replay.working_files;
  for (const std::string& change : changes_since(replay.working_files)) spdlog::warn("{} (since the failure was found)", change);
  return std::pair(std::move(*plan), std::move(*options));
}

bool show_as(const RunOptions& show, RunPlan& plan, RunOptions& options) {
  options.trace = show.trace;
  options.pcap = show.pcap;
  options.pcap_per = show.pcap_per;
  options.calls = show.calls;
  options.series = show.series;
  options.flows = show.flows;
  options.watch = show.watch;
  options.watch_time = show.watch_time;
  options.flows_form = show.flows_form;
  options.links = show.links;
  options.snap_length = show.snap_length;
  options.explain_latency = show.explain_latency;
  options.out = show.out;
  options.record = show.record;
  options.keep_trace = show.keep_trace;
  options.style = show.style;
  options.log = show.log;
  options.call_by_call = show.call_by_call;
  config::Diagnostics diagnostics;
  if (const auto limit = parse_limit("--until", show.time_limit, diagnostics)) plan.scenario.time_limit = *limit;
  if (const auto step = parse_series_step(show, diagnostics)) plan.series_step = *step;
  plan.watch = parse_watch(show, plan.scenario.topology, diagnostics);
  plan.debugger = find_debugged(plan.scenario, show, diagnostics);
  if (plan.debugger) plan.debugger->libraries = plan.shim_directory;
  if (diagnostics.empty()) return true;
  print(diagnostics);
  return false;
}

int replay(ReplayOptions asked) {
  RunOptions& show = asked.show;
  for (std::string* path : {&show.trace, &show.pcap, &show.calls, &show.series, &show.flows, &show.out,
                            &show.explain_latency, &show.record, &show.gdb_commands}) {
    make_absolute(*path);
  }
  if (is_session(asked.file)) return replay_session(asked);
  std::string failure;
  const bool is_packed = bundle::is_bundle(asked.file);
  const std::shared_ptr<BundleRun> packed = is_packed ? BundleRun::open(asked.file, &failure) : nullptr;
  if (packed != nullptr && packed->file().index().documents.contains(kSessionOfBundle)) return replay_session(asked, packed);
  if (!asked.terminal.empty()) {
    complain("--terminal is for sessions of `verbatim shell`, and " + asked.file + " is not one");
    return kUsage;
  }
  std::optional<ReplayFile> file;
  if (packed != nullptr) file = packed->run();
  else if (failure.empty()) file = read_replay(asked.file, &failure);
  if (!file) {
    complain(failure);
    return kUsage;
  }
  const std::vector<std::string> changes = changes_since(*file);
  for (const std::string& change : changes) complain((asked.relaxed ? "warning: " : "") + change);
  if (!changes.empty() && !asked.relaxed) {
    complain("so the same run is not possible; --relaxed applies the decisions as far as they fit");
    return kUsage;
  }
  auto prepared = packed != nullptr ? plan_of(packed) : plan_of(*file);
  if (!prepared) return kUsage;
  auto& [plan, options] = *prepared;
  if (!show_as(asked.show, plan, options)) return kUsage;
  RunReport report;
  report.wants_first_cause = true;
  Answer answer("replay", options.style);
  const int code = run_once(plan, options, &report, &answer);
  if (report.outcome.empty()) return code;
  for (const explore::Decision& decision : report.unused) {
    complain("warning: decision number " + explore::number_of(decision) + " of " + decision.actor + ", " + decision.site + ", was not reached");
  }
  const bool is_same = report.signature() == file->signature, has_same_digest = file->digest.is_same_as(report.digest);
  if (is_same && file->signature.empty())
    answer.print("replay: the same run%s; it does not fail\n", has_same_digest ? ", with the same digest" : "");
  else if (is_same)
    answer.print_failure("replay: the same failure%s: %s\n", has_same_digest ? ", with the same digest" : "", file->summary.c_str());
  else
    answer.print_failure("replay: the run ended differently from the recorded one (%s)\n", file->summary.c_str());
  answer.document().update({{"same_failure", is_same}, {"same_digest", has_same_digest}, {"summary", file->summary}});
  if (!file->digest.is_comparable()) {
    complain("warning: " + file->path + ": " + file->digest.why_not());
  } else if (asked.show.time_limit.empty() && changes.empty() && !has_same_digest) {
    complain("the digest is " + report.digest + ", and was " + file->digest.hex +
             ": the run was weak (it depends on this machine), or this is a bug of verbatim");
    return answer.end(code == kAsExpected ? static_cast<int>(kProgramFailed) : code);
  }
  return answer.end(code);
}

}  // namespace verbatim::cli
