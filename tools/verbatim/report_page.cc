// `verbatim report`: a run as one self-contained HTML file.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/ib/wc_status.h"
#include "sim/observe/drop_names.h"
#include "sim/observe/failure_causes.h"
#include "sim/observe/failure_facts.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/kept_digest.h"
#include "tools/verbatim/overview_page.h"
#include "tools/verbatim/page_block.h"
#include "tools/verbatim/page_resource.h"
#include "tools/verbatim/page_rows.h"
#include "tools/verbatim/page_series.h"
#include "tools/verbatim/perfetto.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/report_page.h"
#include "tools/verbatim/run_lanes.h"
#include "tools/verbatim/run_windows.h"
#include "tools/verbatim/side_data.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;

// Natural order: h2 before h12.
bool comes_before(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    const auto digits_of = [&](std::string_view of) { return std::ranges::find_if_not(of, is_digit) - of.begin(); };
    const auto in_a = static_cast<std::size_t>(digits_of(a)), in_b = static_cast<std::size_t>(digits_of(b));
    if (in_a != 0 && in_b != 0) {
      const auto number = [](std::string_view digits) {
        return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
      };
      const std::string_view left = number(a.substr(0, in_a)), right = number(b.substr(0, in_b));
      if (left != right) return std::pair(left.size(), left) < std::pair(right.size(), right);
      a.remove_prefix(in_a);
      b.remove_prefix(in_b);
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() != b.size() ? a.size() < b.size() : whole_a < whole_b;
}

// Puts columns of a host side by side, programs first, then queue pairs. Returns the new index of each
// column.
std::vector<int> places_of(const std::vector<RunPicture::Column>& columns, std::vector<std::size_t>* order) {
  order->resize(columns.size());
  std::iota(order->begin(), order->end(), std::size_t{0});
  std::ranges::stable_sort(*order, [&](std::size_t a, std::size_t b) {
    if (columns[a].host != columns[b].host) return comes_before(columns[a].host, columns[b].host);
    return columns[a].qpn < columns[b].qpn;
  });
  std::vector<int> places(columns.size());
  for (std::size_t i = 0; i < order->size(); ++i) places[(*order)[i]] = static_cast<int>(i);
  return places;
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
  for (const char* name : {"version", "seed", "freedom", "digest", "determinism", "outcome", "virtual_time_ps", "packets", "losses", "programs", "findings", "warnings", "queues"}) {
    if (run.report.contains(name)) json[name] = run.report[name];
  }
  if (json.contains("digest")) {
    if (const KeptDigest digest = kept_digest_of(run.report); !digest.is_comparable()) json["digest_note"] = digest.why_not();
  }
  return json;
}

// Text in a <script> element must not contain its end tag.
std::string for_script(std::string text) {
  for (std::size_t at = 0; (at = text.find("</", at)) != text.npos; at += 3) text.replace(at, 2, "<\\/");
  for (std::size_t at = 0; (at = text.find("<!--", at)) != text.npos; at += 4) text.replace(at, 4, "\\u003c!--");
  return text;
}

// `series` stores the values; the JSON refers to them by number.
Json windows_json(const RecordedRun& run, const RunPicture& picture, const std::vector<int>& places, PageSeries& series) {
  constexpr std::size_t kMostLanes = 256;
  const auto place = [&](int column) { return places[static_cast<std::size_t>(column)]; };
  const auto levels = [&](const std::vector<Outstanding>& all) {
    Json list = Json::array();
    for (const Outstanding& one : all)
      list.push_back({{"column", place(one.column)}, {"most", one.most}, {"bins", series.add(one.bins)}});
    return list;
  };
  Json peers = Json::array(), links = Json::array();
  for (const PeerCredits& one : peer_credits_of(run, picture))
    peers.push_back({{"column", place(one.column)}, {"fewest", one.fewest}, {"least", series.add(one.least)},
                     {"most", series.add(one.most)}});
  for (const LinkCredits& one : link_credits_of(run, picture, kMostLanes)) {
    links.push_back({{"port", one.port}, {"lane", one.lane}, {"of", one.of}, {"fewest", one.fewest},
                     {"least", series.add(one.least)}, {"most", series.add(one.most)}});
  }
  return {{"requests", levels(outstanding_of(picture))}, {"packets", levels(unacknowledged_of(picture))},
          {"peer_credits", std::move(peers)}, {"link_credits", std::move(links)}};
}

// Lanes and queue pairs; `series` stores the values.
Json congestion_json(const RecordedRun& run, const RunPicture& picture, PageSeries& series) {
  constexpr std::size_t kMostLanes = 200, kMostRates = 200;
  std::size_t lanes_left_out = 0, rates_left_out = 0;
  Json lanes = Json::array(), rates = Json::array();
  for (const LaneHistory& lane : congested_lanes_of(run, picture, kMostLanes, &lanes_left_out)) {
    Json row = {{"port", lane.port}, {"lane", lane.lane}, {"deepest", lane.deepest}, {"pauses", lane.pauses}, {"paused", lane.paused_ps},
                {"marked", lane.marked}, {"dropped", lane.all_dropped()}};
    if (lane.deepest != 0) row["queue"] = series.add(lane.queue);
    if (lane.pauses != 0) row["pausing"] = series.add(lane.pausing);
    if (lane.marked != 0) row["marks"] = series.add(lane.marks);
    if (lane.all_dropped() != 0) row["drops"] = series.add(lane.drops);
    for (const auto& [reason, packets] : lane.dropped) row["reasons"][observe::drop_name(reason)] = packets;
    lanes.push_back(std::move(row));
  }
  for (const RateHistory& rate : rates_of(run, picture, kMostRates, &rates_left_out)) {
    rates.push_back({{"host", rate.host}, {"qp", rate.qpn}, {"changes", rate.changes}, {"lowest", rate.lowest},
                     {"least", series.add(rate.least)}, {"most", series.add(rate.most)}});
  }
  return {{"lanes", std::move(lanes)}, {"lanes_left_out", lanes_left_out}, {"rates", std::move(rates)}, {"rates_left_out", rates_left_out}};
}

// Negative: not in the file.
std::int64_t time_of(const nlohmann::json& flow, const char* key) {
  return flow.contains(key) && flow[key].is_number_unsigned() ? flow[key].get<std::int64_t>() : -1;
}

// Percentiles of flows, and the slowest flows.
Json flows_json(const RecordedRun& run) {
  constexpr std::size_t kMostFlows = 50;
  Json json = {{"times", Json::array()}, {"slowest", Json::array()}, {"count", 0}};
  if (!run.report.is_object() || !run.report.contains("flow_times")) return json;
  json["times"] = run.report["flow_times"];
  if (!run.report.contains("flows")) return json;
  std::vector<std::pair<std::int64_t, std::size_t>> times;  // an unfinished flow counts as the slowest
  const auto& flows = run.report["flows"];
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const std::int64_t from = time_of(flows[i], "start_ps"), to = time_of(flows[i], "finish_ps");
    const bool is_finished = flows[i].contains("mbps") && flows[i]["mbps"].is_number() && from >= 0 && to >= from;
    times.emplace_back(is_finished ? from - to : -INT64_MAX, i);
  }
  std::ranges::sort(times);
  times.resize(std::min(times.size(), kMostFlows));
  for (const auto& [took, i] : times) {
    Json row = {{"number", i}};
    for (const char* const key : {"from", "to", "bytes", "start_ps", "finish_ps", "acknowledged", "mbps", "status"})
      row[key] = flows[i].contains(key) ? Json(flows[i][key]) : Json();
    json["slowest"].push_back(std::move(row));
  }
  json["count"] = flows.size();
  return json;
}

