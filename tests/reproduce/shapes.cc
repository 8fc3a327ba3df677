#include "tests/reproduce/shapes.h"

namespace verbatim::reproduce {
namespace {

class Builder {
 public:
  explicit Builder(const Devices& devices) : devices_(devices) {
    shape.set("interface_mtu", devices.interface_mtu);
    shape.profile("adapter", devices.adapter);
    if (!devices.changed_switch.is_null()) shape.profile("changed_switch", devices.changed_switch);
  }
  void add_switch(const std::string& name) {
    shape.fabric_switch(name, devices_.changed_switch.is_null() ? devices_.switch_profile : "changed_switch");
  }
  void add_host(std::size_t i, const std::string& leaf) {
    shape.host(numbered("h", i), "adapter");
    join(numbered("h", i), leaf);
  }
  void join(const std::string& a, const std::string& b) { shape.cable(a, b, devices_.rate, devices_.cable); }

  Shape shape{"roce"};

 private:
  const Devices& devices_;
};

}  // namespace

Shape star(std::size_t hosts, const Devices& devices) {
  Builder builder(devices);
  builder.add_switch("s");
  for (std::size_t i = 0; i < hosts; ++i) builder.add_host(i, "s");
  return builder.shape;
}

Shape fat_tree(std::size_t k, const Devices& devices) {
  Builder builder(devices);
  const std::size_t half = k / 2;
  for (std::size_t i = 0; i < k * half; ++i) {
    builder.add_switch(numbered("leaf", i));
    builder.add_switch(numbered("agg", i));
    if (i < half * half) builder.add_switch(numbered("core", i));
  }
  for (std::size_t i = 0; i < k * half * half; ++i) builder.add_host(i, numbered("leaf", i / half));
  for (std::size_t pod = 0; pod < k; ++pod) {
    for (std::size_t leaf = 0; leaf < half; ++leaf)
      for (std::size_t agg = 0; agg < half; ++agg)
        builder.join(numbered("leaf", half * pod + leaf), numbered("agg", half * pod + agg));
    for (std::size_t agg = 0; agg < half; ++agg)
      for (std::size_t core = 0; core < half; ++core)
        builder.join(numbered("agg", half * pod + agg), numbered("core", half * agg + core));
  }
  return builder.shape;
}

Shape leaf_spine(std::size_t leaves, std::size_t hosts_per_leaf, std::size_t spines, const Devices& devices) {
  Builder builder(devices);
  for (std::size_t i = 0; i < leaves; ++i) builder.add_switch(numbered("leaf", i));
  for (std::size_t i = 0; i < spines; ++i) builder.add_switch(numbered("spine", i));
  for (std::size_t i = 0; i < leaves * hosts_per_leaf; ++i)
    builder.add_host(i, numbered("leaf", i / hosts_per_leaf));
  for (std::size_t leaf = 0; leaf < leaves; ++leaf)
    for (std::size_t spine = 0; spine < spines; ++spine)
      builder.join(numbered("leaf", leaf), numbered("spine", spine));
  return builder.shape;
}

config::FlowSpec flow_between(std::size_t from, std::size_t to, std::int64_t bytes) {
  config::FlowSpec spec;
  spec.from = numbered("h", from);
  spec.to = numbered("h", to);
  spec.bytes = spec.message_size = bytes;
  spec.traffic_class = kPriority3;
  return spec;
}

}  // namespace verbatim::reproduce
