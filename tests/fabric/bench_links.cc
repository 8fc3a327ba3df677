// Packet-hops per CPU-second of links and switches alone: one saturated flow through a chain of switches. A
// packet-hop is one packet over one link. Prints the result and asserts nothing; goal: well below 150 ns per
// hop.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "sim/core/engine.h"
#include "sim/fabric/switch.h"

namespace verbatim::fabric {
namespace {

// Keeps its port busy with a fixed number of packets that the far end returns: allocation of packets is a
// cost of the adapter, not of the fabric.
class Source {
 public:
  Source(Port& port, std::vector<ib::PacketPtr>& stock) : port_(port), stock_(stock) {
    port.set_room_listener(this, [](void* self, ib::VirtualLane) { static_cast<Source*>(self)->fill(); });
  }
  void fill() {
    while (left_ > 0 && !stock_.empty() && port_.has_room(ib::VirtualLane{0})) {
      --left_;
      ib::PacketPtr packet = std::move(stock_.back());
      stock_.pop_back();
      port_.send(std::move(packet));
    }
  }
  void set_left(std::int64_t packets) { left_ = packets; }

 private:
  Port& port_;
  std::vector<ib::PacketPtr>& stock_;
  std::int64_t left_ = 0;
};

struct Host final : PacketSink {
  std::unique_ptr<Port> port;
  std::vector<ib::PacketPtr>* stock = nullptr;
  Source* source = nullptr;
  void receive(PortNumber, ib::PacketPtr packet, ArrivalTimes) override {
    port->release(*packet);
    stock->push_back(std::move(packet));
    source->fill();
  }
};

void flow_through_switches(benchmark::State& state) {
  const auto switches = static_cast<std::uint32_t>(state.range(0));
  const auto payload = static_cast<std::uint32_t>(state.range(1));
  Engine engine;
  Tracer tracer(engine);
  const LinkParams link{ByteTime{80, 1}, Duration(10'000)};
  std::vector<ib::PacketPtr> stock;
  std::uint32_t next = 0;
  const auto id = [&] { return ComponentId{next++}; };

  Host sender, receiver;
  sender.port = std::make_unique<Port>(engine, tracer, id(), PortNumber{1}, PortParams{}, sender);
  receiver.port = std::make_unique<Port>(engine, tracer, id(), PortNumber{1}, PortParams{}, receiver);
  std::vector<std::unique_ptr<Switch>> chain;
  Port* last = sender.port.get();
  for (std::uint32_t i = 0; i < switches; ++i) {
    chain.push_back(std::make_unique<Switch>(engine, tracer, id(), SwitchProfile{},
                                             std::vector<ComponentId>{id(), id()}));
    chain.back()->set_forwarding_table({PortNumber{0}, PortNumber{1}, PortNumber{2}});
    connect(*last, chain.back()->port(PortNumber{1}), link);
    last = &chain.back()->port(PortNumber{2});
  }
  connect(*last, *receiver.port, link);

  for (int i = 0; i < 256; ++i) {
    auto packet = std::make_unique<ib::Packet>();
    packet->lrh.destination = ib::Lid{2};
    packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kSendMiddle);
    packet->payload.length = payload;  // the fabric does not read payload
    stock.push_back(std::move(packet));
  }
  Source source(*sender.port, stock);
  receiver.stock = sender.stock = &stock;
  receiver.source = sender.source = &source;

  constexpr std::int64_t kPackets = 10'000;
  const std::uint64_t events_before = engine.events_executed();
  for (auto _ : state) {
    source.set_left(kPackets);
    source.fill();
    engine.run();
  }
  const double hops = static_cast<double>(state.iterations()) * kPackets * (switches + 1);
  state.counters["hops_per_second"] = benchmark::Counter(hops, benchmark::Counter::kIsRate);
  state.counters["events_per_hop"] = static_cast<double>(engine.events_executed() - events_before) / hops;
}
BENCHMARK(flow_through_switches)
    ->ArgNames({"switches", "payload"})
    ->Args({0, 4096})
    ->Args({1, 4096})
    ->Args({1, 64})
    ->Args({5, 4096});

}  // namespace
}  // namespace verbatim::fabric

BENCHMARK_MAIN();
