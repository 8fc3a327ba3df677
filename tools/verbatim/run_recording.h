// `run --record FILE`: stores the trace, calls, facts, output and run.json of a run in one recording
// (sim/observe/recording.h).
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"
#include "sim/observe/recording.h"
#include "sim/observe/text_trace_sink.h"
#include "sim/observe/trace_order.h"
#include "sim/supervisor/spec/call_place.h"
#include "tools/verbatim/run_facts.h"

namespace verbatim::cli {

class RunRecording final : public TraceSink, public FactObserver, public ib::PacketObserver, public observe::TraceWords {
 public:
  // Limits of the stored records and facts; later ones are left out.
  struct Limits {
    std::uint64_t records = kAll;
    std::uint64_t states = kAll;  // of queue pairs, which are not counted as records
    static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  };
  // For a run without programs and with this number of flows: enough to show how flows start, and a page that
  // loads quickly.
  static Limits usual_limits(std::size_t flows) {
    constexpr std::size_t kManyFlows = 20'000;
    return {.records = flows > kManyFlows ? 200'000u : 1'000'000u, .states = 3 * kManyFlows};
  }
  // Both must outlive this object.
  RunRecording(std::FILE* file, const ComponentTable& components, const Limits& limits);

  void add(std::int64_t time_ps, ComponentId component, std::string text) override;
  void write_fabric(const config::TopologySpec& topology) { facts_.write_fabric(topology); }
  void on_call(const supervisor::CallPlace& call);
  void on_wait(const supervisor::ThreadWait& wait);
  // Time of the first record that was left out; -1: none.
  std::int64_t until_ps() const { return until_ps_; }
  // Ends the recording. Returns false if something could not be written. `overview` is RunOverview::bytes().
  bool finish(const std::string& run_json, const std::string& overview);

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void on_command(ComponentId adapter, std::uint32_t process, std::span<const std::byte> command, Instant now) override;
  void on_level(ComponentId adapter, Queue queue, std::uint32_t number, std::uint32_t level, Instant now) override;
  void on_credits(ComponentId port, std::uint32_t lane, std::uint32_t blocks, std::uint32_t of, Instant now) override;
  void on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) override;
  void on_placement(const TraceRecord& write, std::uint32_t qpn, bool is_response) override;
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;

 private:
  // An entry, or lines of the trace, that waits to be sorted.
  struct Item {
    std::uint32_t slot = 0;  // kLines: `bytes` are lines
    std::int64_t time_ps = 0;
    std::uint32_t count = 0;
    std::uint64_t values[observe::RecordingWriter::kMostValues] = {};
    std::string bytes;
  };
  static Item item(std::uint32_t slot, std::int64_t time_ps, std::span<const std::uint64_t> values,
                   std::span<const std::byte> bytes = {});
  void write(const Item& item);
  // Whether a record at that time is stored; each call that returns true counts towards the limit.
  bool takes(std::int64_t time_ps) {
    if (until_ps_ >= 0) return false;
    if (taken_++ < limits_.records) return true;
    until_ps_ = time_ps;
    return false;
  }
  std::uint32_t& slot_of(std::uint32_t component, std::uint32_t kind);
  // The slot for records and facts of a component and kind.
  std::uint32_t slot(std::uint32_t component, std::uint32_t kind, std::string_view name, std::uint32_t values,
                     bool has_bytes = false);

  const ComponentTable& components_;
  const Limits limits_;
  std::uint64_t taken_ = 0, states_ = 0;
  std::int64_t until_ps_ = -1;
  observe::RecordingWriter writer_;
  RunFacts facts_;
  observe::TraceOrder<Item> order_;
  QueueChanges queues_;
  std::vector<std::uint32_t> slots_;  // by component and kind; kNoSlot: not created yet
};

}  // namespace verbatim::cli
