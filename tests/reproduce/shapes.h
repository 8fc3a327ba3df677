// Shapes that several rows use. Hosts are "h0", "h1", …, in the order of their leaves; all have the profile
// "adapter".
#pragma once

#include <cstddef>
#include <string>

#include "tests/reproduce/fabric.h"
#include "tests/reproduce/profiles.h"

namespace verbatim::reproduce {

struct Devices {
  Json adapter = ns3_adapter();
  std::string switch_profile = "hpcc_switch";  // name in topologies/profiles
  Json changed_switch = nullptr;               // a whole profile instead
  std::string rate = "100 Gbps";
  Json cable = microsecond_cable();
  int interface_mtu = kJumbo;  // 9000 allows an RDMA MTU of 4096; 1500 only 1024
};

// Hosts at one switch.
Shape star(std::size_t hosts, const Devices& devices = {});
// Three tiers, k even: k pods of k / 2 leaves "leaf…" with k / 2 hosts each and k / 2 "agg…", and k^2 / 4
// "core…".
Shape fat_tree(std::size_t k, const Devices& devices = {});
// Each leaf has a cable to each spine.
Shape leaf_spine(std::size_t leaves, std::size_t hosts_per_leaf, std::size_t spines,
                 const Devices& devices = {});

// A flow with the priority of data, which sends one message at its start.
config::FlowSpec flow_between(std::size_t from, std::size_t to, std::int64_t bytes);

}  // namespace verbatim::reproduce
