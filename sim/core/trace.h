// The trace: fixed-layout records of facts, one per event that a person or a digest may care about. Components
// record, observers (sim/observe) hash, print or count; a component formats nothing. The records and their order
// are a contract: they go into the digest.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/core/traced_packet.h"
#include "sim/core/trail.h"

namespace verbatim {

// name in traces, then the meaning of the four values ("-" unused).
// clang-format off
#define VERBATIM_TRACE_EVENTS(X)                                                                        \
  /* fabric: identity is the BTH of the packet */                                                       \
  X(kPacketTransmitted,  "packet-transmitted",   "opcode", "dest_qp", "psn", "wire_bytes")              \
  X(kPacketReceived,     "packet-received",      "opcode", "dest_qp", "psn", "wire_bytes")              \
  X(kPacketForwarded,    "packet-forwarded",     "opcode", "dest_qp", "psn", "out_port")                \
  X(kPacketDropped,      "packet-dropped",       "opcode", "dest_qp", "psn", "reason")                  \
  X(kCreditsReturned,    "credits-returned",     "vl", "blocks", "-", "-")                              \
  /* adapter */                                                                                         \
  X(kDoorbell,           "doorbell",             "kind", "number", "producer", "-")                     \
  X(kWqeFetched,         "wqe-fetched",          "qpn", "index", "opcode", "length")                    \
  X(kPayloadGathered,    "payload-gathered",     "qpn", "psn", "length", "-")                           \
  X(kRetransmission,     "retransmission",       "qpn", "psn", "cause", "tries_left")                   \
  X(kAckSent,            "ack-sent",             "qpn", "psn", "syndrome", "msn")                       \
  X(kAckReceived,        "ack-received",         "qpn", "psn", "syndrome", "msn")                       \
  X(kDuplicate,          "duplicate-request",    "qpn", "psn", "opcode", "-")                           \
  X(kDmaWrite,           "dma-write",            "process", "va", "length", "-")                        \
  X(kCompletion,         "completion",           "cqn", "qpn", "wr_id", "status")                       \
  X(kCompletionEvent,    "completion-event",     "cqn", "channel", "process", "-")                      \
  X(kAsyncEvent,         "async-event",          "type", "number", "process", "-")                      \
  X(kQpState,            "qp-state",             "qpn", "from", "to", "-")                              \
  X(kCommand,            "command",              "type", "handle", "status", "-")                       \
  /* programs */                                                                                        \
  X(kProgramStarted,     "program-started",      "pid", "-", "-", "-")                                  \
  X(kProgramOutput,      "program-output",       "pid", "fd", "length", "-")                            \
  X(kProgramExited,      "program-exited",       "pid", "exit_code", "signal", "-")                     \
  X(kSystemCall,         "system-call",          "tid", "number", "result", "-")                        \
  X(kSocketData,         "socket-data",          "connection", "length", "-", "-")                      \
  X(kProgramWarning,     "program-warning",      "pid", "kind", "detail", "-")                          \
  /* left behind at the end, in a folder of the run: kind as in st_mode; the bytes are the path */      \
  X(kFile,               "file",                 "kind", "length", "hash_high", "hash_low")             \
  /* scripted faults: the packet that a rule has hit; a port that lost or got its link */               \
  X(kFault,              "fault",                "opcode", "dest_qp", "psn", "rule")                    \
  X(kLinkState,          "link-state",           "up", "-", "-", "-")                                   \
  /* of the management network, at the host that sends to host number `to` at `leaves_ps`; a delay of 0: it is lost */ \
  X(kManagementFault,    "management-fault",     "to", "leaves_ps", "delay_ps", "rule")                 \
  /* management datagrams at their adapters: words as in IBA 13.4.3; the bytes are the datagram */      \
  X(kDatagramSent,       "datagram-sent",        "lid", "class_method", "attribute", "transaction")     \
  X(kDatagramReceived,   "datagram-received",    "lid", "class_method", "attribute", "transaction")     \
  /* congestion: priorities as bits; bytes that wait in the output queue */                             \
  X(kPauseFrame,         "pause-frame",          "priorities", "paused", "quanta", "-")                 \
  X(kPacketMarked,       "packet-marked",        "opcode", "dest_qp", "psn", "queued_bytes")             \
  /* the queue pair sends at another rate, which is noticed when it has something to send */            \
  X(kRate,               "rate",                 "qpn", "mbps", "-", "-")                               \
  /* the watchdog of a switch's output: a priority whose packets it drops (stormed 1) or sends again (0) */ \
  X(kPauseWatchdog,      "pause-watchdog",       "priority", "stormed", "-", "-")                       \
  /* switches whose tables differ from now on: after a sweep, or as a port leaves its groups or returns */ \
  X(kRoutesChanged,      "routes-changed",       "tables", "-", "-", "-")
// clang-format on

enum class TraceEvent : std::uint32_t {
#define VERBATIM_TRACE_ENUM(id, name, a, b, c, d) id,
  VERBATIM_TRACE_EVENTS(VERBATIM_TRACE_ENUM)
#undef VERBATIM_TRACE_ENUM
};
inline constexpr std::size_t kTraceEventCount = static_cast<std::size_t>(TraceEvent::kRoutesChanged) + 1;

// A set of events: bit n stands for the event with number n.
using TraceEvents = std::uint64_t;
static_assert(kTraceEventCount <= 64);
inline constexpr TraceEvents kAllTraceEvents = ~TraceEvents{0};
constexpr TraceEvents bits_of(std::same_as<TraceEvent> auto... events) {
  return ((TraceEvents{1} << static_cast<unsigned>(events)) | ...);
}

struct TraceEventNames {
  std::string_view name;
  std::string_view values[4];
};
const TraceEventNames& names_of(TraceEvent event);

struct TraceRecord {
  std::int64_t time_ps;
  std::uint32_t component;
  TraceEvent event;
  std::uint64_t values[4];
  std::uint64_t number = 0;  // of the component's records, from 0; the tracer gives it
  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
static_assert(sizeof(TraceRecord) == 56);

// Order of traces in files. It does not depend on how the work of components interleaves at one instant.
inline bool comes_before(const TraceRecord& a, const TraceRecord& b) {
  return std::tie(a.time_ps, a.component, a.number) < std::tie(b.time_ps, b.component, b.number);
}

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // `bytes` belong to the record (payload of a DMA write, a written completion entry, data of a socket, program
  // output); empty for most.
  virtual void on_record(const TraceRecord& record, std::span<const std::byte> bytes) = 0;
  // Events of the records that the sink gets; asked once, when it is added to a tracer.
  virtual TraceEvents events() const { return kAllTraceEvents; }
  // True: the sink also gets records before their time, in another order than that of times.
  virtual bool takes_any_order() const { return false; }
};

// For observers that want the whole packet of a packet record: ib::PacketObserver (sim/ib/packet_observer.h).
class TracedPacketObserver {
 public:
  virtual ~TracedPacketObserver() = default;
  // Events of the packets that the observer gets; asked once, when it is added to a tracer.
  virtual TraceEvents packet_events() const { return kAllTraceEvents; }
  // Follows the record. `port` is the component at whose end of a link the packet is.
  virtual void on_traced_packet(const TraceRecord& record, const TracedPacket& packet, ComponentId port) = 0;
};

// For observers of dropped packets: ib::DropObserver (sim/ib/packet_observer.h).
class TracedDropObserver {
 public:
  virtual ~TracedDropObserver() = default;
  // `reason` is the fourth value of the record kPacketDropped.
  virtual void on_traced_drop(const TracedPacket& packet, std::uint64_t reason, ComponentId component, Instant now) = 0;
};

// The reason, as text, why a verbs call was refused or a message failed; or the finding of a check about a
// program. Diagnoses are in no record.
struct Diagnosis {
  ComponentId component;  // the adapter
  std::uint32_t process;  // that made the call or owns the message; 0: none
  std::int32_t error;     // errno of the call; 0: a message
  std::string_view text;
  std::string_view unanswered = {};  // receiver of packets that were not answered, as ib::addressee() names it
  std::string_view check = {};       // name of the check; empty: none
  std::string_view place = {};       // source line in the program, "app.c:88"; empty: unknown
};

class DiagnosisObserver {
 public:
  virtual ~DiagnosisObserver() = default;
  virtual void on_diagnosis(const Diagnosis& diagnosis, Instant now) = 0;
};

// Facts for displays of a run that are in no record and in no digest.
class FactObserver {
 public:
  enum class Queue : std::uint8_t { kCompletions, kReceives, kSharedReceives };

