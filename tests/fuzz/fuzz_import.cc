// Files of other tools (sim/config/import): any text leads to findings, or to a topology that the reader
// accepts or refuses with findings. The first byte selects the format, or recognition; after a line "===="
// may follow another file.
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/cabling.h"
#include "sim/config/import/import.h"
#include "sim/config/load.h"
#include "sim/core/check.h"

namespace {

using namespace verbatim;
using namespace verbatim::config::imports;

std::vector<Source> sources_of(std::string_view text) {
  constexpr std::string_view kBetween = "\n====\n";
  const std::size_t cut = text.find(kBetween);
  std::vector<Source> sources{{"a", std::string(text.substr(0, cut))}};
  if (cut != text.npos) sources.push_back({"b", std::string(text.substr(cut + kBetween.size()))});
  return sources;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 256;  // nodes that are built
  if (size == 0) return 0;
  const auto formats = format_names();
  const std::size_t choice = data[0] % (formats.size() + 1);
  const std::optional<Format> format = choice == formats.size() ? std::nullopt : std::optional(formats[choice].format);
  const std::vector<Source> sources = sources_of({reinterpret_cast<const char*>(data) + 1, size - 1});
  config::Diagnostics diagnostics;
  const auto fabric = read_fabric(sources, format, diagnostics);
  CHECK(fabric.has_value() == diagnostics.empty());
  for (const config::Finding& finding : diagnostics.findings()) CHECK(!finding.text.empty() && !to_string(finding).empty());
  if (!fabric || fabric->devices.size() > kMost) return 0;
  const Written written = write_topology(*fabric, {});
  config::FileTexts files;
  files.texts["t.json"] = written.text;
  config::Diagnostics of_topology;
  const auto topology =
      config::load_topology("t.json", {{VERBATIM_SOURCE_DIR "/topologies/profiles"}, &files, "import"}, of_topology);
  CHECK(topology.has_value() == of_topology.empty());
  if (topology) config::plan_of(*topology);
  return 0;
}
