#include "tools/verbatim/fabric/import.h"

#include <algorithm>
#include <filesystem>

#include "sim/config/import/import.h"
#include "sim/config/load.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using config::imports::Source;

// Depth of the search: a folder may contain one folder for each switch, and other files.
constexpr int kDeepest = 2;

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  auto it = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->path().filename().string().starts_with('.') || it.depth() >= kDeepest) it.disable_recursion_pending();
    if (it->is_regular_file(error) && !it->path().filename().string().starts_with('.')) files.push_back(it->path().string());
  }
  std::ranges::sort(files);
  return files;
}

struct Sources {
  std::vector<Source> known;
  std::size_t left_out = 0;  // files of folders in unknown formats
};

Sources read_sources(const ImportOptions& options, bool has_format, config::Diagnostics& diagnostics) {
  Sources sources;
  for (const std::string& path : options.sources) {
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    const std::vector<std::string> files = is_folder ? files_in(path) : std::vector<std::string>{path};
    for (const std::string& file : files) {
      auto text = config::read_file(file, diagnostics);
      if (!text) continue;
      protect_input(file);
      if (is_folder && !has_format && !config::imports::recognise(*text))
        ++sources.left_out;
      else
        sources.known.push_back({file, std::move(*text)});
    }
    if (is_folder && sources.known.empty() && diagnostics.empty())
      diagnostics.add(path, "", "no file of this folder is in a format that is known", "--format says which one it is");
  }
  return sources;
}

// Checks the quantities and rates of the command line.
void check_defaults(const ImportOptions& options, config::Diagnostics& diagnostics) {
  std::string problem, hint;
  if (!config::parse_quantity(options.length, config::Dimension::kLength, &problem, &hint))
    diagnostics.add("--length", "", config::in_quotes(options.length) + " " + problem, hint);
  if (!options.rate.empty() && !config::parse_link_rate(options.rate, &problem, &hint))
    diagnostics.add("--rate", "", config::in_quotes(options.rate) + " " + problem, hint);
}

// Text of the profile for switches whose files have values of their own; empty if it is not found, which the
// topology's check reports.
std::string switch_profile_text(const std::string& reference) {
  for (const std::string& folder : profile_folders()) {
    for (const std::string& path : {folder + "/" + reference + ".json", reference}) {
      std::error_code error;
      config::Diagnostics ignored;
      if (!fs::is_regular_file(path, error)) continue;
      if (auto text = config::read_file(path, ignored)) return std::move(*text);
    }
  }
  return {};
}

std::string name_of_topology(const std::string& path) {
  const std::string stem = fs::path(path).lexically_normal().stem().string();
  return stem.empty() || path == "-" ? "imported" : stem;
}

}  // namespace

std::vector<std::string> import_formats() {
  std::vector<std::string> names;
  for (const config::imports::FormatName& one : config::imports::format_names()) names.emplace_back(one.name);
  return names;
}

int import_fabric(const ImportOptions& options) {
  Answer answer("import", options.style);
  config::Diagnostics diagnostics;
  const auto refuse = [&] {
    print(diagnostics, "nothing was written");
    return kUsage;
  };
  const auto format = config::imports::format_named(options.format);
  check_defaults(options, diagnostics);
  const Sources sources = read_sources(options, format.has_value(), diagnostics);
  if (!diagnostics.empty()) return refuse();
  const auto fabric = config::imports::read_fabric(sources.known, format, diagnostics);
  if (!fabric) return refuse();
  config::imports::Defaults defaults{
      name_of_topology(options.out), options.length, options.rate, options.hca, options.switch_profile, options.cpu};
  if (!options.lengths.empty()) {
    protect_input(options.lengths);
    const auto text = config::read_file(options.lengths, diagnostics);
    auto lengths = text ? config::imports::read_lengths(*text, options.lengths, diagnostics) : std::nullopt;
    if (!lengths) return refuse();
    defaults.lengths = std::move(*lengths);
  }
  if (!is_standard_output(options.out)) {
    const bool is_given = !options.switch_profile.empty();
    defaults.switch_profile_text = switch_profile_text(is_given ? options.switch_profile : fabric->switch_profile);
    defaults.profile_stem = name_of_topology(options.out);
  }
  const config::imports::Written written = config::imports::write_topology(*fabric, defaults);
  for (const config::imports::KnownLength& one : written.unused_lengths)
    diagnostics.add(options.lengths, "line " + std::to_string(one.line), "there is no cable from " + config::in_quotes(one.a) + " to " + config::in_quotes(one.b),
                    "name its ends as the topology does: a host, a switch, or a port such as leaf1:3");
  if (!diagnostics.empty()) return refuse();
  const std::string folder = fs::path(options.out).parent_path().string();
  const auto beside_topology = [&](const std::string& name) { return folder.empty() ? name : folder + "/" + name; };
  // The topology is checked before it is written.
  config::FileTexts texts;
  texts.texts[options.out] = written.text;
  for (const auto& one : written.profiles) texts.texts[beside_topology(one.name)] = one.text;
  config::Diagnostics of_topology;
  config::load_topology(options.out, {profile_folders(), &texts, "import"}, of_topology);
  // One cause may produce a finding for each host.
  constexpr std::size_t kMostShown = 10;
  for (const config::Finding& finding : of_topology.findings()) {
    if (diagnostics.findings().size() < kMostShown) diagnostics.add(finding);
  }
  if (of_topology.findings().size() > kMostShown)
    diagnostics.add(options.out, "",
                    "there are " + std::to_string(of_topology.findings().size() - kMostShown) + " more findings",
                    "correct these first");
  if (!diagnostics.empty()) return refuse();
  if (!can_write(options.out)) return kUsage;
  for (const auto& one : written.profiles)
    if (!can_write(beside_topology(one.name))) return kUsage;
  for (const auto& one : written.profiles) {
    if (const std::string failure = write_document(beside_topology(one.name), one.text); !failure.empty()) {
      complain(failure);
      return kUsage;
    }
  }
  if (const std::string failure = write_document(options.out, written.text); !failure.empty()) {
    complain(failure);
    return kUsage;
  }
  auto assumptions = Answer::Json::array();
  for (const auto& one : written.assumptions) assumptions.push_back({{"assumed", one.text}, {"change", one.where}});
  auto profiles = Answer::Json::array();
  for (const auto& one : written.profiles) profiles.push_back(beside_topology(one.name));
  answer.document() = {{"topology", options.out},      {"format", fabric->format}, {"hosts", written.hosts},
                       {"switches", written.switches}, {"links", written.links},   {"assumptions", std::move(assumptions)},
                       {"profiles", std::move(profiles)}};
  if (is_standard_output(options.out)) return answer.end(kAsExpected);
  const auto counted = [](std::size_t n, const char* thing, const char* plural) {
    return std::to_string(n) + " " + (n == 1 ? thing : plural);
  };
  answer.say("%s: %s, %s, %s, %s, from %s\n", options.out.c_str(), fabric->link_layer.c_str(),
             counted(written.hosts, "host", "hosts").c_str(), counted(written.switches, "switch", "switches").c_str(),
             counted(written.links, "link", "links").c_str(), fabric->format.c_str());
  for (const auto& one : written.profiles) answer.say("profile of switches: %s\n", beside_topology(one.name).c_str());
  for (const auto& one : written.assumptions) answer.say("assumed: %s\n  change: %s\n", one.text.c_str(), one.where.c_str());
  if (sources.left_out > 0) answer.say("left out: %s of another kind\n", counted(sources.left_out, "file", "files").c_str());
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
