#include <fmt/ranges.h>

#include <cstdio>
#include <optional>

#include "sim/config/device_limits.h"
#include "sim/config/load.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/progress.h"
#ifdef VERBATIM_CAN_RUN
#include "sim/supervisor/supervisor.h"
#endif

namespace verbatim::cli {

void complain(const std::string& sentence) {
  clear_progress();
  std::fprintf(stderr, "verbatim: %s\n", sentence.c_str());
}

void print(const config::Diagnostics& diagnostics, const char* consequence) {
  clear_progress();
  for (const config::Finding& finding : diagnostics.findings()) {
    std::fprintf(stderr, "%s\n", config::to_string(finding).c_str());
  }
  const std::size_t n = diagnostics.findings().size();
  complain(std::to_string(n) + (n == 1 ? " finding" : " findings") + "; " + consequence);
}

void print_warnings(const config::Diagnostics& diagnostics) {
  clear_progress();
  for (const config::Finding& warning : diagnostics.warnings()) std::fprintf(stderr, "%s\n", config::warning_text(warning).c_str());
}

namespace {

Answer::Json findings_json(const std::vector<config::Finding>& findings) {
  auto all = Answer::Json::array();
  for (const config::Finding& finding : findings)
    all.push_back({{"file", finding.file}, {"pointer", finding.pointer}, {"text", finding.text}, {"hint", finding.hint}});
  return all;
}

int check_this_machine([[maybe_unused]] const CheckOptions& options, [[maybe_unused]] Answer& answer) {
#ifdef VERBATIM_CAN_RUN
  using supervisor::Facility;
  using supervisor::MachineFacilities;
  if (options.lists_facilities) {
    for (const std::string& name : MachineFacilities::replaceable()) answer.print("%s\n", name.c_str());
    answer.document()["facilities"] = MachineFacilities::replaceable();
    return kAsExpected;
  }
  MachineFacilities assumed;
  for (const std::string& name : options.assume_missing) assumed.assume_missing(name);
  std::vector<Facility> table = supervisor::Supervisor::check_host(assumed);
  const bool installed = !shim_directory().empty();
  table.push_back({"libraries", fmt::format("{} are where they belong", fmt::join(kShimParts, ", ")),
                   installed ? Facility::State::kWorks : Facility::State::kMissing,
                   installed ? "" : "build or install all of it"});
  bool can_run = true;
  auto host = Answer::Json::array();
  for (const Facility& facility : table) {
    const char* const state = facility.state == Facility::State::kWorks         ? "works"
                              : facility.state == Facility::State::kOtherMeans ? "works by other means"
                                                                               : "missing";
    can_run &= facility.state != Facility::State::kMissing;
    char line[64];
    std::snprintf(line, sizeof line, "host: %-13s %-20s ", facility.name.c_str(), state);
    const std::string text = line + facility.what + (facility.consequence.empty() ? "" : ": ") + facility.consequence + "\n";
    if (facility.state == Facility::State::kMissing) answer.print_failure("%s", text.c_str());
    else answer.print("%s", text.c_str());
    host.push_back(
        {{"name", facility.name}, {"state", state}, {"what", facility.what}, {"consequence", facility.consequence}});
  }
  answer.document()["host"] = std::move(host);
  answer.document()["can_run"] = can_run;
  if (!can_run) {
    flush_standard_output();
    complain("this machine or container cannot run simulations: see what is missing above");
    return kUsage;
  }
  answer.print("host: can run simulations\n");
  return kAsExpected;
#else
  complain("this build has no supervisor and cannot run simulations");
  return kUsage;
#endif
}

}  // namespace

namespace {

// Warns of programs of a scenario that this machine does not have. Those of a root or of given files are not looked for.
void warn_of_programs([[maybe_unused]] const std::string& file, [[maybe_unused]] const config::LoadOptions& options,
                      [[maybe_unused]] config::Diagnostics& diagnostics) {
#ifdef VERBATIM_CAN_RUN
  config::Diagnostics ignored;  // has the findings of check_file()
  const auto scenario = config::load_scenario(file, options, ignored);
  if (!scenario || !scenario->root.empty()) return;
  for (const config::ProgramSpec& program : scenario->programs) {
    if (program.command.empty() || program.files.contains(program.command.front())) continue;
    supervisor::ProgramSpec spec;
    spec.arguments = program.command;
    spec.environment = program.environment;
    spec.working_directory = program.working_directory;
    const std::string reason = supervisor::Supervisor::reject_reason(spec, shim_directory(), nullptr);
    if (!reason.empty()) diagnostics.warn({file, program.pointer + "/command", "on host " + program.host + ": " + reason, ""});
  }
#endif
}

}  // namespace

int check(const CheckOptions& checked) {
  if (checked.files.empty() && !checked.host) {
    complain("nothing to check; name files, or use --host");
    return kUsage;
  }
  Answer answer("check", checked.style);
  config::Diagnostics diagnostics;
  auto files = Answer::Json::array();
  const config::LoadOptions options{profile_folders(), nullptr, "check"};
  for (const std::string& file : checked.files) {
    const std::size_t before = diagnostics.findings().size();
    std::optional<config::TopologySpec> topology;
    const auto kind = config::check_file(file, options, diagnostics, &topology);
    if (topology) {
      config::warn_of_device_limits(*topology, diagnostics);
      config::warn_of_oversubscription(*topology, diagnostics);
    }
    const bool is_valid = kind && diagnostics.findings().size() == before;
    if (is_valid && *kind == config::FileKind::kScenario) warn_of_programs(file, options, diagnostics);
    const std::string name(kind ? config::name_of(*kind) : "");
    if (is_valid) answer.print("%s: a valid %s\n", file.c_str(), name.c_str());
    files.push_back({{"file", file}, {"kind", kind ? Answer::Json(name) : Answer::Json()}, {"valid", is_valid}});
  }
  if (!checked.files.empty()) answer.document()["files"] = std::move(files);
  if (!checked.style.json && !checked.style.quiet) print_warnings(diagnostics);
  if (!diagnostics.warnings().empty()) answer.document()["warnings"] = findings_json(diagnostics.warnings());
  const int machine = checked.host ? check_this_machine(checked, answer) : kAsExpected;
  if (diagnostics.empty()) return answer.end(machine);
  for (const config::Finding& finding : diagnostics.findings()) {
    if (!checked.style.json) std::fprintf(stderr, "%s\n", config::to_string(finding).c_str());
  }
  answer.document()["findings"] = findings_json(diagnostics.findings());
  const std::size_t n = diagnostics.findings().size();
  complain(std::to_string(n) + (n == 1 ? " finding" : " findings"));
  return answer.end(kUsage);
}

}  // namespace verbatim::cli
