#include "tools/verbatim/campaign/failures.h"

#include <unistd.h>

#include <filesystem>
#include <span>
#include <utility>

#include "sim/config/json_text.h"
#include "sim/explore/strategy.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using FailureJson = nlohmann::ordered_json;

std::string id_of_failure(const std::string& signature) {
  observe::DigestSink digest;
  digest.on_record(TraceRecord{}, std::as_bytes(std::span(signature)));
  return digest.hex().substr(0, 12);
}

}  // namespace

FailureWork::FailureWork(const RunPlan& plan, const ExploreOptions& options, config::FileTexts& files,
                         Exploration::Clock::duration shrink_time)
    : plan_(plan), options_(options), files_(files), shrink_time_(shrink_time), pool_(1, options.run.core) {}

std::string FailureWork::folder_of(const std::string& signature) const {
  return options_.out + "/failures/" + id_of_failure(signature);
}

void FailureWork::read() {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(options_.out + "/failures", error)) {
    config::Diagnostics diagnostics;
    const std::string path = entry.path().string() + "/failure.json";
    if (!fs::exists(path, error)) continue;
    const auto json = config::read_json(path, diagnostics);
    try {
      if (json) explained_[json->at("signature")] = {json->at("text"), json->at("entry")};
    } catch (const std::exception&) {
      // A damaged file is written again.
    }
  }
}

const ExplainedFailure* FailureWork::find(const std::string& signature) const {
  const auto found = explained_.find(signature);
  return found == explained_.end() ? nullptr : &found->second;
}

bool FailureWork::start(const FailureKind& kind, int jobs) {
  if (!pool_.is_idle() || !pool_.has_room() || explained_.contains(kind.signature)) return false;
  const std::string folder = folder_of(kind.signature);
  const bool is_started = pool_.start(0, [&](int, int output) {
    return start_child(ChildOutput::kFile, output, [&] { return explain(kind, jobs, folder); });
  });
  if (is_started) under_way_ = kind.signature;
  return is_started;
}

bool FailureWork::await(int wall_ms) {
  bool has_ended = false;
  for (const WorkerPool::Ended& ended : pool_.await(wall_ms)) {
    const std::string text = content_of(ended.output);
    ::close(ended.output);
    has_ended = true;
    read();
    if (explained_.contains(under_way_) || pool_.is_interrupted()) continue;
    // It is not tried again in this process.
    explained_[under_way_] = {"  it could not be made small:\n  " + text.substr(0, text.find('\n')) + "\n",
                              FailureJson::object()};
  }
  return has_ended;
}

// Runs in a process of its own. Its standard output is the explanation.
int FailureWork::explain(const FailureKind& kind, int jobs, const std::string& folder) {
  ExploreOptions options = options_;
  options.out = folder;
  options.run.jobs = jobs;
  options.run.style = {.quiet = true};
  std::string ignored;
  const auto strategy = explore::make_strategy("random", 1, {}, &ignored);
  Answer answer("explore", options.run.style);
  Exploration exploration(plan_, options, files_, *strategy, shrink_time_, shrink_time_, answer);
  const std::optional<FailureJson> entry = exploration.explain(kind);
  if (!entry) return kProgramFailed;
  flush_standard_output();
  const FailureJson json = {
      {"signature", kind.signature}, {"entry", *entry}, {"text", content_of(::dup(STDOUT_FILENO))}};
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string failure = write_document(
      folder + "/failure.json", json.dump(2, ' ', false, FailureJson::error_handler_t::replace) + "\n");
  if (!failure.empty()) complain(failure);
  return failure.empty() ? kAsExpected : kProgramFailed;
}

}  // namespace verbatim::cli
