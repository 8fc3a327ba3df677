// Shapes that several rows have. Hosts are "h0", "h1", …, in the order of their leaves; the adapter's profile
// is "adapter" in all.
#pragma once

#include <cstddef>
#include <string>

#include "tests/reproduce/fabric.h"
#include "tests/reproduce/profiles.h"

namespace verbatim::reproduce {

struct Devices {
  Json adapter = ns3_adapter();
  std::string switch_profile = "hpcc_switch";  // of topologies/profiles
  Json changed_switch = nullptr;               // instead: a whole profile
  std::string rate = "100 Gbps";
  Json cable = microsecond_cable();
  int interface_mtu = kJumbo;  // RDMA's is 4096; with 1500 it is 1024
};

// Hosts around one switch.
Shape star(std::size_t hosts, const Devices& devices = {});
// Three tiers, k even: k pods of k / 2 leaves "leaf…" with k / 2 hosts each and k / 2 "agg…", and k^2 / 4
// "core…".
Shape fat_tree(std::size_t k, const Devices& devices = {});
// Each leaf has a cable to each spine.
Shape leaf_spine(std::size_t leaves, std::size_t hosts_per_leaf, std::size_t spines,
                 const Devices& devices = {});

// A flow with the data's priority, from its start on, as one message.
config::FlowSpec flow_between(std::size_t from, std::size_t to, std::int64_t bytes);

}  // namespace verbatim::reproduce
