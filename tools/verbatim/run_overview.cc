#include "tools/verbatim/run_overview.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/core/words.h"
#include "tools/verbatim/number_columns.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMark = "verbatim-overview 1\n";

// Reads the columns of an overview; only the first error is reported.
class OverviewReader {
 public:
  OverviewReader(RunOverview& to, std::string* problem) : to_(to), problem_(problem) {}

  bool read(std::string_view content) {
    if (!content.starts_with(kMark)) return refuse("it is not one of this version of verbatim");
    content.remove_prefix(kMark.size());
    const std::size_t end = content.find('\n');
    if (end == content.npos) return refuse("it is cut off");
    const auto about = nlohmann::json::parse(content.substr(0, end), nullptr, false);
    if (!about.is_object()) return refuse("it does not begin as it should");
    if (!columns_.read(content.substr(end + 1), problem_)) return false;
    return read_texts(about) && read_flows() && read_graphs(about) && read_ports() && read_run();
  }

 private:
  using Values = std::vector<std::int64_t>;

  bool refuse(std::string why) {
    *problem_ = std::move(why);
    return false;
  }
  bool take_texts(const nlohmann::json& about, const char* key, std::vector<std::string>& into) {
    if (!about.contains(key) || !about[key].is_array())
      return refuse("it has no list of " + std::string(key));
    for (const auto& one : about[key]) {
      if (!one.is_string()) return refuse("its list of " + std::string(key) + " has what is no text");
      into.push_back(one.get<std::string>());
    }
    return true;
  }
  bool read_texts(const nlohmann::json& about) {
    return take_texts(about, "hosts", to_.hosts) && take_texts(about, "workloads", to_.workloads) &&
           take_texts(about, "tiers", to_.tiers) && take_texts(about, "groups", to_.groups);
  }
  // The column, if it has `count` values between the bounds.
  std::optional<Values> column(const std::string& name, std::uint64_t count, std::int64_t least,
                               std::int64_t most) {
    if (columns_.count(name) != count) {
      refuse("its column " + name + " has " + std::to_string(columns_.count(name)) + " values instead of " +
             std::to_string(count));
      return std::nullopt;
    }
    auto values = columns_.values(name);
    if (!values) refuse("its column " + name + " has not as many values as it says");
    if (!values) return std::nullopt;
    for (const std::int64_t value : *values) {
      if (value >= least && value <= most) continue;
      refuse("its column " + name + " has the value " + std::to_string(value));
      return std::nullopt;
    }
    return values;
  }
  static std::int64_t last_of(const std::vector<std::string>& names) {
    return static_cast<std::int64_t>(names.size()) - 1;
  }

  // Calls `put` with each row and its value of the column.
  template <class Row, class Put>
  bool take(const std::string& name, std::vector<Row>& rows, std::int64_t least, std::int64_t most, Put put) {
    const auto values = column(name, rows.size(), least, most);
    for (std::size_t i = 0; values && i < rows.size(); ++i) put(rows[i], (*values)[i]);
    return values.has_value();
  }

  bool read_flows() {
    const std::uint64_t count = columns_.count("flow.bytes");
    if (count > RunOverview::kMostFlows) return refuse("it has too many flows");
    to_.flows.resize(count);
    auto& flows = to_.flows;
    using Flow = RunOverview::Flow;
    const bool is_whole =
        take("flow.bytes", flows, 0, INT64_MAX,
             [](Flow& f, std::int64_t v) { f.bytes = static_cast<std::uint64_t>(v); }) &&
        take("flow.acknowledged", flows, 0, INT64_MAX,
             [](Flow& f, std::int64_t v) { f.acknowledged = static_cast<std::uint64_t>(v); }) &&
        take("flow.workload", flows, 0, last_of(to_.workloads),
             [](Flow& f, std::int64_t v) { f.workload = static_cast<std::uint32_t>(v); }) &&
        take("flow.from", flows, 0, last_of(to_.hosts),
             [](Flow& f, std::int64_t v) { f.from = static_cast<std::uint32_t>(v); }) &&
        take("flow.to", flows, 0, last_of(to_.hosts),
             [](Flow& f, std::int64_t v) { f.to = static_cast<std::uint32_t>(v); }) &&
        take("flow.start", flows, -1, INT64_MAX, [](Flow& f, std::int64_t v) { f.start_ps = v; }) &&
        take("flow.finish", flows, -1, INT64_MAX, [](Flow& f, std::int64_t v) { f.finish_ps = v; }) &&
        take("flow.good", flows, 0, 1, [](Flow& f, std::int64_t v) { f.is_good = v != 0; });
    if (!is_whole) return false;
    if (columns_.has("flow.ideal") &&
        !take("flow.ideal", flows, -1, INT64_MAX, [](Flow& f, std::int64_t v) { f.ideal_ps = v; }))
      return false;
    if (columns_.has("flow.again") && !take("flow.again", flows, 0, INT64_MAX, [](Flow& f, std::int64_t v) {
          f.again = static_cast<std::uint64_t>(v);
        }))
      return false;
    for (const Flow& flow : flows) {
      if (flow.finish_ps >= 0 && (flow.start_ps < 0 || flow.finish_ps < flow.start_ps))
        return refuse("a flow of it ends before it starts");
    }
    return true;
  }

