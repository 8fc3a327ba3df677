// `verbatim report`: a run as one HTML file that needs nothing else.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "sim/observe/failure_causes.h"
#include "sim/observe/failure_facts.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/page_resource.h"
#include "tools/verbatim/perfetto.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/run_picture.h"
#include "tools/verbatim/side_data.h"
#include "tools/verbatim/whole_file.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;

// Columns of a host side by side, its programs first, then its queue pairs: the new place of each.
std::vector<int> places_of(const std::vector<RunPicture::Column>& columns, std::vector<std::size_t>* order) {
  order->resize(columns.size());
  std::iota(order->begin(), order->end(), std::size_t{0});
  std::ranges::stable_sort(*order, [&](std::size_t a, std::size_t b) {
    return std::pair(columns[a].host, columns[a].qpn) < std::pair(columns[b].host, columns[b].qpn);
  });
  std::vector<int> places(columns.size());
  for (std::size_t i = 0; i < order->size(); ++i) places[(*order)[i]] = static_cast<int>(i);
  return places;
}

// Numbers of all rows side by side: much shorter than an object for each. Times are differences to the row before.
Json rows_of(const RunPicture& picture, const std::vector<int>& places) {
  Json time = Json::array(), took = Json::array(), from = Json::array(), to = Json::array(), text = Json::array();
  Json note = Json::array(), psn = Json::array(), bytes = Json::array(), flags = Json::array(), request = Json::array();
  std::int64_t before = 0;
  for (const RunPicture::Row& row : picture.rows) {
    time.push_back(row.time_ps - before);
    before = row.time_ps;
    took.push_back(row.end_ps < 0 ? -1 : row.end_ps - row.time_ps);
    from.push_back(places[static_cast<std::size_t>(row.from)]);
    to.push_back(row.to < 0 ? -1 : places[static_cast<std::size_t>(row.to)]);
    text.push_back(row.text);
    note.push_back(row.note);
    psn.push_back(row.psn);
    bytes.push_back(row.bytes);
    flags.push_back(row.flags);
    request.push_back(row.request);
  }
  return {{"time", std::move(time)}, {"took", std::move(took)},   {"from", std::move(from)},   {"to", std::move(to)},
          {"text", std::move(text)}, {"note", std::move(note)},   {"psn", std::move(psn)},     {"bytes", std::move(bytes)},
          {"flags", std::move(flags)}, {"request", std::move(request)}};
}

Json requests_of(const RunPicture& picture, const std::vector<int>& places) {
  Json requests = Json::array();
  for (const RunPicture::Request& r : picture.requests) {
    requests.push_back({places[static_cast<std::size_t>(r.column)], r.wr_id, r.place, r.bytes, r.first_psn, r.last_psn, r.posted,
                        r.rung, r.fetched, r.first_left, r.last_left, r.last_came, r.acknowledged, r.completed, r.status});
  }
  return requests;
}

Json failures_json(const RecordedRun& run) {
  std::vector<observe::TraceLine> facts;
  for (const observe::TraceLine& line : run.lines) {
    if (observe::tells_of_failure(line)) facts.push_back(line);
  }
  return to_json(observe::failures_of(facts));
}

Json run_json(const RecordedRun& run) {
  Json json;
  if (!run.report.is_object()) return json;
  for (const char* name : {"version", "seed", "freedom", "digest", "determinism", "outcome", "virtual_time_ps", "programs", "findings", "warnings", "queues"}) {
    if (run.report.contains(name)) json[name] = run.report[name];
  }
  return json;
}

// In a <script> element nothing may look like its end.
std::string for_script(std::string text) {
  for (std::size_t at = 0; (at = text.find("</", at)) != text.npos; at += 3) text.replace(at, 2, "<\\/");
  for (std::size_t at = 0; (at = text.find("<!--", at)) != text.npos; at += 4) text.replace(at, 4, "\\u003c!--");
  return text;
}

