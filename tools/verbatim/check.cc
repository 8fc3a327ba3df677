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

int check_this_machine() {
#ifdef VERBATIM_CAN_RUN
  std::vector<std::string> findings = supervisor::Supervisor::check_host();
  if (shim_directory().empty()) {
    findings.push_back(
        "the libraries libverbatim_runtime.so, libibverbs.so.1 and librdmacm.so.1 are not where this "
        "installation should have them; build or install all of it");
  }
  for (const std::string& finding : findings) std::fprintf(stderr, "host: %s\n", finding.c_str());
  if (!findings.empty()) {
    complain("this machine or container cannot run simulations");
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

int check(const std::vector<std::string>& files, bool host) {
  if (files.empty() && !host) {
    complain("nothing to check; name files, or use --host");
    return kUsage;
  }
  config::Diagnostics diagnostics;
  const config::LoadOptions options{profile_folders()};
  for (const std::string& file : files) {
    const std::size_t before = diagnostics.findings().size();
    const auto kind = config::check_file(file, options, diagnostics);
    if (kind && diagnostics.findings().size() == before) {
      std::printf("%s: a valid %s\n", file.c_str(), std::string(config::name_of(*kind)).c_str());
    }
  }
  const int machine = host ? check_this_machine() : kAsExpected;
  if (diagnostics.empty()) return machine;
  for (const config::Finding& finding : diagnostics.findings()) {
    std::fprintf(stderr, "%s\n", config::to_string(finding).c_str());
  }
  const std::size_t n = diagnostics.findings().size();
  complain(std::to_string(n) + (n == 1 ? " finding" : " findings"));
  return kUsage;
}

}  // namespace verbatim::cli
