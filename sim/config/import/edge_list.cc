#include "sim/config/import/edge_list.h"

#include <algorithm>
#include <map>

#include "sim/config/quantity.h"

namespace verbatim::config::imports {

namespace {

constexpr std::uint64_t kMostEdgeNodes = 100'000, kMostEdges = 2'000'000;
constexpr const char* kForm = "a link is `a b rate delay loss`, such as `0 320 100Gbps 1000ns 0.000000`";

class EdgeListReader {
 public:
  EdgeListReader(std::string_view text, LineFindings& findings) : lines_(text), findings_(findings) {}

  std::optional<Fabric> read() {
    fabric_.format = "edge list of HPCC";
    fabric_.link_layer = "roce";
    fabric_.hca = "edr_roce";
    fabric_.switch_profile = "hpcc_switch";
    if (!head() || !switches()) return std::nullopt;
    for (std::uint64_t i = 0; i < links_ && !findings_.is_full(); ++i) {
      if (!next_line()) {
        findings_.add(lines_.number(),
                      "the first line announces " + std::to_string(links_) + " links, and there are " + std::to_string(i),
                      "correct the number, or add the links");
        break;
      }
      link();
    }
    if (findings_.count() > 0) return std::nullopt;
    if (lossy_ > 0) {
      fabric_.assumptions.push_back({std::to_string(lossy_) + (lossy_ == 1 ? " link loses" : " links lose") +
                                         " packets by chance in the file, and none do here",
                                     "\"faults\" of a scenario, action drop"});
    }
    number_devices();
    return std::move(fabric_);
  }

 private:
  // Moves to the next line that is not blank.
  bool next_line() {
    while (lines_.next()) {
      if (!(words_ = words_of(lines_.text())).empty()) return true;
    }
    return false;
  }

  bool head() {
    next_line();
    const auto number = [&](std::size_t at, std::uint64_t most) -> std::optional<std::uint64_t> {
      return at < words_.size() ? whole_number(words_[at], most) : std::nullopt;
    };
    const auto nodes = number(0, kMostEdgeNodes), switches = number(1, kMostEdgeNodes), links = number(2, kMostEdges);
    if (!nodes || !switches || !links || words_.size() != 3 || *switches > *nodes) {
      findings_.add(lines_.number(), "this is not the line `nodes switches links`",
                    "it has three numbers, such as `66 1 65`; at most " + std::to_string(kMostEdgeNodes) + " nodes and " +
                        std::to_string(kMostEdges) + " links");
      return false;
    }
    links_ = *links;
    switch_count_ = *switches;
    is_switch_.assign(*nodes, false);
    return true;
  }

  bool switches() {
    if (switch_count_ == 0) return true;
    if (!next_line()) {
      findings_.add(lines_.number(), "the line with the switches' numbers is missing", "it is the second line");
      return false;
    }
    for (const std::string_view word : words_) {
      const auto number = whole_number(word, is_switch_.size() - 1);
      if (!number) {
        findings_.add(lines_.number(), in_quotes(word) + " is not the number of a node",
                      "nodes are 0 to " + std::to_string(is_switch_.size() - 1));
        return false;
      }
      is_switch_[*number] = true;
    }
    const auto found = static_cast<std::uint64_t>(std::ranges::count(is_switch_, true));
    if (found == switch_count_) return true;
    findings_.add(lines_.number(),
                  "the first line announces " + std::to_string(switch_count_) + " switches, and " + std::to_string(found) +
                      " are named here",
                  "name each switch once");
    return false;
  }

  void link() {
    if (words_.size() < 4) return findings_.add(lines_.number(), "this is not a link", kForm);
    std::size_t ends[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto number = whole_number(words_[i], is_switch_.size() - 1);
      if (!number)
        return findings_.add(lines_.number(), in_quotes(words_[i]) + " is not the number of a node",
                             "nodes are 0 to " + std::to_string(is_switch_.size() - 1));
      ends[i] = *number;
    }
    if (ends[0] == ends[1])
      return findings_.add(lines_.number(), "both ends of the link are node " + std::to_string(ends[0]), kForm);
    std::string problem, hint;
    const auto rate = parse_link_rate(words_[2], &problem, &hint);
    if (!rate) return findings_.add(lines_.number(), in_quotes(words_[2]) + " " + problem, hint);
    const auto delay = parse_quantity(words_[3], Dimension::kDuration, &problem, &hint);
    if (!delay) return findings_.add(lines_.number(), in_quotes(words_[3]) + " " + problem, hint);
    if (*delay > kSecond)
      return findings_.add(lines_.number(), in_quotes(words_[3]) + " is too long", "a link takes at most one second");
    if (words_.size() > 4 && words_[4].find_first_of("123456789") != std::string_view::npos) ++lossy_;
    const End a = end(ends[0]), b = end(ends[1]);
    fabric_.cables.push_back(
        {a, b, format_quantity(bits_per_second(*rate), Dimension::kRate), Duration(*delay), std::nullopt});
  }

  // The next port of a switch, or the port of a new adapter of a host.
  End end(std::size_t node) {
    if (!is_switch_[node] || !devices_.contains(node)) {
      devices_[node] = fabric_.devices.size();
      fabric_.devices.push_back(
          {.name = (is_switch_[node] ? "sw" : "h") + std::to_string(node), .is_switch = is_switch_[node]});
      nodes_.push_back(node);
    }
    const std::size_t device = devices_[node];
    return {device, ++fabric_.devices[device].ports};
  }

  // Sorts devices by their numbers.
  void number_devices() {
    std::vector<std::size_t> order(fabric_.devices.size()), place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return nodes_[i]; });
    std::vector<Device> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(fabric_.devices[order[i]]));
    }
    fabric_.devices = std::move(sorted);
    for (Cable& cable : fabric_.cables) {
      cable.a.device = place[cable.a.device];
      cable.b.device = place[cable.b.device];
    }
  }

  static constexpr std::int64_t kSecond = 1'000'000'000'000;

  Lines lines_;
  LineFindings& findings_;
  std::vector<std::string_view> words_;
  Fabric fabric_;
  std::uint64_t links_ = 0, switch_count_ = 0, lossy_ = 0;
  std::vector<bool> is_switch_;
  std::map<std::size_t, std::size_t> devices_;  // by node: the switch, or the host's last adapter
  std::vector<std::size_t> nodes_;              // by device
};

}  // namespace

std::optional<Fabric> read_edge_list(std::string_view text, LineFindings& findings) {
  return EdgeListReader(text, findings).read();
}

}  // namespace verbatim::config::imports
