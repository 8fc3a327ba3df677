#include "tools/verbatim/run_recording.h"

#include <algorithm>
#include <array>

#include "sim/ib/packet.h"
#include "tools/verbatim/call_line.h"
#include "tools/verbatim/recording_kinds.h"
#include "tools/verbatim/run_overview.h"

namespace verbatim::cli {

namespace {

using observe::RecordedLine;

constexpr std::uint32_t kNoSlot = ~0u, kLines = kNoSlot - 1;
// Kinds after those of the trace's events.
constexpr std::uint32_t kLevels = kTraceEventCount, kPlacements = kLevels + 3, kCalls = kPlacements + 1, kWaits = kCalls + 4;
constexpr std::uint32_t kCredits = kWaits + 1, kOutputQueues = kCredits + 1, kMarks = kOutputQueues + 1, kDrops = kMarks + 1;
constexpr std::uint32_t kKinds = kDrops + 1;

std::uint32_t values_of(TraceEvent event) {
  const TraceEventNames& names = names_of(event);
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < 4; ++i) count = names.values[i] == "-" ? count : i + 1;
  return count;
}

}  // namespace

RunRecording::RunRecording(std::FILE* file, const ComponentTable& components, const Limits& limits)
    : components_(components),
      limits_(limits),
      writer_(file),
      facts_(components, [this](const std::string& line) { writer_.line(RecordedLine::kFacts, line); }),
      order_([this](const Item& item) { write(item); }),
      queues_([this](const QueueChanges::Change& change) {
        const std::array<std::uint64_t, 2> values{change.lane, change.bytes};
        const std::uint32_t own = slot(change.port.value, kOutputQueues, kOutputQueueName, 2);
        order_.add_behind(change.time_ps, change.port.value, item(own, change.time_ps, values));
      }) {}

RunRecording::Item RunRecording::item(std::uint32_t slot, std::int64_t time_ps, std::span<const std::uint64_t> values,
                                      std::span<const std::byte> bytes) {
  Item made{slot, time_ps, static_cast<std::uint32_t>(values.size()), {}, {}};
  made.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::ranges::copy(values, made.values);
  return made;
}

void RunRecording::write(const Item& item) {
  if (item.slot == kLines) return writer_.line(RecordedLine::kTrace, item.bytes);
  writer_.entry(item.slot, item.time_ps, {item.values, item.count}, std::as_bytes(std::span(item.bytes)));
}

void RunRecording::add(std::int64_t time_ps, ComponentId component, std::string text) {
  order_.add_behind(time_ps, component.value, {.slot = kLines, .time_ps = time_ps, .bytes = std::move(text)});
}

std::uint32_t& RunRecording::slot_of(std::uint32_t component, std::uint32_t kind) {
  const std::size_t place = std::size_t{component} * kKinds + kind;
  if (slots_.size() <= place) slots_.resize((std::size_t{component} + 1) * kKinds, kNoSlot);
  return slots_[place];
}

std::uint32_t RunRecording::slot(std::uint32_t component, std::uint32_t kind, std::string_view name, std::uint32_t values,
                                 bool has_bytes) {
  std::uint32_t& own = slot_of(component, kind);
  if (own == kNoSlot) own = writer_.slot(components_.name(ComponentId{component}), name, values, has_bytes);
  return own;
}

void RunRecording::on_record(const TraceRecord& record, std::span<const std::byte> bytes) {
  const bool is_state = record.event == TraceEvent::kQpState;
  if (is_state ? until_ps_ >= 0 || states_++ >= limits_.states : !takes(record.time_ps)) return;
  // For other records only hashes of bytes are ever shown.
  const bool has_bytes = record.event == TraceEvent::kProgramOutput;
  const auto kind = static_cast<std::uint32_t>(record.event);
  std::uint32_t own = slot_of(record.component, kind);
  if (own == kNoSlot) own = slot(record.component, kind, names_of(record.event).name, values_of(record.event), has_bytes);
  order_.add(record, item(own, record.time_ps, record.values, bytes));
}

