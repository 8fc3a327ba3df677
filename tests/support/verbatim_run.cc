#include "tests/support/verbatim_run.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/command.h"

namespace verbatim::support {

namespace fs = std::filesystem;

std::string topology(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  return std::string(VERBATIM_SOURCE_DIR) + "/topologies/" + name + ".json";
}

std::string verbatim_program() { return VERBATIM_PROGRAM; }

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string quoted(const std::string& path) { return '"' + path + '"'; }

TemporaryFolder::TemporaryFolder() {
  std::string pattern = ::testing::TempDir() + "verbatim-XXXXXX";
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string RunReport::digest() const { return report.is_object() ? report.value("digest", "") : ""; }

const std::string& RunReport::output(const std::string& host) const {
  static const std::string kNone;
  const auto it = outputs.find(host + ".stdout");
  return it == outputs.end() ? kNone : it->second;
}

const std::string& RunReport::errors(const std::string& host) const {
  static const std::string kNone;
  const auto it = outputs.find(host + ".stderr");
  return it == outputs.end() ? kNone : it->second;
}

double RunReport::virtual_ms() const {
  return report.is_object() ? static_cast<double>(report.value("virtual_time_ps", std::int64_t{0})) / 1e9
                            : -1;
}

std::string RunReport::story() const {
  constexpr std::size_t kMuch = 4000;
  const auto shortened = [](const std::string& text) {
    return text.size() <= kMuch ? text
                                : text.substr(0, kMuch) + "… (" + std::to_string(text.size()) + " bytes)\n";
  };
  return "\nrepeat: " + command + "\nexit code " + std::to_string(code) + "\n--- out\n" + shortened(out) +
         "--- err\n" + shortened(err);
}

namespace {

// Additional options of every run: words of VERBATIM_TEST_RUN_OPTIONS, unless the request has the first one
// itself.
std::vector<std::string> further_options(const RunRequest& request) {
  const char* const text = ::getenv("VERBATIM_TEST_RUN_OPTIONS");
  std::istringstream stream(text != nullptr ? text : "");
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (!words.empty() && std::ranges::find(request.options, words.front()) != request.options.end()) return {};
  return words;
}

}  // namespace

RunReport run(const RunRequest& request) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const std::string trace = folder.path() + "/trace";
  std::vector<std::string> words = request.wrapper;
  // Whoever the wrapper makes of us.
  if (!words.empty()) fs::permissions(folder.path(), fs::perms::all);
  if (!request.environment.empty()) {
    words.push_back("env");
    for (const auto& [name, value] : request.environment) words.push_back(name + "=" + value);
  }
  words.push_back(request.program.empty() ? verbatim_program() : request.program);
  words.insert(words.end(), {"run", "--out", out});
  if (request.scenario.empty()) words.insert(words.end(), {"--topology", topology(request.topology)});
  if (request.trace) words.insert(words.end(), {"--trace", trace});
  words.insert(words.end(), request.options.begin(), request.options.end());
  const std::vector<std::string> further = further_options(request);
  words.insert(words.end(), further.begin(), further.end());
  if (!request.scenario.empty()) words.push_back(request.scenario);
  words.insert(words.end(), request.commands.begin(), request.commands.end());

  RunReport result;
  for (const std::string& word : words) {
    result.command += (result.command.empty() ? "'" : " '") + word + "'";
  }
  const auto start = std::chrono::steady_clock::now();
  cli::Finished finished = request.working_directory.empty()
                               ? cli::run_command(words)
                               : cli::run_command(words, request.working_directory);
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.code = finished.code;
  result.out = std::move(finished.out);
  result.err = std::move(finished.err);
  if (fs::is_directory(out)) {
    for (const auto& entry : fs::directory_iterator(out)) {
      if (entry.path().filename() != "run.json") {
        result.outputs[entry.path().filename()] = text_of_file(entry.path());
      }
    }
    result.report = nlohmann::json::parse(text_of_file(out + "/run.json"), nullptr, false);
  }
  if (request.trace) result.trace = text_of_file(trace);
  return result;
}

RunReport run_pair(const std::string& server, const std::string& client, const std::string& topology) {
  RunRequest request;
  request.topology = topology;
  request.commands = {"server=" + server, "client=" + client};
  return run(request);
}

}  // namespace verbatim::support
