#include "tools/verbatim/run_report.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sim/explore/signature.h"
#include "tools/verbatim/decision_json.h"
#include "tools/verbatim/working_files.h"

namespace verbatim::cli {

using Json = nlohmann::ordered_json;

namespace {

// Rows in memory format: only this program reads them.
template <class Row>
Json packed(const std::vector<Row>& rows) {
  static_assert(std::is_trivially_copyable_v<Row>);
  const auto* first = reinterpret_cast<const std::uint8_t*>(rows.data());
  return Json::binary(std::vector<std::uint8_t>(first, first + rows.size() * sizeof(Row)));
}
template <class Row>
std::vector<Row> unpacked(const Json& json) {
  const std::vector<std::uint8_t>& bytes = json.get_binary();
  std::vector<Row> rows(bytes.size() / sizeof(Row));
  if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(Row));
  return rows;
}

// Names of a stream, each followed by a zero byte.
std::string names_of(const std::vector<explore::Questions::Stream>& streams) {
  std::string names;
  for (const auto& stream : streams) {
    for (const std::string* name : {&stream.site, &stream.actor}) names.append(*name).push_back('\0');
  }
  return names;
}
struct StreamCounts {
  std::uint64_t asked = 0, decided = 0;
};
std::vector<StreamCounts> counts_of(const std::vector<explore::Questions::Stream>& streams) {
  std::vector<StreamCounts> counts;
  for (const auto& stream : streams) counts.push_back({stream.asked, stream.decided});
  return counts;
}
// Throws nlohmann::json::exception or std::out_of_range if the names are not complete.
std::vector<explore::Questions::Stream> streams_of(const Json& names, const Json& counts) {
  const auto& text = names.get_ref<const std::string&>();
  std::size_t at = 0;
  const auto next = [&] {
    const std::size_t end = text.find('\0', at);
    const std::string name = text.substr(at, end - at);
    at = end == std::string::npos ? end : end + 1;
    return name;
  };
  std::vector<explore::Questions::Stream> streams;
  for (const StreamCounts& count : unpacked<StreamCounts>(counts)) {
    explore::Questions::Stream& stream = streams.emplace_back();
    stream.site = next();
    stream.actor = next();
    stream.asked = count.asked;
    stream.decided = count.decided;
  }
  return streams;
}

// A decision without names.
struct PackedDecision {
  explore::ChoicePoint point;
  std::uint64_t answer = 0;  // a whole word, so that a row has no padding
  std::int64_t time_ps = 0;
};

std::vector<PackedDecision> without_names(const RunReport& report) {
  using Names = std::pair<std::string_view, std::string_view>;
  std::map<Names, std::uint32_t> streams;
  for (const auto& stream : report.questions.streams)
    streams.emplace(Names(stream.site, stream.actor), static_cast<std::uint32_t>(streams.size()));
  std::vector<PackedDecision> rows;
  for (const explore::Decision& decision : report.decisions) {
    rows.push_back({{streams.at({decision.site, decision.actor}), decision.alternatives, decision.occurrence},
                    decision.answer, decision.time_ps});
  }
  return rows;
}

}  // namespace

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
    programs.push_back({program.label, program.as_expected, program.how, program.last_words, program.ended_ps,
                        program.sanitizer_report});
  Json findings = Json::array();
  for (const RunReport::Finding& found : report.findings)
    findings.push_back({found.check, found.component, found.text, found.place, found.time_ps});
  Json places = Json::array();
  for (const auto& [component, call] : report.places)
    places.push_back({component, call.kind, call.time_ps, call.number, call.wr_id, call.site, call.occurrence, call.place,
                      call.thread});
  const Json json = {{"code", report.code},
                     {"outcome", report.outcome},
                     {"digest", report.digest},
                     {"virtual_end_ps", report.virtual_end_ps},
                     {"sentences", report.sentences},
                     {"cause", report.cause},
                     {"programs", programs},
                     {"findings", findings},
                     {"decisions", packed(without_names(report))},
                     {"streams", names_of(report.questions.streams)},
                     {"stream_counts", packed(counts_of(report.questions.streams))},
                     {"points", packed(report.wants_points ? report.questions.points : std::vector<explore::ChoicePoint>())},
                     {"places", places},
                     {"unused", to_json(report.unused)},
                     {"windows", report.windows},
                     {"working_files", report.code == 0 ? Json::array() : to_json(report.working_files)},
                     {"opened_files", report.working_files.opened},
                     {"code_files", report.code_files}};
  std::string bytes;
  // Programs may write any bytes, which are kept.
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
  report.cause = json.at("cause").get<std::vector<std::string>>();
  for (const Json& program : json.at("programs"))
    report.programs.push_back(
        {program.at(0), program.at(1), program.at(2), program.at(3), program.at(4), program.at(5)});
  for (const Json& found : json.at("findings"))
    report.findings.push_back({found.at(0), found.at(1), found.at(2), found.at(3), found.at(4)});
  report.questions.streams = streams_of(json.at("streams"), json.at("stream_counts"));
  report.questions.digest = report.digest;
  report.questions.points = unpacked<explore::ChoicePoint>(json.at("points"));
  for (const auto& [point, answer, time_ps] : unpacked<PackedDecision>(json.at("decisions"))) {
    const explore::Questions::Stream& stream = report.questions.streams.at(point.stream);
    report.decisions.push_back({stream.site, stream.actor, point.occurrence, static_cast<std::uint32_t>(answer),
                                point.alternatives, time_ps});
  }
  for (const Json& row : json.at("places")) {
    RunReport::Place& place = report.places.emplace_back();
    row.at(0).get_to(place.component);
    row.at(1).get_to(place.call.kind);
    row.at(2).get_to(place.call.time_ps);
    row.at(3).get_to(place.call.number);
    row.at(4).get_to(place.call.wr_id);
    row.at(5).get_to(place.call.site);
    row.at(6).get_to(place.call.occurrence);
    row.at(7).get_to(place.call.place);
    row.at(8).get_to(place.call.thread);
  }
  report.unused = decisions_of(json.at("unused"));
  report.windows = json.at("windows").get<std::vector<std::uint64_t>>();
  report.working_files = snapshot_of(json.at("working_files"));
  report.working_files.opened = json.at("opened_files").get<std::vector<std::string>>();
  report.code_files = json.at("code_files").get<std::vector<std::string>>();
  return report;
}

}  // namespace verbatim::cli
