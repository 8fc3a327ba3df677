#include "tools/verbatim/overview_page.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tools/verbatim/nearest_rank.h"
#include "tools/verbatim/overview_lanes.h"
#include "tools/verbatim/page_block.h"
#include "tools/verbatim/size_classes.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;
using Flow = RunOverview::Flow;

// In thousandths, rounded down, at least 1000 (run_flows.h); -1: unknown.
std::int64_t slowdown_of(const Flow& flow) {
  if (!flow.is_finished() || flow.ideal_ps <= 0) return -1;
  const auto scaled = static_cast<__int128>(flow.finish_ps - flow.start_ps) * 1000 / flow.ideal_ps;
  return static_cast<std::int64_t>(std::clamp<__int128>(scaled, 1000, INT64_MAX));
}

// Pairs of a value and the number of values up to it, from sorted values. Long lists are reduced to both ends
// and evenly spaced ranks, denser at the upper end.
Json curve_of(const std::vector<std::int64_t>& sorted) {
  constexpr std::size_t kMostPoints = 128;
  Json points = Json::array();
  if (sorted.empty()) return points;
  const std::size_t last = sorted.size() - 1;
  std::vector<std::size_t> places;
  if (sorted.size() <= 2 * kMostPoints) {
    for (std::size_t i = 0; i <= last; ++i) places.push_back(i);
  } else {
    for (std::size_t k = 0; k < kMostPoints; ++k) places.push_back(k * last / kMostPoints);
    for (std::size_t left = last - places.back(); left > 0; left = left * 7 / 8)
      places.push_back(last - left);
    places.push_back(last);
  }
  std::int64_t before = -1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    // Only the last of equal values is used.
    if (i + 1 < places.size() && sorted[places[i + 1]] == sorted[places[i]]) continue;
    if (sorted[places[i]] == before) continue;
    before = sorted[places[i]];
    points.push_back({before, std::ranges::upper_bound(sorted, before) - sorted.begin()});
  }
  return points;
}

struct Times {
  std::size_t flows = 0;
  std::vector<std::int64_t> times, slowdowns;  // of finished flows

  void add(const Flow& flow) {
    ++flows;
    if (!flow.is_finished()) return;
    times.push_back(flow.finish_ps - flow.start_ps);
    if (const std::int64_t slowdown = slowdown_of(flow); slowdown >= 0) slowdowns.push_back(slowdown);
  }
  void sort() {
    std::ranges::sort(times);
    std::ranges::sort(slowdowns);
  }
  void put_percentiles(Json& row) const {
    row["flows"] = flows;
    row["finished"] = times.size();
    if (!times.empty()) {
      row["mean"] = mean_of(times);
      for (const auto& [key, percent] : {std::pair("p50", 50), {"p95", 95}, {"p99", 99}})
        row[key] = nearest_rank(times, percent);
      row["longest"] = times.back();
    }
    if (slowdowns.empty()) return;
    for (const auto& [key, percent] : {std::pair("s50", 50), {"s95", 95}, {"s99", 99}})
      row[key] = nearest_rank(slowdowns, percent);
    row["most_slowdown"] = slowdowns.back();
  }
};

// Class of a size: from a power of 2 to 1.5 times it, or from there to the next power.
std::uint64_t least_of_step(std::uint64_t bytes) {
  std::uint64_t power = 1;
  while (power <= bytes / 2) power *= 2;
  const std::uint64_t middle = power + power / 2;
  return bytes >= middle && middle > power ? middle : power;
}

// Slowdowns by size, ascending; a row for each size if there are few sizes.
Json slowdowns_json(const std::vector<const Flow*>& flows) {
  std::map<std::uint64_t, std::vector<std::int64_t>> by_size, by_step;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> ranges;
  bool has_few = true;
  for (const Flow* const flow : flows) {
    const std::int64_t slowdown = slowdown_of(*flow);
    if (slowdown < 0) continue;
    if (has_few) by_size[flow->bytes].push_back(slowdown);
    has_few = by_size.size() <= SizeClasses::kMostSizes;
    const std::uint64_t step = least_of_step(flow->bytes);
    by_step[step].push_back(slowdown);
    const auto [range, is_new] = ranges.try_emplace(step, flow->bytes, flow->bytes);
    if (!is_new)
      range->second = {std::min(range->second.first, flow->bytes),
                       std::max(range->second.second, flow->bytes)};
  }
  Json rows = Json::array();
  for (auto& [size, values] : has_few ? by_size : by_step) {
    std::ranges::sort(values);
    const auto [least, most] = has_few ? std::pair(size, size) : ranges[size];
    rows.push_back({{"least", least},
                    {"most", most},
                    {"count", values.size()},
                    {"s50", nearest_rank(values, 50)},
                    {"s95", nearest_rank(values, 95)},
                    {"s99", nearest_rank(values, 99)}});
  }
  return rows;
}

