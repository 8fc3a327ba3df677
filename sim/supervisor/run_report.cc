#include "sim/supervisor/run_report.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

void RunReport::begin(const std::vector<ProgramSpec>& programs, OutputListener& listener) {
  programs_ = &programs;
  listener_ = &listener;
  result_.programs.resize(programs.size());
}

void RunReport::warn(Process& process, const std::string& text, bool weakens) {
  if (early_caller_ != nullptr) {
    early_caller_->early_records.emit_at(run_.engine.now(),
                           [this, &process, text, weakens] { warn(process, text, weakens); });
    return;
  }
  if (weakens) result_.exact = false;
  WarningLog& log = warning_logs_[process.program()];
  // has_room is first, so that the number of texts that a process remembers is bounded too.
  if (!log.has_room(text, weakens) || !process.first_warning(text)) return;
  log.add(text);
  spdlog::warn("{}: {}", title(process), text);
  result_.warnings.push_back(title(process) + ": " + text);
  if (!weakens) return;
  result_.weak.push_back(result_.warnings.back());
}

void RunReport::warn_of_run(std::string sentence) {
  spdlog::warn("{}", sentence);
  result_.warnings.push_back(std::move(sentence));
}

void RunReport::warn_of_rest(const Checks& checks) {
  for (const auto& [program, log] : warning_logs_) {
    for (const std::string& sentence : log.rest()) warn_of_run(title_of_program(program) + ": " + sentence);
  }
  for (const auto& [program, sentence] : checks.rest())
    warn_of_run(title_of_program(program) + ": " + sentence);
}

void RunReport::output(Process& process, int fd, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  run_.tracer.record(process.host().component, TraceEvent::kProgramOutput, process.pid(),
                     static_cast<std::uint64_t>(fd), bytes.size(), 0, bytes);
  listener_->on_output(process.program(), fd, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string RunReport::title(const Process& process) const {
  return fmt::format("{}: {} (pid {})", process.host().name, process.name(), process.pid());
}

std::string RunReport::title_of_program(std::size_t program) const {
  const ProgramSpec& spec = programs_->at(program);
  const std::string& path = spec.arguments.at(0);
  return fmt::format("{}: {}", run_.hosts.at(spec.host).name, path.substr(path.rfind('/') + 1));
}

}  // namespace verbatim::supervisor
