// `verbatim pack`: runs a scenario or a failure once, and writes it with everything that its programs looked at.
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <spdlog/spdlog.h>

#include "sim/bundle/bundle.h"
#include "sim/bundle/bundle_paths.h"
#include "sim/config/freedom.h"
#include "sim/supervisor/machine/run_folder.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/bundle_run.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/interrupted.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/root_bundle.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/shell/session_file.h"

namespace verbatim::cli {

namespace {

bool is_excluded(const std::string& path, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), path.c_str(), 0) == 0 ||
           (pattern.find('/') == std::string::npos &&
            ::fnmatch(pattern.c_str(), path.substr(path.rfind('/') + 1).c_str(), 0) == 0);
  });
}

// The plan of a replay file, or of the options. nullopt after error messages.
std::optional<RunPlan> plan_to_pack(const PackOptions& asked, RunOptions& options, std::optional<ReplayFile>& replay,
                                    config::FileTexts& files) {
  std::string failure;
  const bool is_one = options.topology.empty() && options.arguments.size() == 1;
  if (is_one && is_replay(options.arguments[0])) {
    replay = read_replay(options.arguments[0], &failure);
    if (!replay) {
      complain(failure);
      return std::nullopt;
    }
    for (const std::string& change : changes_since(*replay)) spdlog::warn("{} (since the failure was found)", change);
    const supervisor::FolderSnapshot none;
    replay->working_files = none;
    auto prepared = plan_of(*replay, options.recorder);
    if (!prepared) return std::nullopt;
    prepared->second.style = asked.run.style;
    options = std::move(prepared->second);
    files = replay->files;
    return std::move(prepared->first);
  }
  return make_plan(options, {profile_folders(), &files, "pack"});
}

int pack_root(const PackOptions& asked) {
  if (!asked.run.arguments.empty() || !asked.run.topology.empty()) {
    complain("--root packs a folder, and runs nothing: leave the scenario out");
    return kUsage;
  }
  const auto write = [&](int descriptor) { return write_root_bundle(descriptor, asked.root); };
  if (const std::string failure = write_document(asked.out, write); !failure.empty()) {
    complain(failure);
    return kUsage;
  }
  Answer answer("pack", asked.run.style);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(asked.out, error);
  answer.print("pack: %s has %s: all files of %s\n", asked.out.c_str(),
               fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6).c_str(), asked.root.c_str());
  answer.document().update({{"bundle", asked.out}, {"bytes", bytes}});
  return answer.end(kAsExpected);
}

// Writes the bundle of a run, and reports its size. Returns the exit code.
int write_run_bundle(const PackOptions& asked, const ReplayFile& run, bool has_decisions, supervisor::RecordedFiles& machine,
                     const std::map<std::string, std::string>& documents, Answer& answer) {
  // Read by the kernel, before the process has a system call of its own.
  machine.content(machine.real_path("/lib64/ld-linux-x86-64.so.2"));
  supervisor::MachineLooks looks = machine.looks();
  std::vector<std::string> excluded;
  for (auto& [path, look] : looks) {
    if (!look.has_content || !is_excluded(path, asked.excluded)) continue;
    look.has_content = false;
    excluded.push_back(path);
  }
  const auto write = [&](int descriptor) {
    return bundle::write_bundle(descriptor, bundle_manifest(run, has_decisions), looks,
                                [&](const std::string& path) { return bundle::ContentSource(machine.content(path)); }, documents);
  };
  if (const std::string failure = write_document(asked.out, write); !failure.empty()) {
    complain(failure);
    return answer.end(kMachineFault);
  }
  std::error_code error;
  const auto bytes = std::filesystem::file_size(asked.out, error);
  const auto contents = std::ranges::count_if(looks, [](const auto& look) { return look.second.has_content; });
  answer.print("pack: %s has %s: %lld files of %zu paths that the programs looked at\n", asked.out.c_str(),
               fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6).c_str(), static_cast<long long>(contents), looks.size());
  for (const std::string& path : excluded) answer.print("pack: without %s: a run that opens it ends with exit code 71\n", path.c_str());
  for (const std::string& path : bundle::suspicious_paths(looks)) spdlog::warn("{}", path);
  answer.document().update({{"bundle", asked.out}, {"bytes", bytes}, {"files", contents}, {"paths", looks.size()}});
  return answer.end(kAsExpected);
}

int pack_session_file(const PackOptions& asked) {
  supervisor::RecordedFiles machine;
  ReplayFile run;
  const std::string file = std::filesystem::absolute(asked.run.arguments[0]).string();
  const int code = pack_session(file, asked.run.style, machine, &run);
  if (code == kUsage || code == kMachineFault || code == kInternalError) return code;
  Answer answer("pack", asked.run.style);
  return write_run_bundle(asked, run, false, machine, {{kSessionOfBundle, file}}, answer);
}

}  // namespace

int pack(PackOptions asked) {
  asked.out = std::filesystem::absolute(asked.out).string();  // a replay file leads to another folder
  if (!asked.root.empty()) return pack_root(asked);
  if (const std::string refusal = output_refusal(asked.out); !refusal.empty()) {
    complain("--out: " + refusal);
    return kUsage;
  }
  const bool is_file = asked.run.topology.empty() && asked.run.arguments.size() == 1;
  if (is_file && is_session(asked.run.arguments[0])) return pack_session_file(asked);
  RunOptions options = asked.run;
  supervisor::RecordedFiles machine;
  options.recorder = &machine;
  if (!take_bundle(options)) return kUsage;
  config::FileTexts files;
  std::optional<ReplayFile> replay;
  std::optional<RunPlan> plan = plan_to_pack(asked, options, replay, files);
  if (!plan) return kUsage;
  const bool has_decisions = replay.has_value() || (options.bundle != nullptr && options.bundle->has_decisions());
  if (options.bundle != nullptr && has_decisions) take_decisions(options.bundle->run(), *plan);
  if (!warn_of_topology(*plan, options)) return kUsage;
  Answer answer("pack", options.style);
  std::optional<TemporaryFolder> recorded;
  std::map<std::string, std::string> documents;
  if (asked.records) {
    recorded.emplace(supervisor::temporary_folder() + "/verbatim-pack-XXXXXX");
    options.record = recorded->path() + "/" + kRecordingOfBundle;
    documents[kRecordingOfBundle] = options.record;
  }
  RunReport report;
  const int code = run_once(*plan, options, &report, &answer);
  if (report.outcome.empty()) return answer.end(code);
  if (code == kMachineFault || code == kInternalError || code == kInterrupted) {
    complain("nothing was packed: the run did not end by itself");
    return answer.end(code);
  }
  ReplayFile run = replay_of(*plan, options, files, report);
  if (options.bundle != nullptr) {
    const ReplayFile& packed = options.bundle->run();
    run.working_directory = packed.working_directory;
    run.search_path = packed.search_path;
    run.profile_folders = packed.profile_folders;
    RunOptions whole = options;
    whole.bundle = nullptr;
    run.words = words_of(whole);
  }
  return write_run_bundle(asked, run, has_decisions, machine, documents, answer);
}

bool pack_failure(const std::string& replay, const std::string& bundle) {
  const pid_t child = start_child(ChildOutput::kNone, -1, [&] {
    PackOptions options;
    options.run.arguments = {replay};
    options.run.style.quiet = true;
    options.out = bundle;
    return pack(options);
  });
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool is_done = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == kAsExpected;
  if (!is_done) complain(bundle + " could not be made; `verbatim pack " + replay + " -o " + bundle + "` says why");
  return is_done;
}

}  // namespace verbatim::cli