void RunRecording::on_command(ComponentId adapter, std::uint32_t process, std::span<const std::byte> command, Instant now) {
  if (takes(verbatim::to_ps(now))) facts_.on_command(adapter, process, command, now);
}

void RunRecording::on_level(ComponentId adapter, Queue queue, std::uint32_t number, std::uint32_t level, Instant now) {
  const auto of = static_cast<std::uint32_t>(queue);
  const std::array<std::uint64_t, 2> values{number, level};
  const std::int64_t time_ps = verbatim::to_ps(now);
  if (!takes(time_ps)) return;
  order_.add_behind(time_ps, adapter.value, item(slot(adapter.value, kLevels + of, kLevelNames[of], 2), time_ps, values));
}

void RunRecording::on_credits(ComponentId port, std::uint32_t lane, std::uint32_t blocks, std::uint32_t of, Instant now) {
  const std::array<std::uint64_t, 3> values{lane, blocks, of};
  const std::int64_t time_ps = verbatim::to_ps(now);
  if (!takes(time_ps)) return;
  order_.add_behind(time_ps, port.value, item(slot(port.value, kCredits, kCreditsName, 3), time_ps, values));
}

void RunRecording::on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) {
  if (takes(verbatim::to_ps(now))) queues_.put({port, lane, bytes, verbatim::to_ps(now)});
}

void RunRecording::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId) {
  const std::array<std::uint64_t, 2> values{packet.lrh.lane.value, record.values[3]};
  std::uint32_t own = kNoSlot;
  std::uint32_t count = 1;
  const bool is_kept = record.event == TraceEvent::kPacketMarked || record.event == TraceEvent::kPacketDropped;
  if (!is_kept || !takes(record.time_ps)) return;
  if (record.event == TraceEvent::kPacketMarked) {
    own = slot(record.component, kMarks, kMarkName, count);
  } else {
    own = slot(record.component, kDrops, kDropName, count = 2);
  }
  order_.add_behind(record.time_ps, record.component, item(own, record.time_ps, std::span(values).first(count)));
}

void RunRecording::on_placement(const TraceRecord& write, std::uint32_t qpn, bool is_response) {
  if (!takes(write.time_ps)) return;
  const std::uint64_t by = std::uint64_t{qpn} << 1 | (is_response ? 1 : 0);
  const std::array<std::uint64_t, 4> values{write.values[0], write.values[1], write.values[2], by};
  const std::uint32_t own = slot(write.component, kPlacements, kPlacementName, 4);
  order_.add_behind(write.time_ps, write.component, item(own, write.time_ps, values));
}

void RunRecording::on_call(const supervisor::CallPlace& call) {
  const std::string_view name = name_of_call(call.kind);
  if (name.empty()) return;
  const std::uint32_t place = writer_.string(place_in_line(call.place));
  const std::array<std::uint64_t, 3> values{call.number, call.wr_id, place};
  const std::uint32_t own = slot(call.component.value, kCalls + static_cast<std::uint32_t>(call.kind), name, 3);
  order_.add_behind(call.time_ps, call.component.value, item(own, call.time_ps, values));
}

void RunRecording::on_wait(const supervisor::ThreadWait& wait) {
  std::string what = wait.what;
  std::ranges::replace(what, ' ', '_');
  const std::uint64_t words = writer_.string(what.empty() ? "-" : what);
  const std::array<std::uint64_t, 4> values{wait.pid, wait.tid, static_cast<std::uint64_t>(wait.to_ps - wait.from_ps), words};
  order_.add_behind(wait.to_ps, wait.host.value, item(slot(wait.host.value, kWaits, kWaitName, 4), wait.to_ps, values));
}

bool RunRecording::finish(const std::string& run_json, const std::string& overview) {
  queues_.finish();
  order_.flush();
  writer_.file("run.json", run_json);
  writer_.file(kOverviewFile, overview);
  return writer_.finish();
}

}  // namespace verbatim::cli