// Names of request statuses, by number.
Json statuses_json(const RunPicture& picture) {
  Json names = Json::object();
  for (const RunPicture::Request& request : picture.requests) {
    if (request.status == 0 || request.status >= std::size(ib::kWcStatusNames)) continue;
    names[std::to_string(request.status)] = ib::kWcStatusNames[request.status].name;
  }
  return names;
}

}  // namespace

PageData data_of(const RecordedRun& run, const RunPicture& picture, const RecordedFigures& figures) {
  std::vector<std::size_t> order;
  const std::vector<int> places = places_of(picture.columns, &order);
  const auto place = [&](int column) { return places[static_cast<std::size_t>(column)]; };
  Json columns = Json::array(), changes = Json::array(), links = Json::array(), output = Json::array();
  Json peers = Json::array();
  for (const std::size_t i : order) columns.push_back({{"host", picture.columns[i].host}, {"qp", picture.columns[i].qpn}});
  for (const RunPicture::Change& change : picture.changes) changes.push_back({change.time_ps, place(change.column), change.to});
  for (const auto& [column, peer] : picture.peers) peers.push_back({place(column), place(peer)});
  PageSeries series;
  PageBlock drops(1);  // for each link in turn: times of drops, relative to the previous one
  for (const RunPicture::Link& link : picture.links) {
    links.push_back({{"port", link.port}, {"bytes", series.add(link.bytes)}, {"drops", link.drops.size()}});
    for (std::int64_t before = 0; const std::int64_t time : link.drops) drops.put_signed(0, time - std::exchange(before, time));
  }
  for (const RunPicture::Output& piece : picture.output)
    output.push_back({piece.time_ps, piece.host, piece.text, piece.is_error ? 1 : 0});
  const RunSides sides = sides_of(run, picture);
  PageBlocks rows = rows_blocks(picture, places), requests = requests_blocks(picture, places);
  PageBlocks beside = sides_blocks(sides, places);
  Json of_sides = sides_json(sides, series);
  Json windows = windows_json(run, picture, places, series);
  Json congestion = congestion_json(run, picture, series);
  PageBlocks over_time = series.blocks();
  PageBlocks overview = run.overview ? overview_blocks(*run.overview, run.report) : PageBlocks{};
  of_sides.update(beside.index);
  std::int64_t end = picture.rows.empty() ? 1 : picture.rows.back().time_ps;
  if (run.overview && !run.overview->has_all_detail) end = std::max(end, run.overview->end_ps);
  const Json head = {{"format", 6},
                     {"run", run_json(run)},
                     {"figures", to_json(figures)},
                     {"packets", picture.packets},
                     {"first_packet", picture.first_packet_ps},
                     {"last_packet", picture.last_packet_ps},
                     {"end", end},
                     {"columns", std::move(columns)},
                     {"rows", std::move(rows.index)},
                     {"requests", std::move(requests.index)},
                     {"statuses", statuses_json(picture)},
                     {"changes", std::move(changes)},
                     {"links", std::move(links)},
                     {"output", std::move(output)},
                     {"series", std::move(over_time.index)},
                     {"windows", std::move(windows)},
                     {"congestion", std::move(congestion)},
                     {"flows", flows_json(run)},
                     {"overview", std::move(overview.index)},
                     {"sides", std::move(of_sides)},
                     {"peers", std::move(peers)},
                     {"failures", failures_json(run)}};
  return {for_script(head.dump(-1, ' ', false, Json::error_handler_t::replace)),
          rows.elements + over_time.elements + overview.elements + block_element("drops", 0, drops) + requests.elements + beside.elements};
}

