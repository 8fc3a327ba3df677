#include "sim/config/import/htsim_topology.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/config/quantity.h"

namespace verbatim::config::imports {

namespace {

constexpr std::uint64_t kMostHosts = 43'904, kMostTreePorts = 254, kMost = 1'000'000'000;

struct Tier {
  bool is_there = false;
  std::uint64_t speed = 0, down = 0, up = 0, latency = 0, switch_latency = 0, oversubscribed = 0, bundle = 0, queue_down = 0,
                queue_up = 0;  // 0: not given
};

class TreeReader {
 public:
  TreeReader(std::string_view text, LineFindings& findings) : lines_(text), findings_(findings) {}

  std::optional<Fabric> read() {
    while (lines_.next() && !findings_.is_full()) line();
    if (findings_.count() == 0) check();
    if (findings_.count() > 0) return std::nullopt;
    fabric_.format = "htsim topology";
    fabric_.link_layer = "roce";
    fabric_.hca = "edr_roce";
    fabric_.switch_profile = "hpcc_switch";
    lay();
    note();
    return std::move(fabric_);
  }

 private:
  void refuse(std::string text, std::string hint) { findings_.add(lines_.number(), std::move(text), std::move(hint)); }

  void line() {
    const auto words = words_of(lines_.text());
    if (words.empty() || words[0].starts_with('#')) return;
    std::string key(words[0]);
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto number = words.size() > 1 ? whole_number(words[1], kMost) : std::nullopt;
    if (!number)
      return refuse(in_quotes(words[0]) + " has no whole number behind it",
                    "a line is a key and a number, such as `Nodes 1024`");
    if (key == "tier") {
      if (*number > 2) return refuse("there is no tier " + std::to_string(*number), "tiers are 0, 1 and 2");
      tier_ = &tiers_[*number];
      if (tier_->is_there)
        return refuse("there is a block of tier " + std::to_string(*number) + " already", "describe each tier once");
      tier_->is_there = true;
      return;
    }
    std::uint64_t* const to = place(key);
    if (to == nullptr) {
      return refuse(
          "unknown key " + in_quotes(words[0]),
          tier_ == nullptr
              ? "in front of the first `Tier` there are Nodes, Tiers and Podsize"
              : "a tier has Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, Switch_Latency_ns, Queue_Down, Queue_Up, Oversubscribed, Bundle");
    }
    if (*to != 0 && *to != kNothing) return refuse(in_quotes(words[0]) + " is here already", "write it once");
    *to = *number == 0 ? kNothing : *number;
  }

  std::uint64_t* place(const std::string& key) {
    if (tier_ == nullptr) return key == "nodes" ? &nodes_ : key == "tiers" ? &count_ : key == "podsize" ? &pod_ : nullptr;
    if (key == "downlink_speed_gbps") return &tier_->speed;
    if (key == "radix_down") return &tier_->down;
    if (key == "radix_up") return &tier_->up;
    if (key == "downlink_latency_ns") return &tier_->latency;
    if (key == "switch_latency_ns") return &tier_->switch_latency;
    if (key == "oversubscribed") return &tier_->oversubscribed;
    if (key == "bundle") return &tier_->bundle;
    if (key == "queue_down") return &tier_->queue_down;
    return key == "queue_up" ? &tier_->queue_up : nullptr;
  }

