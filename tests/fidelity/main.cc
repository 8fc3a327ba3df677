// tools/fidelity: the model against published measurements, one line for each value.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/fidelity/line.h"
#include "tests/fidelity/target.h"

namespace verbatim::fidelity {
namespace {

constexpr int kOff = 1, kUsage = 2;

std::string list_of_targets() {
  std::string list = "Targets:";
  for (const Target& target : targets())
    list += "\n  " + std::string(target.name) + ": " + std::string(target.about);
  return list;
}

struct Count {
  int lines = 0, off = 0;
};

bool report(const Target& target, const std::string& folder, bool short_form, Count& count) {
  std::string error;
  std::vector<Published> published = read_published(folder, std::string(target.name), error);
  if (published.empty()) {
    std::fprintf(stderr, "fidelity: %s\n", error.c_str());
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
    std::printf("%s\n", line_of(value, got).c_str());
    ++count.lines;
    if (!is_within(value, got)) ++count.off;
  }
  std::fflush(stdout);
  return true;
}

int run(int argc, char** argv) {
  CLI::App app(
      "The model against published measurements: prints for every value\n"
      "  target  published  simulated  error %  bound %  ok|off\n"
      "A bound of 0 demands the published digits; - demands nothing.",
      "fidelity");
  std::vector<std::string> names;
  bool short_form = false;
  std::string folder = std::string(VERBATIM_SOURCE_DIR) + "/tests/fidelity/published";
  app.add_option("TARGET", names, "what to measure (default: everything)");
  app.add_flag("--short", short_form, "only the values that the tests look at");
  app.add_option("--published", folder, "folder with the published values")->group("");
  app.footer(list_of_targets() +
             "\n\nExit codes: 0 every value is within its bound; 1 some are not; 2 usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  for (const std::string& name : names) {
    if (find_target(name) != nullptr) continue;
    std::fprintf(stderr, "fidelity: there is no target \"%s\"\n%s\n", name.c_str(),
                 list_of_targets().c_str());
    return kUsage;
  }
  if (names.empty()) {
    for (const Target& target : targets()) names.emplace_back(target.name);
  }
  std::printf("%s\n", heading().c_str());
  Count count;
  for (const std::string& name : names) {
    if (!report(*find_target(name), folder, short_form, count)) return kUsage;
  }
  std::fprintf(stderr, "fidelity: %d values, %d off\n", count.lines, count.off);
  return count.off == 0 ? 0 : kOff;
}

}  // namespace
}  // namespace verbatim::fidelity

int main(int argc, char** argv) { return verbatim::fidelity::run(argc, argv); }