std::string data_of(const RecordedRun& run, const RunPicture& picture) {
  std::vector<std::size_t> order;
  const std::vector<int> places = places_of(picture.columns, &order);
  Json columns = Json::array(), changes = Json::array(), links = Json::array(), output = Json::array();
  for (const std::size_t i : order) columns.push_back({{"host", picture.columns[i].host}, {"qp", picture.columns[i].qpn}});
  for (const RunPicture::Change& change : picture.changes)
    changes.push_back({change.time_ps, places[static_cast<std::size_t>(change.column)], change.to});
  Json peers = Json::array();
  for (const auto& [column, peer] : picture.peers)
    peers.push_back({places[static_cast<std::size_t>(column)], places[static_cast<std::size_t>(peer)]});
  for (const RunPicture::Link& link : picture.links) links.push_back({{"port", link.port}, {"bytes", link.bytes}, {"drops", link.drops}});
  for (const RunPicture::Output& piece : picture.output)
    output.push_back({piece.time_ps, piece.host, piece.text, piece.is_error ? 1 : 0});
  const Json data = {{"format", 2},
                     {"run", run_json(run)},
                     {"packets", picture.packets},
                     {"first_packet", picture.first_packet_ps},
                     {"last_packet", picture.last_packet_ps},
                     {"strings", picture.strings},
                     {"columns", std::move(columns)},
                     {"rows", rows_of(picture, places)},
                     {"requests", requests_of(picture, places)},
                     {"changes", std::move(changes)},
                     {"links", std::move(links)},
                     {"output", std::move(output)},
                     {"sides", sides_json(sides_of(run, picture), places)},
                     {"peers", std::move(peers)},
                     {"failures", failures_json(run)}};
  return for_script(data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// `mark` stands once in the page.
void put(std::string& page, std::string_view mark, std::string_view content) {
  const std::size_t at = page.find(mark);
  if (at != page.npos) page.replace(at, mark.size(), content);
}

// False: it has not, and a sentence has said why.
bool wrote(const std::string& path, const std::string& text) {
  const std::string failure = write_whole_file(path, text);
  if (!failure.empty()) complain(failure);
  return failure.empty();
}

}  // namespace

int write_report(const ReportOptions& options) {
  Answer answer("report", options.style);
  Progress progress(answer.is_for_people());
  progress.show("report: reads " + options.run);
  std::string failure;
  const auto run = read_run(options.run, &failure);
  if (!run) {
    complain(failure);
    return kUsage;
  }
  if (run->lines.empty()) {
    complain(options.run + " holds no trace; `verbatim run --record FILE`, or --out FOLDER --keep-trace, leaves one");
    return kUsage;
  }
  progress.show("report: draws " + std::to_string(run->lines.size()) + " facts");
  const RunPicture picture = picture_of(*run);
  answer.document()["facts"] = run->lines.size();
  if (!options.perfetto.empty()) {
    const std::string trace = perfetto_trace(picture);
    if (!wrote(options.perfetto, trace)) return kProgramFailed;
    answer.say("%s: %zu KiB, opens in ui.perfetto.dev\n", options.perfetto.c_str(), trace.size() / 1024);
    answer.document()["perfetto"] = {{"file", options.perfetto}, {"bytes", trace.size()}};
    if (options.out.empty()) return answer.end(kAsExpected);
  }
  const std::string out = options.out.empty() ? "report.html" : options.out;
  progress.show("report: writes " + out);
  std::string page(kPageHtml);
  put(page, "/*style*/", kPageCss);
  put(page, "/*views*/", kViewsJs);
  put(page, "/*program*/", kPageJs);
  put(page, "/*data*/", data_of(*run, picture));
  if (!wrote(out, page)) return kProgramFailed;
  answer.say("%s: %zu KiB, opens in any browser\n", out.c_str(), page.size() / 1024);
  answer.document()["page"] = {{"file", out}, {"bytes", page.size()}};
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
