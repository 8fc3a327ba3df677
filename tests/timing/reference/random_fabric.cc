#include <algorithm>

#include "sim/core/rng.h"
#include "tests/timing/reference/fabric_case.h"

namespace verbatim::timing {
namespace {

constexpr std::uint32_t kLargest = 4122;  // of a packet, as sent here

class Generator {
 public:
  Generator(std::uint64_t seed, Buffers buffers) : buffers_(buffers), rng_(seed, "timing/reference") {}

  FabricCase generate() {
    const auto switches = static_cast<std::uint32_t>(rng_.below(4));
    const auto adapters = static_cast<std::uint32_t>(switches == 0 ? 2 : 2 + rng_.below(4));
    large_ = rng_.chance(1, 10) || buffers_ == Buffers::kLeast;
    // On one grid of times everything meets everything in the same instant.
    if (rng_.chance(1, 5)) grid_ = 250;
    for (std::uint32_t i = 0; i < switches + adapters; ++i) device(i < switches);
    if (switches == 0) link(0, 1);
    for (std::uint32_t i = 1; i < switches; ++i) link(static_cast<std::uint32_t>(rng_.below(i)), i);
    for (std::uint32_t i = 0; switches > 0 && i < adapters; ++i) {
      link(static_cast<std::uint32_t>(rng_.below(switches)), switches + i);
    }
    for (std::uint32_t i = 0; i < switches; ++i) {
      fabric_.devices[i].ports = used_[i];
      for (std::uint32_t to = 0; to < fabric_.devices.size(); ++to) {
        fabric_.devices[i].output.push_back(to == i ? 0 : port_towards(i, to));
      }
    }
    traffic(switches, adapters);
    return fabric_;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(rng_.below(bound)); }

  std::int64_t on_grid(std::int64_t ps) const { return ps / grid_ * grid_; }

  void device(bool is_switch) {
    DeviceCase device;
    device.is_switch = is_switch;
    device.lanes = rng_.chance(1, 3) ? 1 : 1 + below(5);
    device.buffer_bytes = rng_.chance(1, 8) ? 131'072 : 66 * 64 + below(rng_.chance(1, 2) ? 640 : 16'384);
    if (buffers_ == Buffers::kLeast) device.buffer_bytes = 66 * 64;
    device.vl15_buffer_bytes = rng_.chance(1, 4) ? 0 : 128 + below(rng_.chance(1, 2) ? 500 : 5'000);
    static constexpr std::uint64_t kClocks[] = {400'000'000, 300'000'000, 250'000'000, 700'000'000};
    device.clock_hz = grid_ > 1 ? kClocks[0] : kClocks[below(4)];
    device.cut_through_cycles = rng_.chance(1, 8) ? 0 : below(40);
    device.lookup_interval_cycles = 1 + (rng_.chance(1, 2) ? 0 : below(20));
    device.crossbar_speedup = rng_.chance(1, 2) ? 0 : 1 + below(2);
    if (rng_.chance(1, 3)) {
      device.head_lifetime_ps = 4'000 + below(rng_.chance(1, 2) ? 40'000 : 1'000'000);
      device.stall_count = below(4);
    }
    if (rng_.chance(1, 4)) device.lifetime_ps = 2'000 + below(rng_.chance(1, 2) ? 200'000 : 2'000'000);
    // Whole cycles: what ends then, ends when others become ready.
    if ((grid_ > 1 || rng_.chance(2, 3)) && device.clock_hz == 400'000'000) {
      constexpr std::int64_t kPeriod = 2'500;
      device.head_lifetime_ps = (device.head_lifetime_ps + kPeriod - 1) / kPeriod * kPeriod;
      device.lifetime_ps = (device.lifetime_ps + kPeriod - 1) / kPeriod * kPeriod;
    }
    if (rng_.chance(1, 3)) {
      for (std::uint32_t& lane : device.lane_of_level) lane = is_switch && rng_.chance(1, 20) ? 15 : below(15);
    }
    tables(&device);
    fabric_.devices.push_back(device);
    used_.push_back(0);
  }

