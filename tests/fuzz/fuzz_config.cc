// The JSON front end: any text leads to findings or to a spec that can be built. An input is one file
// (topology, scenario or profile); after a line "====" may follow a scenario, whose topology "t.json" is the
// first file.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "sim/config/load.h"
#include "sim/config/simulation.h"

namespace {

using namespace verbatim;

// In memory if there is such a file system; removed when the program ends.
class Folder {
 public:
  Folder() {
    struct stat status {};
    std::string pattern = ::stat("/dev/shm", &status) == 0 ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string write(const char* name, std::string_view text) const {
    std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    return path;
  }

 private:
  std::string path_;
};

// Every checked topology can be built; large ones are skipped to save time.
void build(const config::TopologySpec& topology, const std::vector<config::FaultSpec>& faults) {
  if (topology.hosts.size() + topology.switches.size() > 16) return;
  DefaultChoices choices;
  config::Simulation simulation(topology, 1, choices);
  simulation.add_faults(faults);
  for (int i = 0; i < 1000 && !simulation.engine().empty(); ++i) simulation.engine().step();
}

// Findings exactly when there is no spec, and all of them can be printed.
template <class Spec>
void expect_consistent(const std::optional<Spec>& spec, const config::Diagnostics& diagnostics) {
  CHECK(spec.has_value() == diagnostics.empty());
  for (const config::Finding& finding : diagnostics.findings()) {
    CHECK(!finding.text.empty() && !to_string(finding).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  static const config::LoadOptions options{{VERBATIM_SOURCE_DIR "/topologies/profiles"}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kBetween = "\n====\n";
  const std::size_t cut = text.find(kBetween);

  const std::string first = folder.write("t.json", text.substr(0, cut));
  config::Diagnostics of_check, of_load;
  const auto kind = config::check_file(first, options, of_check);
  if (kind == config::FileKind::kTopology) {
    const auto topology = config::load_topology(first, options, of_load);
    expect_consistent(topology, of_load);
    CHECK(of_load.findings().size() == of_check.findings().size());
    if (topology) build(*topology, {});
  }
  if (cut == std::string_view::npos) return 0;
  const std::string second = folder.write("s.json", text.substr(cut + kBetween.size()));
  config::Diagnostics diagnostics;
  const auto scenario = config::load_scenario(second, options, diagnostics);
  expect_consistent(scenario, diagnostics);
  if (scenario) build(scenario->topology, scenario->faults);
  return 0;
}