  virtual ~FactObserver() = default;
  // An adapter has executed a command of `process`; `command` is the mailbox with the answer.
  virtual void on_command(ComponentId adapter, std::uint32_t process, std::span<const std::byte> command, Instant now) = 0;
  // Entries of a queue: unpolled completions after one is written, receives after one is taken. `number` is that
  // of the CQ, QP or SRQ.
  virtual void on_level(ComponentId adapter, Queue queue, std::uint32_t number, std::uint32_t level, Instant now) = 0;
  // A packet has started on a lane of `port`: `blocks` credits of 64 bytes are left, of the `of` blocks of
  // the far end's input buffer.
  virtual void on_credits(ComponentId port, std::uint32_t lane, std::uint32_t blocks, std::uint32_t of, Instant now) = 0;
  // Bytes in the output queue of a lane of `port`, after a packet has entered or left it.
  virtual void on_output_queue(ComponentId /*port*/, std::uint32_t /*lane*/, std::uint64_t /*bytes*/, Instant /*now*/) {}
  // The last kCompletion, of queue pair `qpn` in completion queue `cqn`, is that of a receive, or of a send.
  virtual void on_completion(ComponentId /*adapter*/, std::uint32_t /*cqn*/, std::uint32_t /*qpn*/, bool /*is_receive*/,
                             Instant /*now*/) {}
  // `write`, the last kDmaWrite, stores payload for queue pair `qpn`: of a response, or of a request to it.
  virtual void on_placement(const TraceRecord& write, std::uint32_t qpn, bool is_response) = 0;
};

// Contacts of hosts outside the fabric. They are in no record.
class ContactObserver {
 public:
  virtual ~ContactObserver() = default;
  // A packet of a program of host `from` arrives at host `to` now, over the management network. The program
  // sent it at `done` or earlier.
  virtual void on_contact(ComponentId from, ComponentId to, Instant done) = 0;
};

// A record held back until its time, with a copy of its bytes and without its number.
struct HeldRecord {
  TraceRecord record;
  std::vector<std::byte> bytes;
};

class Tracer {
 public:
  explicit Tracer(const Engine& engine) : engine_(engine) {}

