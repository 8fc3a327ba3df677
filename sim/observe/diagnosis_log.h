// Why verbs were refused and messages failed, as the adapters tell it, with what is known from elsewhere: a message that nobody
// answers has often been dropped by somebody.
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
  // With a `trace` each is written there, too, where it happened. Both outlive the log.
  explicit DiagnosisLog(const ComponentTable& components, TraceWords* trace = nullptr)
      : components_(components), trace_(trace) {}

  struct Entry {
    std::int64_t time_ps;     // the first time
    std::string component;    // the adapter: "hca/…"
    std::uint32_t process;    // virtual pid; 0: nobody's
    std::int32_t error;       // errno of the call; 0: a message
    std::string text;
    std::uint64_t times = 1;  // that the same was said of the same process
  };

  void on_diagnosis(const Diagnosis& diagnosis, Instant now) override;
  void on_drop(const ib::Packet& packet, std::uint64_t reason, ComponentId component, Instant now) override;

  // What has become of packets to whom ib::addressee() names so: "hca/server dropped 8 packets to it, the last at …"; "": none was
  // dropped.
  std::string dropped_to(const std::string& addressee) const;

  // In the order of their first times, at most kMost.
  static constexpr std::size_t kMost = 1000;
  const std::vector<Entry>& entries() const { return entries_; }
  // How many there were, kept or not.
  std::uint64_t count() const { return count_; }

 private:
  struct Drop {
    std::uint64_t reason = 0;
    ComponentId component;
    std::uint64_t times = 0;
    Instant last;
  };
  static constexpr std::size_t kMostAddressees = 10'000;
  // What a check has found is in the trace alone; CheckLog keeps it.
  void tell_finding(const Diagnosis& finding, Instant now);

  const ComponentTable& components_;
  TraceWords* const trace_;
  std::vector<Entry> entries_;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> index_;  // of entries_, by process and text
  std::map<std::string, Drop> drops_;                                   // the last, by ib::addressee()
  std::uint64_t count_ = 0;
};

}  // namespace verbatim::observe