Json workload_json(const std::string& name, const std::vector<const Flow*>& flows) {
  Times all;
  std::size_t failed = 0, endless = 0;
  std::map<std::uint64_t, Times> classes;
  SizeClasses sizes;
  for (const Flow* const flow : flows) {
    failed += flow->is_good ? 0 : 1;
    endless += flow->bytes == 0 ? 1 : 0;
    if (flow->bytes != 0) sizes.add(flow->bytes);
  }
  for (const Flow* const flow : flows) {
    if (flow->bytes == 0) continue;
    all.add(*flow);
    classes[sizes.bound_of(flow->bytes)].add(*flow);
  }
  all.sort();
  Json json = {{"name", name}};
  all.put_percentiles(json);
  json["failed"] = failed;
  json["endless"] = endless;
  json["curve"] = curve_of(all.times);
  json["slowdown_curve"] = curve_of(all.slowdowns);
  Json rows = Json::array();
  for (auto& [bound, of] : classes) {
    of.sort();
    Json row = {{"bytes", bound}, {"is_exact", sizes.are_exact()}};
    of.put_percentiles(row);
    row["curve"] = curve_of(of.times);
    rows.push_back(std::move(row));
  }
  json["classes"] = std::move(rows);
  json["slowdown"] = slowdowns_json(flows);
  return json;
}

// The slowest flows; unfinished ones first.
Json slowest_json(const RunOverview& overview) {
  constexpr std::size_t kMostFlows = 50;
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < overview.flows.size(); ++i) {
    const Flow& flow = overview.flows[i];
    if (flow.bytes != 0 || !flow.is_good)
      order.emplace_back(flow.is_finished() ? flow.start_ps - flow.finish_ps : -INT64_MAX, i);
  }
  const std::size_t count = std::min(kMostFlows, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  order.resize(count);
  Json rows = Json::array();
  for (const auto& [took, i] : order) {
    const Flow& flow = overview.flows[i];
    rows.push_back({{"number", i},
                    {"workload", overview.workloads[flow.workload]},
                    {"from", overview.hosts[flow.from]},
                    {"to", overview.hosts[flow.to]},
                    {"bytes", flow.bytes},
                    {"start", flow.start_ps},
                    {"finish", flow.finish_ps},
                    {"acknowledged", flow.acknowledged},
                    {"ideal", flow.ideal_ps},
                    {"is_good", flow.is_good}});
    if (!overview.has_flow_facts) continue;
    Json& row = rows.back();
    row["again"] = flow.again;
    row["marked"] = flow.marked;
    row["notified"] = flow.notified;
    row["held"] = flow.held_ps;
    row["path"] = overview.paths[flow.path];
  }
  return rows;
}

Json flows_json(const RunOverview& overview) {
  if (overview.flows.empty()) return nullptr;
  std::vector<const Flow*> all;
  std::vector<std::vector<const Flow*>> by_workload(overview.workloads.size());
  for (const Flow& flow : overview.flows) {
    all.push_back(&flow);
    by_workload[flow.workload].push_back(&flow);
  }
  Json workloads = Json::array();
  for (std::size_t i = 0; i < by_workload.size(); ++i) {
    if (!by_workload[i].empty() && by_workload[i].size() < all.size())
      workloads.push_back(workload_json(overview.workloads[i], by_workload[i]));
  }
  return {{"count", overview.flows.size()},
          {"left_out", overview.flows_left_out},
          {"has_facts", overview.has_flow_facts},
          {"all", workload_json("", all)},
          {"workloads", std::move(workloads)},
          {"slowest", slowest_json(overview)}};
}

// Ports with their values over time, joined until a page can hold them.
class PortPages {
 public:
  explicit PortPages(const RunOverview& overview) : overview_(overview) {
    constexpr std::size_t kMostCells = 4'000'000;
    used_ = overview.has_fabric()
                ? static_cast<std::size_t>(std::max<std::int64_t>(0, overview.end_ps - overview.begin_ps) /
                                           overview.part_ps) +
                      1
                : 0;
    used_ = std::min(used_, overview.parts);
    while (joined_ < used_ && overview.ports.size() * ((used_ + joined_ - 1) / joined_) > kMostCells)
      joined_ *= 2;
    for (std::size_t port = 0; port < overview.ports.size(); ++port) classes_[class_of(port)].push_back(port);
  }

  std::size_t parts() const { return (used_ + joined_ - 1) / joined_; }
  std::int64_t part_ps() const { return overview_.part_ps * static_cast<std::int64_t>(joined_); }
  // End of the last part in which something was sent.
  std::int64_t last_ps() const {
    std::size_t last = 0;
    for (std::size_t port = 0; port < overview_.ports.size() && overview_.parts != 0; ++port) {
      for (std::size_t k = last; k < used_; ++k) {
        if (overview_.sent[port * overview_.parts + k] != 0) last = k + 1;
      }
    }
    return std::min(overview_.begin_ps + overview_.part_ps * static_cast<std::int64_t>(last),
                    std::max(overview_.end_ps, overview_.begin_ps));
  }