namespace {

// `mark` occurs once in the page.
void put(std::string& page, std::string_view mark, std::string_view content) {
  const std::size_t at = page.find(mark);
  if (at != page.npos) page.replace(at, mark.size(), content);
}

// Returns false, after an error message, on failure.
bool wrote(const std::string& path, const std::string& text) {
  const std::string failure = write_document(path, text);
  if (!failure.empty()) complain(failure);
  return failure.empty();
}

}  // namespace

int write_report(const ReportOptions& options) {
  Answer answer("report", options.style);
  const std::string out = options.out.empty() ? "report.html" : options.out;
  protect_input(options.run);
  for (const std::string& path : {options.perfetto, options.perfetto.empty() || !options.out.empty() ? out : ""}) {
    if (!can_write(path)) return kUsage;
  }
  Progress progress(answer.is_for_people());
  progress.show("report: reads " + options.run);
  std::string failure;
  // Most events of long runs are of kinds that a report does not use.
  const auto run = read_run(options.run, &failure, [](std::string_view event) {
    return event != "packet-forwarded" && event != "credits-returned" && event != "system-call";
  });
  if (!run) {
    complain(failure);
    return kUsage;
  }
  if (run->lines.empty() && !run->overview) {
    complain(options.run + " holds no trace; `verbatim run --record FILE`, or --out FOLDER --keep-trace, leaves one");
    return kUsage;
  }
  progress.show("report: draws " + std::to_string(run->lines.size()) + " facts");
  const RunPicture picture = picture_of(*run);
  answer.document()["facts"] = run->lines.size();
  if (!options.perfetto.empty()) {
    const std::string trace = perfetto_trace(picture);
    if (!wrote(options.perfetto, trace)) return kProgramFailed;
    if (!is_standard_output(options.perfetto))
      answer.say("%s: %zu KiB, opens in ui.perfetto.dev\n", options.perfetto.c_str(), trace.size() / 1024);
    answer.document()["perfetto"] = {{"file", options.perfetto}, {"bytes", trace.size()}};
    if (options.out.empty()) return answer.end(kAsExpected);
  }
  progress.show("report: writes " + out);
  const RecordedFigures figures = figures_of(*run, picture);
  answer.document()["figures"] = to_json(figures);
  const PageData data = data_of(*run, picture, figures);
  std::string page(kPageHtml);
  put(page, "/*style*/", kPageCss);
  for (const auto& [name, script] : kPageScripts) put(page, "/*" + std::string(name) + "*/", script);
  put(page, "/*head*/", data.head);
  put(page, "<!--blocks-->", data.blocks);
  if (!wrote(out, page)) return kProgramFailed;
  if (!is_standard_output(out)) answer.say("%s: %zu KiB, opens in any browser\n", out.c_str(), page.size() / 1024);
  answer.document()["page"] = {{"file", out}, {"bytes", page.size()}};
  return answer.end(kAsExpected);
}

}  // namespace verbatim::cli
