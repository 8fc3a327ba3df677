#include <fmt/ranges.h>

#include <cstdio>

#include "sim/config/load.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"
#ifdef VERBATIM_CAN_RUN
#include "sim/supervisor/supervisor.h"
#endif

namespace verbatim::cli {

void complain(const std::string& sentence) { std::fprintf(stderr, "verbatim: %s\n", sentence.c_str()); }

void print(const config::Diagnostics& diagnostics) {
  for (const config::Finding& finding : diagnostics.findings()) {
    std::fprintf(stderr, "%s\n", config::to_string(finding).c_str());
  }
  const std::size_t n = diagnostics.findings().size();
  complain(std::to_string(n) + (n == 1 ? " finding" : " findings") + "; nothing was started");
}

namespace {

int check_this_machine([[maybe_unused]] const CheckOptions& options) {
#ifdef VERBATIM_CAN_RUN
  using supervisor::Facility;
  using supervisor::MachineFacilities;
  if (options.lists_facilities) {
    for (const std::string& name : MachineFacilities::replaceable()) std::printf("%s\n", name.c_str());
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
  for (const Facility& facility : table) {
    const char* const state = facility.state == Facility::State::kWorks         ? "works"
                              : facility.state == Facility::State::kOtherMeans ? "works by other means"
                                                                               : "missing";
    can_run &= facility.state != Facility::State::kMissing;
    std::printf("host: %-13s %-20s %s%s%s\n", facility.name.c_str(), state, facility.what.c_str(),
                facility.consequence.empty() ? "" : ": ", facility.consequence.c_str());
  }
  if (!can_run) {
    std::fflush(stdout);
    complain("this machine or container cannot run simulations: see what is missing above");
    return kUsage;
  }
  std::printf("host: can run simulations\n");
  return kAsExpected;
#else
  complain("this build has no supervisor and cannot run simulations");
  return kUsage;
#endif
}

}  // namespace

int check(const CheckOptions& checked) {
  if (checked.files.empty() && !checked.host) {
    complain("nothing to check; name files, or use --host");
    return kUsage;
  }
  config::Diagnostics diagnostics;
  const config::LoadOptions options{profile_folders()};
  for (const std::string& file : checked.files) {
    const std::size_t before = diagnostics.findings().size();
    const auto kind = config::check_file(file, options, diagnostics);
    if (kind && diagnostics.findings().size() == before) {
      std::printf("%s: a valid %s\n", file.c_str(), std::string(config::name_of(*kind)).c_str());
    }
  }
  const int machine = checked.host ? check_this_machine(checked) : kAsExpected;
  if (diagnostics.empty()) return machine;
  for (const config::Finding& finding : diagnostics.findings()) {
    std::fprintf(stderr, "%s\n", config::to_string(finding).c_str());
  }
  const std::size_t n = diagnostics.findings().size();
  complain(std::to_string(n) + (n == 1 ? " finding" : " findings"));
  return kUsage;
}

}  // namespace verbatim::cli