  Json classes() const {
    Json rows = Json::array();
    for (const auto& [tiers, ports] : classes_)
      rows.push_back({{"tier", tiers.first}, {"far_tier", tiers.second}, {"ports", ports.size()}});
    return rows;
  }

  std::string blocks() const {
    PageBlock ports(3), loads(1), depths(2);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> numbers;
    for (const auto& [tiers, of] : classes_) numbers.emplace(tiers, numbers.size());
    for (std::size_t port = 0; port < overview_.ports.size(); ++port) {
      ports.put(0, numbers.at(class_of(port)));
      ports.put(1, overview_.ports[port].group);
      ports.put(2, overview_.ports[port].bits_per_second / 1'000'000);
      if (used_ != 0) put_loads(loads, port);
    }
    for (const auto& [tiers, of] : classes_) put_depths(depths, of);
    return block_element("ports", 0, ports) + block_element("loads", 0, loads) +
           block_element("depths", 0, depths);
  }

 private:
  std::pair<std::uint32_t, std::uint32_t> class_of(std::size_t port) const {
    return {overview_.ports[port].tier, overview_.ports[port].far_tier};
  }
  // A packet counts in the part in which it begins; bytes beyond a part's capacity count in the next.
  void put_loads(PageBlock& block, std::size_t port) const {
    constexpr unsigned __int128 kPicoseconds = 1'000'000'000'000;
    const unsigned __int128 room = static_cast<unsigned __int128>(overview_.ports[port].bits_per_second) *
                                   static_cast<std::uint64_t>(part_ps());
    unsigned __int128 left = 0;
    for (std::size_t from = 0; from < used_; from += joined_) {
      for (std::size_t k = from; k < std::min(from + joined_, used_); ++k)
        left += static_cast<unsigned __int128>(overview_.sent[port * overview_.parts + k]) * 8 * kPicoseconds;
      const unsigned __int128 here = std::min(left, room);
      left -= here;
      block.put(0, here == 0 ? 0 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(here * 100 / room)));
    }
  }
  void put_depths(PageBlock& block, const std::vector<std::size_t>& ports) const {
    std::vector<std::uint32_t> depths(ports.size());
    for (std::size_t from = 0; from < used_; from += joined_) {
      for (std::size_t i = 0; i < ports.size(); ++i) {
        depths[i] = 0;
        for (std::size_t k = from; k < std::min(from + joined_, used_); ++k)
          depths[i] = std::max(depths[i], overview_.deepest[ports[i] * overview_.parts + k]);
      }
      const auto middle = depths.begin() + static_cast<std::ptrdiff_t>((depths.size() - 1) / 2);
      block.put(0, *std::ranges::max_element(depths));
      std::ranges::nth_element(depths, middle);
      block.put(1, *middle);
    }
  }

  const RunOverview& overview_;
  std::size_t used_ = 0, joined_ = 1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> classes_;
};

// The collectives of run.json, with a limited number of repetitions.
Json collectives_json(const nlohmann::json& report) {
  constexpr std::size_t kMostRuns = 200;
  Json rows = Json::array();
  if (!report.is_object() || !report.contains("collectives") || !report["collectives"].is_array())
    return rows;
  for (const auto& one : report["collectives"]) {
    if (!one.is_object()) continue;
    Json row = Json::object();
    for (const char* const key : {"name", "pattern", "algorithm", "hosts", "bytes", "operations", "ended",
                                  "messages", "start_ps", "finish_ps", "failure"}) {
      if (one.contains(key)) row[key] = one[key];
    }
    row["runs"] = Json::array();
    if (const auto runs = one.find("runs"); runs != one.end() && runs->is_array()) {
      for (const auto& run : *runs) {
        if (run.is_object() && row["runs"].size() < kMostRuns) row["runs"].push_back(Json(run));
      }
      row["run_count"] = runs->size();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

PageBlocks overview_blocks(const RunOverview& overview, const nlohmann::json& report) {
  const PortPages ports(overview);
  PageBlocks lanes = lanes_blocks(overview);
  return {{{"begin", overview.begin_ps},
           {"part", ports.part_ps()},
           {"parts", ports.parts()},
           {"end", overview.end_ps},
           {"last", ports.last_ps()},
           {"detail_until", overview.detail_until_ps},
           {"is_part", !overview.has_all_detail},
           {"hosts", overview.hosts},
           {"host_groups", overview.host_groups},
           {"tiers", overview.tiers},
           {"groups", overview.groups},
           {"flows", flows_json(overview)},
           {"classes", ports.classes()},
           {"collectives", collectives_json(report)},
           {"timeline", std::move(lanes.index)}},
          ports.blocks() + lanes.elements};
}

}  // namespace verbatim::cli
