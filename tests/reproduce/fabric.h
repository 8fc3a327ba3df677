// A fabric with flows in this process: its topology as JSON, with profiles that differ from those in
// topologies/profiles in some values.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/flows.h"
#include "sim/config/load.h"
#include "sim/config/simulation.h"

namespace verbatim::reproduce {

using Json = nlohmann::ordered_json;

// topologies/profiles/NAME.json with other values. `changes` has the structure of a profile with plain
// values, such as {"core_clock": "1 GHz"}; null removes a key.
Json changed_profile(const std::string& name, const Json& changes);

// Writes a topology node by node. Switch ports are numbered in the order of their cables.
class Shape {
 public:
  // "roce" or "infiniband".
  explicit Shape(const std::string& link_layer);

  // Profiles are names in topologies/profiles, or names given to profile().
  void host(const std::string& name, const std::string& profile);
  void fabric_switch(const std::string& name, const std::string& profile);
  // `further`: keys of the cable in addition to its ends and rate.
  void cable(const std::string& a, const std::string& b, const std::string& rate, const Json& further = Json::object());
  void profile(const std::string& name, const Json& content) { profiles_[name + ".json"] = content; }
  void set(const std::string& key, const Json& value) { topology_[key] = value; }

  Json topology() const;
  const std::map<std::string, Json>& profiles() const { return profiles_; }  // by file name
  // Such as "leaf0:3": for the cable between two nodes, its end at the first one.
  std::string end(const std::string& at, const std::string& to) const { return ends_.at({at, to}); }
  // Writes topology.json and the profiles to a folder; returns the path of topology.json.
  std::string write(const std::string& folder) const;

 private:
  std::string reference(const std::string& profile) const;

  Json topology_;
  Json hosts_ = Json::array(), switches_ = Json::array(), links_ = Json::array();
  std::map<std::string, std::uint32_t> ports_;  // used ports by switch
  std::map<std::pair<std::string, std::string>, std::string> ends_;
  std::map<std::string, Json> profiles_;
};

class Fabric {
 public:
  // If the topology has findings, prints them and exits.
  explicit Fabric(const Shape& shape, std::uint64_t seed = 1);

  // `flow.from` and `flow.to` are hosts. Only before the first event, like add_faults().
  const workload::Flow& add(config::FlowSpec flow);
  // The graph's spec must outlive the run.
  const workload::GraphRun& add(const config::DrawnGraph& graph);
  void add_faults(const std::vector<Json>& faults);
  // Runs until all flows are done, there are no more events, or `end`.
  void run(Instant end = kEndOfTime);
  // Executes events until `end`, whether flows are done or not.
  void run_until(Instant end) { simulation_->engine().run_until(end); }

  config::Simulation& simulation() { return *simulation_; }
  Engine& engine() { return simulation_->engine(); }
  const std::deque<workload::Flow>& flows() const { return workload_.flows(); }
  const config::TopologySpec& topology() const { return *topology_; }
  // Component of a port, such as "leaf0:3" or "h0:1".
  std::uint32_t port(const std::string& end) const;

 private:
  std::optional<config::TopologySpec> topology_;
  DefaultChoices choices_;
  std::optional<config::Simulation> simulation_;
  workload::Workload workload_;
};

// Duration of a finished flow, in us.
double time_us(const workload::Flow& flow);

// Bytes that a port sends, with preamble, start of frame and gap on Ethernet, by destination queue pair.
class Meter final : public TraceSink {
 public:
  static constexpr std::uint32_t kBetweenFrames = 20;

  explicit Meter(std::uint32_t port) : port_(port) {}
  // Input ports whose packets all join this port's output queue: the bytes in the queue follow from them.
  void watch_queue(std::vector<std::uint32_t> inputs) { inputs_ = std::move(inputs); }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;

  void clear();
  const std::map<std::uint64_t, std::uint64_t>& bytes() const { return bytes_; }
  std::uint64_t all_bytes() const;
  // The 90th percentile of the bytes that packets leave behind in the queue.
  double queue_p90() const;

 private:
  const std::uint32_t port_;
  std::vector<std::uint32_t> inputs_;
  std::map<std::uint64_t, std::uint64_t> bytes_;
  std::int64_t queued_ = 0;
  std::map<std::int64_t, std::uint64_t> left_behind_;  // number of packets by kB left behind
};

inline constexpr Duration kMillisecond{1'000'000'000};
inline constexpr std::uint32_t kJumbo = 9000;  // interface MTU for an RDMA MTU of 4096

// "h3".
inline std::string numbered(const char* name, std::size_t i) { return name + std::to_string(i); }

inline double gbps(std::uint64_t bytes, Duration time) {
  return static_cast<double>(bytes) * 8e3 / static_cast<double>(time.count());
}

}  // namespace verbatim::reproduce
