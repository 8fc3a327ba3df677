#include "tools/verbatim/labs/run_cause.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "sim/core/input_file.h"
#include "sim/core/words.h"
#include "sim/explore/signature.h"
#include "sim/observe/remedies.h"
#include "tools/verbatim/run_json.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 8;        // of a cause
constexpr std::size_t kMostCauses = 3;       // of a criterion
constexpr std::size_t kLongestLine = 600;    // bytes
constexpr std::string_view kOurs = "verbatim: ";

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

bool is_missing_output(std::string_view line) { return line.find(", the output of `") != line.npos; }
bool is_limit(std::string_view line) { return line.starts_with("the limit of "); }

// Sentences that this program printed, without "verbatim: " and without those that are no cause.
std::vector<std::string> sentences_of(const std::string& output) {
  std::vector<std::string> sentences;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kOurs)) continue;
    line.erase(0, kOurs.size());
    if (line.starts_with("warning: ") || line.starts_with("freedom: ")) continue;
    if (line.starts_with("the check ") && line.ends_with(", has found something")) continue;  // run.json has the finding
    sentences.push_back(std::move(line));
  }
  // Missing output is reported only if no other reason is known.
  const auto is_reason = [](const std::string& one) { return !is_missing_output(one) && !is_limit(one); };
  const bool has_reason = std::ranges::any_of(sentences, is_reason);
  if (has_reason) std::erase_if(sentences, is_missing_output);
  // The cause of a hang repeats the state of the faulty thread: "cause: client: lab (pid 1001), thread 1001:
  // QP 72 …".
  const auto cause = std::ranges::find_if(sentences, [](const std::string& one) { return one.starts_with("cause: "); });
  const std::size_t thread = cause == sentences.end() ? std::string::npos : cause->find(", thread ");
  if (const std::size_t at = thread == std::string::npos ? thread : cause->find(": ", thread); at != std::string::npos) {
    const std::string reason = cause->substr(at + 2), named = *cause;
    std::erase_if(sentences, [&](const std::string& one) { return one != named && one.ends_with(reason); });
  }
  for (std::string& sentence : sentences) {
    if (const std::size_t at = sentence.find("; the next lines say what "); is_limit(sentence) && at != std::string::npos)
      sentence.erase(at);
  }
  return sentences;
}

// Findings of checks with level error, each with its remedy.
std::vector<std::string> findings_of(const nlohmann::json& run) {
  std::vector<std::string> lines;
  for (const auto& entry : run.value("checks", nlohmann::json::array())) {
    if (entry.value("level", "") != "error") continue;
    const std::string name = entry.value("check", ""), place = entry.value("place", "");
    lines.push_back("check " + name + ": " + entry.value("text", "") + (place.empty() ? "" : ", at " + place));
    if (const std::string_view remedy = observe::remedy_for(name + ":"); !remedy.empty()) lines.push_back("what to do: " + std::string(remedy));
  }
  return lines;
}

// The last line that a failed program wrote to standard error.
std::vector<std::string> last_words_of(const nlohmann::json& run, const fs::path& out) {
  std::vector<std::string> lines;
  for (const auto& program : run.value("programs", nlohmann::json::array())) {
    if (!program.contains("exit_code") || !program["exit_code"].is_number() || program["exit_code"] == 0) continue;
    InputFile file(out / program.value("stderr", ""));
    std::string last;
    while (const auto line = file.line()) {
      if (!line->empty()) last = *line;
    }
    if (!last.empty()) lines.push_back(program.value("host", "") + "| " + last);
  }
  return lines;
}

std::string key_of(const std::vector<std::string>& lines) {
  std::string key;
  for (const std::string& line : lines) key += explore::without_numbers(line) + "\n";
  return key;
}

}  // namespace

std::vector<std::string> cause_of_run(const std::string& output, const fs::path& out, const fs::path& folder) {
  std::vector<std::string> lines = sentences_of(output);
  std::string ignored;
  if (const auto run = read_run_json(out / "run.json", &ignored)) {
    for (const auto& more : {findings_of(*run), last_words_of(*run, out)}) lines.insert(lines.end(), more.begin(), more.end());
  }
  if (lines.empty()) lines.push_back("the run has failed and gave no reason");
  if (lines.size() > kMostLines) lines.resize(kMostLines);
  for (std::string& line : lines) {
    replace_all(line, " (in " + (folder / "lab").string() + ")", "");
    replace_all(line, folder.string() + "/", "");
    if (line.size() > kLongestLine) line = line.substr(0, kLongestLine) + " …";
  }
  return lines;
}

std::vector<std::string> Causes::text_for(const std::string& criterion, std::size_t runs, const std::vector<Failure>& failures) {
  struct Group {
    std::string key;
    std::size_t count;
    const Failure* first;
  };
  std::vector<Group> groups;  // in the order of their first failures
  for (const Failure& failure : failures) {
    const std::string key = key_of(failure.lines);
    const auto found = std::ranges::find(groups, key, &Group::key);
    if (found != groups.end()) ++found->count;
    else groups.push_back({key, 1, &failure});
  }
  std::ranges::stable_sort(groups, std::greater{}, &Group::count);
  std::vector<std::string> text;
  std::size_t others = 0;
  for (const Group& group : groups) {
    if (&group - groups.data() >= static_cast<std::ptrdiff_t>(kMostCauses)) {
      others += group.count;
      continue;
    }
    std::string head;
    if (runs > 1) head = join("in ", group.count, " of ", runs, " runs");
    if (runs > 1 && !group.first->run.empty()) head += (group.count == 1 ? ", " : ", the first ") + group.first->run;
    if (runs > 1) head += ": ";
    const auto [place, is_first] = first_place_.try_emplace(group.key, criterion);
    if (!is_first && place->second != criterion) {
      text.push_back(head + "for the same reason as \"" + place->second + "\"");
      continue;
    }
    text.push_back(head + group.first->lines.front());
    text.insert(text.end(), group.first->lines.begin() + 1, group.first->lines.end());
  }
  if (others > 0) text.push_back(join("and in ", others, " more for other reasons"));
  return text;
}

}  // namespace verbatim::cli
