// Light endpoints at one switch, on Ethernet: nothing but packets takes a cable's time, and every message
// between idle hosts takes equally long.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/config/load.h"
#include "sim/config/simulation.h"
#include "sim/observe/digest_sink.h"
#include "sim/workload/graph_run.h"
#include "sim/workload/workload.h"

namespace verbatim::test {

class StarFabric {
 public:
  explicit StarFabric(std::uint32_t hosts, const std::string& hca = "edr_light") {
    const std::string path = "topology.json";
    config::FileTexts files;
    files.texts[path] =
        R"({"name": "t", "link_layer": "roce", "interface_mtu": 9000, "generate": {"shape": "star", "rate": "100 Gbps",
                           "hca": ")" +
        hca + R"(", "hosts": )" + std::to_string(hosts) + "}}";
    config::LoadOptions options{{VERBATIM_SOURCE_DIR "/topologies/profiles"}};
    options.files = &files;
    config::Diagnostics diagnostics;
    topology_ = config::load_topology(path, options, diagnostics);
    for (const auto& finding : diagnostics.findings()) throw std::runtime_error(config::to_string(finding));
    simulation_ = std::make_unique<config::Simulation>(*topology_, 1, choices_);
    simulation_->tracer().add(digest_);
    for (std::uint32_t i = 0; i < hosts; ++i) places.push_back(&simulation_->endpoint(i));
  }

  Engine& engine() { return simulation_->engine(); }
  std::string digest() const { return digest_.hex(); }
  void run() { engine().run(); }

  workload::FlowPaths paths(const hca::Endpoint& from, const hca::Endpoint& to) const {
    return {path(from, to), path(to, from)};
  }
  workload::GraphRun::Paths paths_of_ranks() {
    return [this](std::uint32_t from, std::uint32_t to) { return paths(*places[from], *places[to]); };
  }

  std::vector<hca::Endpoint*> places;  // by rank; initially the hosts in order
  std::size_t unfinished = 0;

 private:
  static hca::SourcePath path(const hca::Endpoint& from, const hca::Endpoint& to) {
    constexpr std::uint8_t kIpv4Entry = 1, kHopLimit = 64;
    hca::SourcePath path;
    path.mtu = from.address().active_mtu(from.profile().max_mtu);
    path.address.port = 1;
    path.address.is_global = 1;
    path.address.sgid_index = kIpv4Entry;
    path.address.hop_limit = kHopLimit;
    std::memcpy(path.address.dgid, to.address().gids.at(kIpv4Entry).raw, sizeof path.address.dgid);
    return path;
  }

  std::optional<config::TopologySpec> topology_;  // the simulation's
  DefaultChoices choices_;
  std::unique_ptr<config::Simulation> simulation_;
  observe::DigestSink digest_;
};

// A graph on the first hosts of a star.
struct StarRun {
  explicit StarRun(workload::MessageGraph given, const workload::GraphRunParams& params = {},
                   const std::string& hca = "edr_light")
      : graph(std::move(given)), fabric(graph.ranks(), hca) {
    if (!graph.is_sealed()) graph.seal();
    run = std::make_unique<workload::GraphRun>(fabric.engine(), graph, fabric.places, fabric.paths_of_ranks(), params,
                                               fabric.unfinished);
  }
  StarRun& go() {
    fabric.run();
    return *this;
  }
  std::int64_t ended(workload::OperationId id) const { return to_ps(run->ended(id)); }

  workload::MessageGraph graph;
  StarFabric fabric;
  std::unique_ptr<workload::GraphRun> run;
};

// When a message that starts at `start` has arrived, between idle hosts. The start counts: packets wait for
// edges of the switch's clock.
inline std::int64_t arrival_of(std::uint64_t bytes, std::int64_t start) {
  workload::MessageGraph graph(2);
  graph.send(0, 1, bytes);
  const workload::OperationId receive = graph.receive(1, 0, bytes);
  return StarRun(std::move(graph), {.start = instant_from_ps(start)}).go().ended(receive);
}

}  // namespace verbatim::test
