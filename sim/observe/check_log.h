// Findings of the checks of programs (protocol/checks.h), in the order of time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/trace.h"

namespace verbatim::observe {

class CheckLog final : public DiagnosisObserver {
 public:
  // `components` must outlive the log.
  explicit CheckLog(const ComponentTable& components) : components_(components) {}

  struct Entry {
    std::int64_t time_ps;
    std::string check;       // its name
    std::string component;   // "host/…" of the program
    std::uint32_t process;   // virtual PID
    std::string text, place;  // place: source location in the program; "" if unknown
  };

  void on_diagnosis(const Diagnosis& diagnosis, Instant now) override {
    if (diagnosis.check.empty()) return;
    entries_.push_back({to_ps(now), std::string(diagnosis.check), components_.name(diagnosis.component), diagnosis.process,
                        std::string(diagnosis.text), std::string(diagnosis.place)});
  }

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  const ComponentTable& components_;
  std::vector<Entry> entries_;
};

}  // namespace verbatim::observe
