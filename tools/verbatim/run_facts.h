// Facts for `verbatim report` that are not in the trace: creation of regions and queues, queue levels,
// credits and output queues of ports, the queue of each completion, the packet of each write to memory, cables,
// and waits of threads. They are lines in the form of the trace, in a separate file.
#pragma once

#include <functional>
#include <string>

#include "sim/config/simulation.h"
#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"
#include "sim/supervisor/spec/thread_wait.h"
#include "tools/verbatim/queue_changes.h"

namespace verbatim::cli {

class RunFacts final : public FactObserver, public ib::PacketObserver {
 public:
  using Write = std::function<void(const std::string& line)>;
  // `components` must outlive this object.
  RunFacts(const ComponentTable& components, Write write);

  // Ends the run.
  void finish() { queues_.finish(); }

  // Writes nodes and cables.
  void write_fabric(const config::TopologySpec& topology);
  void on_wait(const supervisor::ThreadWait& wait);

  void on_command(ComponentId adapter, std::uint32_t process, std::span<const std::byte> command, Instant now) override;
  void on_level(ComponentId adapter, Queue queue, std::uint32_t number, std::uint32_t level, Instant now) override;
  void on_credits(ComponentId port, std::uint32_t lane, std::uint32_t blocks, std::uint32_t of, Instant now) override;
  void on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) override;
  void on_completion(ComponentId adapter, std::uint32_t cqn, std::uint32_t qpn, bool is_receive, Instant now) override;
  void on_placement(const TraceRecord& write, std::uint32_t qpn, bool is_response) override;
  // Marks and drops, whose trace records have no lane.
  TraceEvents packet_events() const override { return bits_of(TraceEvent::kPacketMarked, TraceEvent::kPacketDropped); }
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;

 private:
  const ComponentTable& components_;
  Write write_;
  QueueChanges queues_;
};

}  // namespace verbatim::cli
