// Experiments of DCQCN (Zhu et al., SIGCOMM 2015) on its testbed: ToRs T1 to T4, leaves L1 to L4, spines S1
// and S2, 40 Gb/s. Throughput includes headers, preambles and gaps.
#include <algorithm>
#include <deque>
#include <numeric>

#include "tests/reproduce/profiles.h"
#include "tests/reproduce/target.h"

namespace verbatim::reproduce {
namespace {

constexpr const char* kTestbedRate = "40 Gbps";
constexpr std::int64_t kEndless = 1ll << 40;  // bytes

config::FlowSpec flow(const std::string& from, const std::string& to) {
  config::FlowSpec spec;
  spec.from = from;
  spec.to = to;
  spec.bytes = kEndless;
  spec.traffic_class = kPriority3;
  return spec;
}

Shape empty_shape(const std::string& controller) {
  Shape shape("roce");
  shape.profile("adapter", paper_adapter(controller));
  shape.profile("switch", paper_switch());
  return shape;
}

// The testbed with these hosts, each at a ToR.
Shape testbed(const std::string& controller, const std::vector<std::pair<std::string, std::string>>& hosts) {
  Shape shape = empty_shape(controller);
  for (const char* tier : {"t", "l"})
    for (int i = 1; i <= 4; ++i) shape.fabric_switch(tier + std::to_string(i), "switch");
  shape.fabric_switch("s1", "switch");
  shape.fabric_switch("s2", "switch");
  const auto join = [&](const std::string& a, const std::string& b) { shape.cable(a, b, kTestbedRate, lossless_3()); };
  for (int i = 1; i <= 4; ++i) {
    const int pod = i <= 2 ? 0 : 2;
    for (int leaf = 1; leaf <= 2; ++leaf) join("t" + std::to_string(i), "l" + std::to_string(pod + leaf));
    for (const char* spine : {"s1", "s2"}) join("l" + std::to_string(i), spine);
  }
  for (const auto& [host, tor] : hosts) {
    shape.host(host, "adapter");
    join(host, tor);
  }
  return shape;
}

// The interval in which throughput is measured; DCQCN needs time until flows share a link.
struct Window {
  Duration from, length;
};
Window window_of(const std::string& controller) {
  if (controller == "none") return {10 * kMillisecond, 20 * kMillisecond};
  return {100 * kMillisecond, 100 * kMillisecond};
}

// Throughput in Gb/s at the ports of these hosts, which send one flow each.
std::vector<double> throughput(Fabric& fabric, const std::vector<std::string>& hosts, const Window& window) {
  std::deque<Meter> meters;
  for (const std::string& host : hosts) fabric.simulation().tracer().add(meters.emplace_back(fabric.port(host + ":1")));
  fabric.run_until(Instant(window.from));
  for (Meter& meter : meters) meter.clear();
  fabric.run_until(Instant(window.from + window.length));
  std::vector<double> rates;
  for (const Meter& meter : meters) rates.push_back(gbps(meter.all_bytes(), window.length));
  return rates;
}

double jain(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

constexpr std::uint64_t kSeeds = 8;  // each seed has other ECMP hashes

}  // namespace

Simulated measure_dcqcn_incast(const Wanted& wanted) {
  Simulated simulated;
  for (const std::size_t count : {2, 4, 8, 16, 20}) {
    const std::string key = std::to_string(count);
    if (!wanted.contains("aggregate." + key)) continue;
    Shape shape = empty_shape("dcqcn-paper");
    shape.fabric_switch("s", "switch");
    shape.host("r", "adapter");
    shape.cable("r", "s", kTestbedRate, lossless_3());
    std::vector<std::string> senders;
    for (std::size_t i = 1; i <= count; ++i) {
      senders.push_back("h" + std::to_string(i));
      shape.host(senders.back(), "adapter");
      shape.cable(senders.back(), "s", kTestbedRate, lossless_3());
    }
    Fabric fabric(shape);
    Meter receiver(fabric.port(shape.end("s", "r")));
    std::vector<std::uint32_t> inputs;
    for (const std::string& sender : senders) {
      fabric.add(flow(sender, "r"));
      inputs.push_back(fabric.port(shape.end("s", sender)));
    }
    receiver.watch_queue(inputs);
    fabric.simulation().tracer().add(receiver);
    const Window window = window_of("dcqcn-paper");
    fabric.run_until(Instant(window.from));
    receiver.clear();
    // The interval starts at the current time.
    const std::vector<double> rates = throughput(fabric, senders, window);
    simulated["aggregate." + key] = gbps(receiver.all_bytes(), window.length);
    simulated["queue_p90." + key] = receiver.queue_p90() / 1000;
    simulated["jain." + key] = jain(rates);
  }
  return simulated;
}

Simulated measure_pfc_unfairness(const Wanted&) {
  Simulated simulated;
  const std::vector<std::string> senders = {"h1", "h2", "h3", "h4"};
  for (const std::string controller : {"none", "dcqcn-paper"}) {
    const Shape shape = testbed(controller, {{"h1", "t1"}, {"h2", "t1"}, {"h3", "t1"}, {"h4", "t4"}, {"r", "t4"}});
    std::vector<double> h4, others;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Fabric fabric(shape, seed);
      for (const std::string& sender : senders) fabric.add(flow(sender, "r"));
      const std::vector<double> rates = throughput(fabric, senders, window_of(controller));
      others.insert(others.end(), rates.begin(), rates.end() - 1);
      h4.push_back(rates.back());
    }
    if (controller == "none") {
      simulated["pfc.h4_least_to_others_most"] = std::ranges::min(h4) / std::ranges::max(others);
      simulated["pfc.h4_most"] = std::ranges::max(h4);
    } else {
      simulated["dcqcn.least"] = std::min(std::ranges::min(h4), std::ranges::min(others));
      simulated["dcqcn.most"] = std::max(std::ranges::max(h4), std::ranges::max(others));
    }
  }
  return simulated;
}

Simulated measure_victim_flow(const Wanted&) {
  Simulated simulated;
  for (const std::string controller : {"none", "dcqcn-paper"}) {
    const Shape shape = testbed(
        controller, {{"h11", "t1"}, {"h12", "t1"}, {"h13", "t1"}, {"h14", "t1"}, {"vs", "t1"}, {"vr", "t2"}, {"h31", "t3"},
                     {"h32", "t3"}, {"r", "t4"}});
    for (const bool with_t3 : {false, true}) {
      std::vector<double> victim;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Fabric fabric(shape, seed);
        for (const char* sender : {"h11", "h12", "h13", "h14"}) fabric.add(flow(sender, "r"));
        if (with_t3) {
          for (const char* sender : {"h31", "h32"}) fabric.add(flow(sender, "r"));
        }
        fabric.add(flow("vs", "vr"));
        victim.push_back(throughput(fabric, {"vs"}, window_of(controller)).at(0));
      }
      simulated[(controller == "none" ? "pfc" : "dcqcn") + std::string(with_t3 ? ".with_2" : ".with_0")] = median(victim);
    }
  }
  return simulated;
}

}  // namespace verbatim::reproduce