  // Every lane has weight in one of the tables at least; some have several entries.
  void tables(DeviceCase* device) {
    static constexpr std::uint32_t kLimits[] = {0, 1, 2, 255};
    device->high_limit = kLimits[below(4)];
    const std::uint32_t entries = below(6);
    for (std::uint32_t i = 0; i < entries; ++i) {
      (rng_.chance(1, 2) ? device->high : device->low).push_back({below(device->lanes), below(12)});
    }
    for (std::uint32_t lane = 0; lane < device->lanes; ++lane) {
      (rng_.chance(1, 2) ? device->high : device->low).push_back({lane, 1 + below(rng_.chance(1, 4) ? 255 : 8)});
    }
  }

  void link(std::uint32_t a, std::uint32_t b) {
    static constexpr Rate kRates[] = {{80, 1},  {440, 3}, {440, 9}, {40, 3},   {250, 1},
                                      {1760, 3}, {40, 1},  {10, 1},  {1000, 3}, {80, 3}};
    LinkCase link;
    link.device[0] = a;
    link.device[1] = b;
    link.port[0] = ++used_[a];
    link.port[1] = ++used_[b];
    link.rate = grid_ > 1 ? Rate{250, 1} : kRates[below(10)];
    link.propagation_ps = rng_.chance(1, 8) ? 0 : on_grid(below(60'000));
    link.bytes_before = rng_.chance(1, 2) ? 0 : below(9);
    link.bytes_after = rng_.chance(1, 2) ? 0 : below(13);
    link.credit_bytes = rng_.chance(1, 2) ? 8 : 1 + below(rng_.chance(1, 3) ? 64 : 16);
    static constexpr std::int64_t kIntervals[] = {0, 0, 0, 50'000, 256'000, 1'000'000};
    link.credit_interval_ps = kIntervals[below(6)];
    // Often enough that refreshes compete with data packets, but not shorter than the time of a packet in
    // between.
    const auto round = static_cast<std::int64_t>(link.rate.ps * 17 * link.credit_bytes / link.rate.per_bytes);
    if (rng_.chance(2, 3)) link.refresh_interval_ps = on_grid(4 * round + below(rng_.chance(1, 2) ? 600'000 : 20'000));
    fabric_.links.push_back(link);
  }

  // Depth first; the links are a tree.
  std::uint32_t port_towards(std::uint32_t from, std::uint32_t to, std::uint32_t before = ~0u) const {
    for (const LinkCase& link : fabric_.links) {
      for (int side = 0; side < 2; ++side) {
        if (link.device[side] != from || link.device[1 - side] == before) continue;
        const std::uint32_t next = link.device[1 - side];
        if (next == to || port_towards(next, to, from) != 0) return link.port[side];
      }
    }
    return 0;
  }

  void traffic(std::uint32_t first, std::uint32_t adapters) {
    const std::uint32_t count = large_ ? 4 + below(16) : 4 + below(70);
    // One destination for many makes packets meet; short times between them make queues.
    const std::uint32_t favourite = first + below(adapters);
    // Long ones let lines fall idle for many refreshes.
    const std::uint32_t pace = rng_.chance(1, 2) ? 2'000 : rng_.chance(3, 4) ? 60'000 : 2'000'000;
    const std::uint32_t in_bursts = 1 + below(3);
    std::vector<std::int64_t> time(first + adapters, 0);
    const bool slow_receivers = rng_.chance(1, 2);
    const bool managed = rng_.chance(1, 3);
    for (std::uint32_t i = 0; i < count; ++i) {
      PacketCase packet;
      packet.from = first + below(adapters);
      packet.to = rng_.chance(1, 2) ? favourite : first + below(adapters);
      if (packet.to == packet.from) packet.to = first + (packet.from - first + 1 + below(adapters - 1)) % adapters;
      const std::uint32_t payload = large_ && rng_.chance(2, 3) ? 4096 : 4 * below(rng_.chance(1, 3) ? 200 : 20);
      packet.wire_bytes = 26 + payload;
      packet.level = below(16);
      packet.management = managed && rng_.chance(1, 3);
      if (!rng_.chance(in_bursts, 4)) time[packet.from] += on_grid(below(pace));
      packet.send_ps = time[packet.from];
      if (slow_receivers && rng_.chance(1, 3)) {
        packet.keep_ps = on_grid(below(rng_.chance(1, 2) ? 2'000'000 : 200'000));
      }
      fabric_.packets.push_back(packet);
    }
    static_assert(26 + 4096 == kLargest);
  }

  const Buffers buffers_;
  Rng rng_;
  FabricCase fabric_;
  std::vector<std::uint32_t> used_;  // ports, by device
  bool large_ = false;
  std::int64_t grid_ = 1;  // ps
};

}  // namespace

FabricCase random_fabric(std::uint64_t seed, Buffers buffers) {
  FabricCase fabric = Generator(seed, buffers).generate();
  if (buffers == Buffers::kWithoutCredits) add_congestion(fabric, seed);
  return fabric;
}

std::string describe(const FabricCase& fabric) {
  std::string text;
  const auto say = [&](std::string_view name, auto value) {
    text += " " + std::string(name) + "=" + std::to_string(value);
  };
  const auto say_memory = [&](const MemoryCase& m) {
    say("memory", m.bytes);
    say("cell", m.cell_bytes);
    say("reserved", m.reserved_bytes);
    say("resume_offset", m.resume_offset_bytes);
    say("lossless_alpha", m.lossless_alpha);
    say("lossy_alpha", m.lossy_alpha);
    say("output_alpha", m.output_alpha);
  };
  for (std::size_t i = 0; i < fabric.devices.size(); ++i) {
    const DeviceCase& d = fabric.devices[i];
    text += (d.is_switch ? "switch " : "adapter ") + std::to_string(i);
    say("first_port", fabric.first_port(static_cast<std::uint32_t>(i)));
    say("ports", d.ports);
    say("lanes", d.lanes);
    say("buffer", d.buffer_bytes);
    say("vl15_buffer", d.vl15_buffer_bytes);
    say("limit", d.high_limit);
    for (const auto& [name, table] : {std::pair("high", &d.high), std::pair("low", &d.low)}) {
      text += std::string(" ") + name;
      for (const Weight& w : *table) text += " " + std::to_string(w.lane) + ":" + std::to_string(w.weight);
    }
    text += " lanes_of_levels";
    for (const std::uint32_t lane : d.lane_of_level) text += " " + std::to_string(lane);
    if (d.is_switch) {
      say("hz", d.clock_hz);
      say("cycles", d.cut_through_cycles);
      say("lookup", d.lookup_interval_cycles);
      say("speedup", d.crossbar_speedup);
      say("lifetime", d.head_lifetime_ps);
      say("stall", d.stall_count);
      say("switch_lifetime", d.lifetime_ps);
      if (d.memory.bytes > 0) say_memory(d.memory);
      for (const MarkCase& m : d.marks) {
        text += d.marks_at_enqueue ? " mark_in" : " mark_out";
        text += " " + std::to_string(m.least) + ":" + std::to_string(m.most) + ":" + std::to_string(m.ppm);
      }
      if (!d.marks.empty()) say("mark_seed", d.mark_seed);
    }
    text += "\n";
  }
  for (const LinkCase& l : fabric.links) {
    text += "link";
    for (int side = 0; side < 2; ++side) text += " " + std::to_string(l.device[side]) + ":" + std::to_string(l.port[side]);
    text += " rate=" + std::to_string(l.rate.ps) + "/" + std::to_string(l.rate.per_bytes);
    say("propagation", l.propagation_ps);
    say("before", l.bytes_before);
    say("after", l.bytes_after);
    say("credit_bytes", l.credit_bytes);
    say("interval", l.credit_interval_ps);
    say("refresh", l.refresh_interval_ps);
    say("header", l.header_bytes);
    if (l.control == Control::kNone) text += " without flow control";
    if (l.control == Control::kPauses) {
      text += " pauses";
      say("lossless", l.lossless_lanes);
      say("quanta", l.quanta);
      say("response", l.response_ps);
      say("headroom", l.headroom_bytes);
    }
    text += "\n";
  }
  for (std::size_t i = 0; i < fabric.packets.size(); ++i) {
    const PacketCase& p = fabric.packets[i];
    text += "packet " + std::to_string(i);
    say("from", p.from);
    say("to", p.to);
    say("bytes", p.wire_bytes);
    say("level", p.level);
    if (p.management) text += " management";
    if (p.is_roce) text += p.takes_marks ? " RoCE, ECT" : " RoCE";
    say("send", p.send_ps);
    say("keep", p.keep_ps);
    text += "\n";
  }
  return text;
}

}  // namespace verbatim::timing
