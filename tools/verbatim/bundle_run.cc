#include "tools/verbatim/bundle_run.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

using Json = nlohmann::ordered_json;

std::string bundle_manifest(const ReplayFile& run, bool has_decisions) {
  const Json manifest = {{"has_decisions", has_decisions}, {"run", Json::parse(text_of(run))}};
  return manifest.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string BundleRun::shim_keeper() { return shim_directory() + "/keeper"; }

std::shared_ptr<BundleRun> BundleRun::open(const std::string& path, std::string* failure) {
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).string();
  const std::shared_ptr<BundleRun> opened(new BundleRun(whole));
  if (auto file = bundle::Bundle::open(path, failure)) opened->file_.emplace(std::move(*file));
  if (!opened->file_) return nullptr;
  const bundle::Bundle& file = *opened->file_;
  if (*failure = file.damage_summary(); !failure->empty()) return nullptr;
  const Json manifest = Json::parse(file.manifest(), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("run") || !manifest.contains("has_decisions") ||
      !manifest["has_decisions"].is_boolean()) {
    *failure = path + ": its manifest names no run";
    return nullptr;
  }
  auto run = parse_replay(manifest["run"].dump(), path, failure);
  if (!run) return nullptr;
  opened->run_ = std::move(*run);
  opened->run_.files.has_machine = true;
  opened->has_decisions_ = manifest["has_decisions"].get<bool>();
  auto options = run_options_of(opened->run_.words);
  if (!options) {
    *failure = path + " has options that this version does not have, or is damaged";
    return nullptr;
  }
  opened->options_ = std::move(*options);
  opened->options_.strict = RunOptions().strict;  // who runs the bundle decides what reaches the machine
  const std::string folder = opened->folder_.path() + "/bundle";
  opened->files_ = std::make_unique<supervisor::FilesOfRecord>(
      file.looks(), folder, [&file, folder](const std::string& look) { return file.extract_file(look, folder, look); });
  return opened;
}

bool take_bundle(RunOptions& options) {
  const bool is_one = options.bundle == nullptr && options.topology.empty() && options.arguments.size() == 1;
  if (!is_one || !bundle::is_bundle(options.arguments[0])) return true;
  std::string failure;
  options.bundle = BundleRun::open(options.arguments[0], &failure);
  if (options.bundle == nullptr) {
    complain(failure);
    return false;
  }
  const RunOptions& packed = options.bundle->options();
  const RunOptions none;
  if (options.recorder != nullptr) options.recorder->record(options.bundle->files());
  options.arguments = packed.arguments;
  options.topology = packed.topology;
  const auto take = [&](auto RunOptions::*field) {
    if (options.*field == none.*field) options.*field = packed.*field;
  };
  take(&RunOptions::stagger);
  if (options.seeds.empty()) take(&RunOptions::seed);
  take(&RunOptions::freedom);
  take(&RunOptions::spec_faults);
  take(&RunOptions::spec_failing_calls);
  take(&RunOptions::spec_failures);
  take(&RunOptions::spec_accesses);
  take(&RunOptions::time_limit);
  take(&RunOptions::stuck_after);
  take(&RunOptions::confine);
  const auto add = [&](std::vector<std::string> RunOptions::*list) {
    (options.*list).insert((options.*list).begin(), (packed.*list).begin(), (packed.*list).end());
  };
  add(&RunOptions::ranges);
  add(&RunOptions::sets);
  add(&RunOptions::faults);
  add(&RunOptions::checks);
  return true;
}

}  // namespace verbatim::cli