  bool read_graphs(const nlohmann::json& about) {
    if (!about.contains("graphs") || !about["graphs"].is_array()) return refuse("it has no list of graphs");
    std::size_t all = 0;
    for (const auto& json : about["graphs"]) {
      if (!json.is_object() || !json.value("name", Json()).is_string() ||
          !json.value("what", Json()).is_string() || !json.value("every", Json()).is_number_unsigned())
        return refuse("a graph of it is not as it should be");
      const std::string key = "graph" + std::to_string(to_.graphs.size()) + ".";
      RunOverview::Graph& graph = to_.graphs.emplace_back();
      graph.name = json["name"].get<std::string>();
      graph.what = json["what"].get<std::string>();
      graph.every = json["every"].get<std::uint32_t>();
      const std::uint64_t ranks = columns_.count(key + "host"), count = columns_.count(key + "rank");
      if (graph.every == 0 || ranks > RunOverview::kMostOperations ||
          (all += count) > RunOverview::kMostOperations)
        return refuse("a graph of it is too large");
      graph.hosts.resize(ranks);
      graph.operations.resize(count);
      using Operation = RunOverview::Operation;
      const auto last_rank = static_cast<std::int64_t>(ranks) - 1;
      auto& operations = graph.operations;
      const bool is_whole =
          take(key + "host", graph.hosts, 0, last_of(to_.hosts),
               [](std::uint32_t& h, std::int64_t v) { h = static_cast<std::uint32_t>(v); }) &&
          take(key + "rank", operations, 0, last_rank,
               [](Operation& o, std::int64_t v) { o.rank = static_cast<std::uint32_t>(v); }) &&
          take(key + "peer", operations, 0, last_rank,
               [](Operation& o, std::int64_t v) { o.peer = static_cast<std::uint32_t>(v); }) &&
          take(key + "kind", operations, 0, 2,
               [](Operation& o, std::int64_t v) { o.kind = static_cast<Operation::Kind>(v); }) &&
          take(key + "bytes", operations, 0, INT64_MAX,
               [](Operation& o, std::int64_t v) { o.bytes = static_cast<std::uint64_t>(v); }) &&
          take(key + "from", operations, 0, INT64_MAX, [](Operation& o, std::int64_t v) { o.from_ps = v; }) &&
          take(key + "to", operations, -1, INT64_MAX, [](Operation& o, std::int64_t v) { o.to_ps = v; });
      if (!is_whole) return false;
      for (const Operation& one : operations) {
        if (one.to_ps >= 0 && one.to_ps < one.from_ps)
          return refuse("an operation of it ends before it starts");
      }
    }
    return true;
  }

  bool read_ports() {
    const std::uint64_t count = columns_.count("port.tier");
    constexpr std::uint64_t kMostPorts = 4'000'000;
    if (count > kMostPorts || count % 2 != 0) return refuse("it has not as many ports as a fabric");
    to_.ports.resize(count);
    using Port = RunOverview::Port;
    const bool is_whole = take("port.tier", to_.ports, 0, last_of(to_.tiers),
                               [](Port& p, std::int64_t v) { p.tier = static_cast<std::uint32_t>(v); }) &&
                          take("port.far_tier", to_.ports, 0, last_of(to_.tiers),
                               [](Port& p, std::int64_t v) { p.far_tier = static_cast<std::uint32_t>(v); }) &&
                          take("port.group", to_.ports, 0, last_of(to_.groups),
                               [](Port& p, std::int64_t v) { p.group = static_cast<std::uint32_t>(v); }) &&
                          take("port.rate", to_.ports, 1, INT64_MAX, [](Port& p, std::int64_t v) {
                            p.bits_per_second = static_cast<std::uint64_t>(v);
                          });
    if (!is_whole) return false;
    to_.host_groups.resize(to_.hosts.size());
    return take("host.group", to_.host_groups, 0, last_of(to_.groups),
                [](std::uint32_t& g, std::int64_t v) { g = static_cast<std::uint32_t>(v); });
  }

