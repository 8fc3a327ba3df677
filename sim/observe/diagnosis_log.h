// Reasons why verbs were refused and messages failed, from the adapters' diagnoses. A diagnosis of an
// unanswered message also names the component that dropped packets to its destination.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"
#include "sim/observe/text_trace_sink.h"

namespace verbatim::observe {

class DiagnosisLog final : public DiagnosisObserver, public ib::DropObserver {
 public:
  // With a `trace`, each diagnosis is written there as well. `components` and `trace` must outlive the log.
  explicit DiagnosisLog(const ComponentTable& components, TraceWords* trace = nullptr)
      : components_(components), trace_(trace) {}

  struct Entry {
    std::int64_t time_ps;     // of the first occurrence
    std::string component;    // the adapter: "hca/…"
    std::uint32_t process;    // virtual PID; 0: of no process
    std::int32_t error;       // errno of the call; 0: a message failed
    std::string text;
    std::uint64_t times = 1;  // number of equal diagnoses of the same process
  };

  void on_diagnosis(const Diagnosis& diagnosis, Instant now) override;
  void on_drop(const ib::Packet& packet, std::uint64_t reason, ComponentId component, Instant now) override;

  // Sentence about dropped packets whose ib::addressee() is this: "hca/server dropped 8 packets to it, the
  // last at …", for the component and the reason of the last one; "" if none was dropped.
  std::string dropped_to(const std::string& addressee) const;

  // In the order of the first occurrences, at most kMost.
  static constexpr std::size_t kMost = 1000;
  const std::vector<Entry>& entries() const { return entries_; }
  // Number of diagnoses, including those that are not kept.
  std::uint64_t count() const { return count_; }

 private:
  struct Drop {
    std::uint64_t reason = 0;
    ComponentId component;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> times;  // by component and reason
    Instant last;
  };
  static constexpr std::size_t kMostAddressees = 10'000;
  // Writes a check's finding to the trace only; CheckLog keeps it.
  void trace_finding(const Diagnosis& finding, Instant now);

  const ComponentTable& components_;
  TraceWords* const trace_;
  std::vector<Entry> entries_;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> index_;  // index in entries_, by process and text
  std::map<std::string, Drop> drops_;                                   // the last one, by ib::addressee()
  std::uint64_t count_ = 0;
};

}  // namespace verbatim::observe