  void check() {
    const auto refuse = [&](std::string text, std::string hint) { findings_.add(0, std::move(text), std::move(hint)); };
    if (count_ != 2 && count_ != 3) return refuse("Tiers is missing, or neither 2 nor 3", "write `Tiers 2` or `Tiers 3`");
    if (nodes_ == 0 || nodes_ > kMostHosts)
      return refuse("Nodes is missing, or not 1 to " + std::to_string(kMostHosts), "write, for example, `Nodes 128`");
    if (pod_ == 0 || nodes_ % pod_ != 0)
      return refuse("Podsize is missing, or does not divide Nodes", "hosts are in pods of one size");
    if (count_ == 2 && pod_ != nodes_) return refuse("Podsize is not Nodes", "with two tiers there is one pod");
    for (std::size_t i = 0; i < count_; ++i) {
      Tier& tier = tiers_[i];
      const std::string name = "tier " + std::to_string(i);
      if (!tier.is_there) return refuse("there is no block of " + name, "begin it with `Tier " + std::to_string(i) + "`");
      for (std::uint64_t* const value :
           {&tier.switch_latency, &tier.oversubscribed, &tier.bundle, &tier.latency, &tier.up, &tier.down, &tier.speed}) {
        if (*value == kNothing) *value = 0;
      }
      if (tier.bundle == 0) tier.bundle = 1;
      std::string problem, hint;
      const auto rate = parse_link_rate(std::to_string(tier.speed) + " Gbps", &problem, &hint);
      if (!rate)
        return refuse("Downlink_speed_Gbps of " + name + " is missing, or no rate of a link",
                      "rates are 10, 25, 40, 50, 100, 200, 400 and 800");
      tier.speed = static_cast<std::uint64_t>(bits_per_second(*rate));
      const bool is_top = i + 1 == count_;
      if (tier.down == 0 || tier.down + tier.up > kMostTreePorts || (!is_top && tier.up == 0) || (is_top && tier.up != 0))
        return refuse("Radix_Down or Radix_Up of " + name + " is missing or too large",
                      "a switch has at most 254 ports, and at the top none leads up");
    }
    if (tiers_[0].bundle != 1) return refuse("Bundle of tier 0 is not 1", "a host has one cable");
    if (pod_ % tiers_[0].down != 0)
      return refuse("Radix_Down of tier 0 does not divide Podsize", "the hosts of a pod fill its lowest switches");
    if (tiers_[0].up % tiers_[1].bundle != 0)
      return refuse("Bundle of tier 1 does not divide Radix_Up of tier 0", "each switch above has as many cables");
    tors_ = pod_ / tiers_[0].down;
    aggs_ = tiers_[0].up / tiers_[1].bundle;
    if (tors_ * tiers_[1].bundle != tiers_[1].down)
      return refuse("Radix_Down of tier 1 is " + std::to_string(tiers_[1].down) + ", and its cables are " +
                        std::to_string(tors_ * tiers_[1].bundle),
                    "a switch of tier 1 has Bundle cables to each of the " + std::to_string(tors_) + " switches below");
    if (count_ == 2) return;
    if (tiers_[1].up % tiers_[2].bundle != 0)
      return refuse("Bundle of tier 2 does not divide Radix_Up of tier 1", "each switch above has as many cables");
    const std::uint64_t pods = nodes_ / pod_;
    cores_ = aggs_ * (tiers_[1].up / tiers_[2].bundle);
    if (pods * tiers_[2].bundle != tiers_[2].down)
      return refuse("Radix_Down of tier 2 is " + std::to_string(tiers_[2].down) + ", and its cables are " +
                        std::to_string(pods * tiers_[2].bundle),
                    "a switch of tier 2 has Bundle cables to each of the " + std::to_string(pods) + " pods");
  }

  std::size_t add(const char* prefix, std::uint64_t number, bool is_switch) {
    fabric_.devices.push_back({.name = prefix + std::to_string(number), .is_switch = is_switch});
    return fabric_.devices.size() - 1;
  }

  void join(std::size_t below, std::size_t above, const Tier& tier) {
    const auto port = [&](std::size_t device) { return End{device, ++fabric_.devices[device].ports}; };
    const End low = port(below), high = port(above);
    fabric_.cables.push_back({low, high, format_quantity(static_cast<std::int64_t>(tier.speed), Dimension::kRate),
                              Duration(static_cast<std::int64_t>(tier.latency) * 1000), std::nullopt});
  }

  void lay() {
    const std::uint64_t pods = nodes_ / pod_;
    std::vector<std::size_t> tors, aggs, cores;
    for (std::uint64_t i = 0; i < nodes_; ++i) add("h", i, false);
    for (std::uint64_t i = 0; i < tors_ * pods; ++i) tors.push_back(add("tor", i, true));
    for (std::uint64_t i = 0; i < aggs_ * pods; ++i) aggs.push_back(add("agg", i, true));
    for (std::uint64_t i = 0; i < cores_; ++i) cores.push_back(add("core", i, true));
    for (std::uint64_t i = 0; i < nodes_; ++i) join(i, tors[i / tiers_[0].down], tiers_[0]);
    for (std::size_t tor = 0; tor < tors.size(); ++tor) {
      for (std::uint64_t a = 0; a < aggs_; ++a) {
        for (std::uint64_t b = 0; b < tiers_[1].bundle; ++b) join(tors[tor], aggs[tor / tors_ * aggs_ + a], tiers_[1]);
      }
    }
    if (count_ == 2) return;
    for (std::size_t agg = 0; agg < aggs.size(); ++agg) {
      for (std::uint64_t l = 0; l < tiers_[1].up / tiers_[2].bundle; ++l) {
        for (std::uint64_t b = 0; b < tiers_[2].bundle; ++b) join(aggs[agg], cores[agg % aggs_ + aggs_ * l], tiers_[2]);
      }
    }
  }

  void note() {
    fabric_.assumptions.push_back(
        {"switches have the latency of their profile, not Switch_Latency_ns", "\"profile\" of the switches"});
    const auto has_queue = [](const Tier& tier) { return tier.queue_down != 0 || tier.queue_up != 0; };
    if (std::ranges::any_of(tiers_, has_queue))
      fabric_.assumptions.push_back(
          {"buffers are those of the profile, not Queue_up and Queue_down", "\"profile\" of the switches"});
  }

  static constexpr std::uint64_t kNothing = ~0ull;  // written as 0

  Lines lines_;
  LineFindings& findings_;
  std::uint64_t nodes_ = 0, count_ = 0, pod_ = 0;
  std::uint64_t tors_ = 0, aggs_ = 0, cores_ = 0;  // per pod, per pod, in all
  std::array<Tier, 3> tiers_;
  Tier* tier_ = nullptr;
  Fabric fabric_;
};

}  // namespace

std::optional<Fabric> read_htsim_topology(std::string_view text, LineFindings& findings) {
  return TreeReader(text, findings).read();
}

}  // namespace verbatim::config::imports
