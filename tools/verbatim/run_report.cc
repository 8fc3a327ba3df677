#include "tools/verbatim/run_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/explore/signature.h"
#include "tools/verbatim/decision_json.h"

namespace verbatim::cli {

using Json = nlohmann::ordered_json;

const RunReport::Program* RunReport::first_failed() const {
  const Program* first = nullptr;
  for (const Program& program : programs) {
    if (!program.as_expected && (first == nullptr || program.ended_ps < first->ended_ps)) first = &program;
  }
  return first;
}

std::string RunReport::signature() const {
  if (!has_failed()) return "";
  std::string text = outcome + ", exit code " + std::to_string(code);
  if (const Program* const failed = first_failed()) {
    text += "; " + failed->label + ": " + failed->how;
    if (!failed->last_words.empty()) text += ": " + explore::without_numbers(failed->last_words);
  } else if (!sentences.empty()) {
    text += "; " + explore::without_numbers(sentences.front());
  }
  return text;
}

std::string RunReport::summary() const {
  if (!has_failed()) return "as expected";
  std::string text = outcome == "finished" || outcome.empty() ? "" : outcome;
  if (const Program* const failed = first_failed()) {
    text += (text.empty() ? "" : "; ") + failed->label + " " + failed->how;
    if (!failed->last_words.empty()) text += ", with the last words: " + failed->last_words;
    return text;
  }
  if (!sentences.empty()) return sentences.front();
  return "exit code " + std::to_string(code);
}

std::string to_bytes(const RunReport& report) {
  Json programs = Json::array();
  for (const RunReport::Program& program : report.programs)
    programs.push_back({program.label, program.as_expected, program.how, program.last_words, program.ended_ps});
  Json streams = Json::array();
  for (const explore::Questions::Stream& stream : report.questions.streams)
    streams.push_back({stream.site, stream.actor, stream.asked});
  Json points = Json::array();
  if (report.wants_points) {
    for (const explore::ChoicePoint& point : report.questions.points) {
      points.push_back(point.stream);
      points.push_back(point.alternatives);
    }
  }
  const Json json = {{"code", report.code},
                     {"outcome", report.outcome},
                     {"digest", report.digest},
                     {"virtual_end_ps", report.virtual_end_ps},
                     {"sentences", report.sentences},
                     {"programs", programs},
                     {"decisions", to_json(report.decisions)},
                     {"streams", streams},
                     {"points", points},
                     {"unused", to_json(report.unused)},
                     {"windows", report.windows},
                     {"code_files", report.code_files}};
  std::string bytes;
  // Programs write any bytes; they are kept as they are.
  Json::to_msgpack(json, bytes);
  return bytes;
}

std::optional<RunReport> report_of(const std::string& bytes) {
  const Json json = Json::from_msgpack(bytes, true, false);
  if (!json.is_object()) return std::nullopt;
  RunReport report;
  report.code = json.at("code");
  report.outcome = json.at("outcome");
  report.digest = json.at("digest");
  report.virtual_end_ps = json.at("virtual_end_ps");
  report.sentences = json.at("sentences").get<std::vector<std::string>>();
  for (const Json& program : json.at("programs"))
    report.programs.push_back({program.at(0), program.at(1), program.at(2), program.at(3), program.at(4)});
  report.decisions = decisions_of(json.at("decisions"));
  for (const Json& stream : json.at("streams"))
    report.questions.streams.push_back({stream.at(0), stream.at(1), stream.at(2)});
  const Json& points = json.at("points");
  for (std::size_t i = 0; i + 1 < points.size(); i += 2)
    report.questions.points.push_back({points.at(i), points.at(i + 1)});
  report.unused = decisions_of(json.at("unused"));
  report.windows = json.at("windows").get<std::vector<std::uint64_t>>();
  report.code_files = json.at("code_files").get<std::vector<std::string>>();
  return report;
}

}  // namespace verbatim::cli
