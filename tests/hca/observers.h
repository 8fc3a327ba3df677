// Observers for tests: trace records and diagnoses.
#pragma once

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "sim/core/trace.h"

namespace verbatim::test {

struct Recorder final : TraceSink {
  std::vector<TraceRecord> records;
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    records.push_back(record);
  }
  std::size_t count(TraceEvent event) const {
    std::size_t n = 0;
    for (const TraceRecord& record : records) n += record.event == event ? 1 : 0;
    return n;
  }
  std::vector<TraceRecord> all(TraceEvent event) const {
    std::vector<TraceRecord> found;
    for (const TraceRecord& record : records) {
      if (record.event == event) found.push_back(record);
    }
    return found;
  }
};

// Diagnoses: the first texts, the total number, and the number without a reason.
struct DiagnosisList final : DiagnosisObserver {
  static constexpr std::size_t kMost = 200;
  std::vector<std::string> texts;
  std::set<std::string> wordless;
  std::uint64_t count = 0;
  void on_diagnosis(const Diagnosis& diagnosis, Instant) override {
    ++count;
    const std::string text(diagnosis.text);
    const char* name = strerrorname_np(diagnosis.error);
    if (diagnosis.error != 0 && (name == nullptr || text.ends_with(name))) wordless.insert(text);
    if (texts.size() < kMost) texts.push_back(text);
  }
};

}  // namespace verbatim::test
