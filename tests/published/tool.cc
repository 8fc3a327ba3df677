#include "tests/published/tool.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <vector>

namespace verbatim::published {
namespace {

constexpr int kOff = 1, kUsage = 2;

const Target* find_target(const Tool& tool, std::string_view name) {
  const auto it = std::ranges::find(tool.targets, name, &Target::name);
  return it == tool.targets.end() ? nullptr : &*it;
}

std::string list_of_targets(const Tool& tool) {
  std::string list = "Targets:";
  for (const Target& target : tool.targets) list += "\n  " + std::string(target.name) + ": " + std::string(target.about);
  return list;
}

struct Count {
  int lines = 0, off = 0, off_without_bar = 0;
};

bool report(const Tool& tool, const Target& target, const std::string& folder, bool short_form, Count& count) {
  std::string error;
  std::vector<Published> published = read_published(folder, std::string(target.name), error);
  if (published.empty()) {
    std::fprintf(stderr, "%s: %s\n", tool.name.data(), error.c_str());
    return false;
  }
  if (short_form) std::erase_if(published, [](const Published& value) { return !value.in_short_form; });
  Wanted wanted;
  for (const Published& value : published) wanted.insert(value.key);
  if (wanted.empty()) return true;
  const Simulated simulated = target.measure(wanted);
  for (const Published& value : published) {
    const auto it = simulated.find(value.key);
    const std::optional<double> got = it == simulated.end() ? std::nullopt : std::optional(it->second);
    std::printf("%s\n", line_of(value, got, tool.columns).c_str());
    ++count.lines;
    if (!is_within(value, got)) ++(value.is_bar ? count.off : count.off_without_bar);
  }
  std::fflush(stdout);
  return true;
}

}  // namespace

int run_tool(const Tool& tool, int argc, char** argv) {
  CLI::App app(tool.about, std::string(tool.name));
  std::vector<std::string> names;
  bool short_form = false;
  std::string folder = tool.folder;
  app.add_option("TARGET", names, "what to measure (default: everything)");
  app.add_flag("--short", short_form, "only the values that the tests look at");
  app.add_option("--published", folder, "folder with the published values")->group("");
  app.footer(list_of_targets(tool) + "\n\nExit codes: 0 every value is within its bound; 1 some are not; 2 usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  for (const std::string& name : names) {
    if (find_target(tool, name) != nullptr) continue;
    std::fprintf(stderr, "%s: there is no target \"%s\"\n%s\n", tool.name.data(), name.c_str(), list_of_targets(tool).c_str());
    return kUsage;
  }
  if (names.empty()) {
    for (const Target& target : tool.targets) names.emplace_back(target.name);
  }
  std::printf("%s\n", heading(tool.columns).c_str());
  Count count;
  for (const std::string& name : names) {
    if (!report(tool, *find_target(tool, name), folder, short_form, count)) return kUsage;
  }
  std::fprintf(stderr, "%s: %d values, %d off", tool.name.data(), count.lines, count.off);
  if (count.off_without_bar > 0) std::fprintf(stderr, ", and %d that are no bar", count.off_without_bar);
  std::fputc('\n', stderr);
  return count.off == 0 ? 0 : kOff;
}

}  // namespace verbatim::published