  // `sink` must outlive the tracer.
  void add(TraceSink& sink);
  // Observers must outlive the tracer. Packet and drop observers change no record.
  void add(TracedPacketObserver& observer);
  void add(TracedDropObserver& observer) { drop_observers_.push_back(&observer); }
  // Gets the parts of each message's latency, which are in no record.
  void add(MessageObserver& observer) { message_observers_.push_back(&observer); }
  // Gets the reasons of failures.
  void add(DiagnosisObserver& observer) { diagnosis_observers_.push_back(&observer); }
  // Gets facts for displays.
  void add(FactObserver& observer) { fact_observers_.push_back(&observer); }
  void add(ContactObserver& observer) { contact_observers_.push_back(&observer); }

  // Until a call with nullptr, appends records to `held` instead of passing them to the sinks: for calls that
  // are executed before their time. No packet may be recorded meanwhile.
  void hold_back(std::vector<HeldRecord>* held) { held_ = held; }
  // Numbers a held record and passes it to the sinks. Called at its time.
  void release(const HeldRecord& held) { emit(held.record, held.bytes); }

  // New trail of a message that was posted at `begin`; empty without message observers.
  Trail trail(Instant begin) const {
    if (message_observers_.empty()) [[likely]]
      return {};
    return Trail(begin);
  }
  // A message with a trail has completed.
  void report(const MessageReport& message) {
    for (MessageObserver* observer : message_observers_) observer->on_message(message);
  }

  void diagnose(const Diagnosis& diagnosis) { diagnose(diagnosis, engine_.now()); }
  // Diagnosis of an event at `when`.
  void diagnose(const Diagnosis& diagnosis, Instant when) {
    for (DiagnosisObserver* observer : diagnosis_observers_) observer->on_diagnosis(diagnosis, when);
  }
  void report_drop(const TracedPacket& packet, std::uint64_t reason, ComponentId component) {
    for (TracedDropObserver* observer : drop_observers_) observer->on_traced_drop(packet, reason, component, engine_.now());
  }