  bool read_run() {
    const auto run = column("run", 7, -1, INT64_MAX);
    if (!run) return false;
    to_.begin_ps = (*run)[0];
    to_.part_ps = (*run)[1];
    to_.end_ps = (*run)[2];
    to_.detail_until_ps = (*run)[3];
    to_.flows_left_out = static_cast<std::uint64_t>((*run)[4]);
    constexpr std::int64_t kMostParts = 1 << 16;
    const std::int64_t parts = (*run)[5];
    to_.has_all_detail = (*run)[6] != 0;
    if (to_.begin_ps < 0 || to_.part_ps < 1 || to_.end_ps < 0 || (*run)[4] < 0 || parts < 0 ||
        parts > kMostParts)
      return refuse("its times cannot be");
    if (parts != 0 && to_.part_ps > (INT64_MAX - to_.begin_ps) / parts) return refuse("its times cannot be");
    to_.parts = static_cast<std::size_t>(parts);
    if (to_.ports.size() * to_.parts > RunOverview::kMostCells)
      return refuse("it has too many values of ports");
    to_.sent.resize(to_.ports.size() * to_.parts);
    to_.deepest.resize(to_.sent.size());
    return take("port.sent", to_.sent, 0, INT64_MAX,
                [](std::uint64_t& s, std::int64_t v) { s = static_cast<std::uint64_t>(v); }) &&
           take("port.deepest", to_.deepest, 0, UINT32_MAX,
                [](std::uint32_t& d, std::int64_t v) { d = static_cast<std::uint32_t>(v); });
  }

  RunOverview& to_;
  std::string* problem_;
  NumberColumnsReader columns_;
};

}  // namespace

std::string RunOverview::bytes() const {
  NumberColumns columns;
  const auto same = [](auto value) { return value; };
  columns.put_all("flow.bytes", flows, [](const Flow& flow) { return flow.bytes; });
  columns.put_all("flow.acknowledged", flows, [](const Flow& flow) { return flow.acknowledged; });
  columns.put_all("flow.workload", flows, [](const Flow& flow) { return flow.workload; });
  columns.put_all("flow.from", flows, [](const Flow& flow) { return flow.from; });
  columns.put_all("flow.to", flows, [](const Flow& flow) { return flow.to; });
  columns.put_all("flow.start", flows, [](const Flow& flow) { return flow.start_ps; });
  columns.put_all("flow.finish", flows, [](const Flow& flow) { return flow.finish_ps; });
  columns.put_all("flow.good", flows, [](const Flow& flow) { return flow.is_good ? 1 : 0; });
  columns.put_all("flow.ideal", flows, [](const Flow& flow) { return flow.ideal_ps; });
  columns.put_all("flow.again", flows, [](const Flow& flow) { return flow.again; });
  Json list = Json::array();
  for (const Graph& graph : graphs) {
    const std::string key = "graph" + std::to_string(list.size()) + ".";
    list.push_back({{"name", graph.name}, {"what", graph.what}, {"every", graph.every}});
    columns.put_all(key + "host", graph.hosts, same);
    columns.put_all(key + "rank", graph.operations, [](const Operation& one) { return one.rank; });
    columns.put_all(key + "peer", graph.operations, [](const Operation& one) { return one.peer; });
    columns.put_all(key + "kind", graph.operations, [](const Operation& one) { return one.kind; });
    columns.put_all(key + "bytes", graph.operations, [](const Operation& one) { return one.bytes; });
    columns.put_all(key + "from", graph.operations, [](const Operation& one) { return one.from_ps; });
    columns.put_all(key + "to", graph.operations, [](const Operation& one) { return one.to_ps; });
  }
  columns.put_all("port.tier", ports, [](const Port& port) { return port.tier; });
  columns.put_all("port.far_tier", ports, [](const Port& port) { return port.far_tier; });
  columns.put_all("port.group", ports, [](const Port& port) { return port.group; });
  columns.put_all("port.rate", ports, [](const Port& port) { return port.bits_per_second; });
  columns.put_all("host.group", host_groups, same);
  columns.put_all("port.sent", sent, same);
  columns.put_all("port.deepest", deepest, same);
  const auto left_out = static_cast<std::int64_t>(flows_left_out),
             part_count = static_cast<std::int64_t>(parts);
  columns.put_all("run",
                  std::vector<std::int64_t>{begin_ps, part_ps, end_ps, detail_until_ps, left_out, part_count,
                                            has_all_detail ? 1 : 0},
                  same);
  const Json about = {{"hosts", hosts},
                      {"workloads", workloads},
                      {"tiers", tiers},
                      {"groups", groups},
                      {"graphs", std::move(list)}};
  return join(kMark, about.dump(-1, ' ', false, Json::error_handler_t::replace), "\n", columns.bytes());
}

bool RunOverview::read(std::string_view content, std::string* problem) {
  *this = RunOverview();
  return OverviewReader(*this, problem).read(content);
}

}  // namespace verbatim::cli