  // Whether facts have observers; lets callers skip the work of computing one.
  bool wants_facts() const { return !fact_observers_.empty(); }
  void report_command(ComponentId adapter, std::uint32_t process, std::span<const std::byte> command) {
    for (FactObserver* observer : fact_observers_) observer->on_command(adapter, process, command, engine_.now());
  }
  void report_level(ComponentId adapter, FactObserver::Queue queue, std::uint32_t number, std::uint32_t level) {
    for (FactObserver* observer : fact_observers_) observer->on_level(adapter, queue, number, level, engine_.now());
  }
  void report_credits(ComponentId port, std::uint32_t lane, std::uint32_t blocks, std::uint32_t of) {
    for (FactObserver* observer : fact_observers_) observer->on_credits(port, lane, blocks, of, engine_.now());
  }
  void report_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes) {
    for (FactObserver* observer : fact_observers_) observer->on_output_queue(port, lane, bytes, engine_.now());
  }
  void report_completion(ComponentId adapter, std::uint32_t cqn, std::uint32_t qpn, bool is_receive) {
    for (FactObserver* observer : fact_observers_) observer->on_completion(adapter, cqn, qpn, is_receive, engine_.now());
  }
  void report_placement(const TraceRecord& write, std::uint32_t qpn, bool is_response) {
    for (FactObserver* observer : fact_observers_) observer->on_placement(write, qpn, is_response);
  }

  void report_contact(ComponentId from, ComponentId to, Instant done) {
    for (ContactObserver* observer : contact_observers_) observer->on_contact(from, to, done);
  }

  void record(ComponentId component, TraceEvent event, std::uint64_t a = 0, std::uint64_t b = 0,
              std::uint64_t c = 0, std::uint64_t d = 0, std::span<const std::byte> bytes = {}) {
    if (!has_sinks_) return;
    emit(TraceRecord{to_ps(engine_.now()), component.value, event, {a, b, c, d}}, bytes);
  }

  // Records, without an event, a fact that is certain to be true at `when`, which is now or later. Sinks that
  // need records in order of time get it before the first record of a later time.
  void record_at(Instant when, ComponentId component, TraceEvent event, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                 std::uint64_t d) {
    CHECK(held_ == nullptr && when >= engine_.now());
    if (has_sinks_) emit_early({to_ps(when), component.value, event, {a, b, c, d}});
  }
  // Passes the remaining early records to the sinks, at the end of a run.
  void finish() { release_up_to(kNoTime); }

  // Whether there is a packet observer.
  bool shows_packets() const { return has_packet_observers_; }
  void record_packet(ComponentId component, TraceEvent event, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                     std::uint64_t d, const TracedPacket& packet, ComponentId port) {
    CHECK(held_ == nullptr);
    if (!has_sinks_ && !has_packet_observers_) return;
    TraceRecord record{to_ps(engine_.now()), component.value, event, {a, b, c, d}};
    if (has_sinks_) {
      give_number(record);
      give_to_sinks(record, {});
    }
    for (TracedPacketObserver* observer : takers_of(event).packets) observer->on_traced_packet(record, packet, port);
  }

 private:
  static constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();

  // Takers of the records of one event.
  struct Takers {
    std::vector<TraceSink*> in_order;  // in the order of times
    std::vector<TraceSink*> any_order;
    std::vector<TracedPacketObserver*> packets;
  };

  Takers& takers_of(TraceEvent event) { return takers_[static_cast<std::size_t>(event)]; }
  void emit(TraceRecord record, std::span<const std::byte> bytes);
  void emit_early(TraceRecord record);
  void add_numbers(std::size_t size);
  void give_number(TraceRecord& record) {
    if (record.component >= next_numbers_.size()) [[unlikely]] add_numbers(record.component + std::size_t{1});
    record.number = next_numbers_[record.component]++;
  }
  void give_to_sinks(const TraceRecord& record, std::span<const std::byte> bytes) {
    if (next_early_ps_ <= record.time_ps) [[unlikely]] release_up_to(record.time_ps);
    Takers& takers = takers_of(record.event);
    for (TraceSink* sink : takers.any_order) sink->on_record(record, bytes);
    for (TraceSink* sink : takers.in_order) sink->on_record(record, bytes);
  }
  // Passes early records up to this time to the sinks that take records in order.
  void release_up_to(std::int64_t time_ps);

  const Engine& engine_;
  std::array<Takers, kTraceEventCount> takers_;
  bool has_sinks_ = false, has_packet_observers_ = false;
  std::vector<TraceRecord> early_;        // heap of records that sinks get at their time; the front is next
  std::int64_t next_early_ps_ = kNoTime;  // time of the front
  std::vector<TracedDropObserver*> drop_observers_;
  std::vector<MessageObserver*> message_observers_;
  std::vector<DiagnosisObserver*> diagnosis_observers_;
  std::vector<FactObserver*> fact_observers_;
  std::vector<ContactObserver*> contact_observers_;
  std::vector<HeldRecord>* held_ = nullptr;
  std::vector<std::uint64_t> next_numbers_;  // of records, by component; beyond the end: 0
};

}  // namespace verbatim
