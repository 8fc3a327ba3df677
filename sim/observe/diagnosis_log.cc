#include "sim/observe/diagnosis_log.h"

#include "sim/core/time_text.h"
#include "sim/ib/addressee.h"
#include "sim/ib/drop_reason.h"
#include "sim/observe/microseconds.h"

namespace verbatim::observe {

void DiagnosisLog::on_diagnosis(const Diagnosis& diagnosis, Instant now) {
  if (!diagnosis.check.empty()) return trace_finding(diagnosis, now);
  std::string text(diagnosis.text);
  if (const std::string dropped = dropped_to(std::string(diagnosis.unanswered)); !dropped.empty()) text += "; " + dropped;
  ++count_;
  const std::int64_t time_ps = to_ps(now);
  if (trace_ != nullptr) {
    const std::string& component = components_.name(diagnosis.component);
    trace_->add(time_ps, diagnosis.component, join(microseconds(time_ps), " us  ", component, "  diagnosis  ", text, "\n"));
  }
  if (const auto known = index_.find({diagnosis.process, text}); known != index_.end()) {
    ++entries_[known->second].times;
    return;
  }
  if (entries_.size() >= kMost) return;
  index_[{diagnosis.process, text}] = entries_.size();
  entries_.push_back({time_ps, components_.name(diagnosis.component), diagnosis.process, diagnosis.error, std::move(text)});
}

void DiagnosisLog::trace_finding(const Diagnosis& finding, Instant now) {
  if (trace_ == nullptr) return;
  trace_->add(to_ps(now), finding.component,
              join(microseconds(to_ps(now)), " us  ", components_.name(finding.component), "  check  ", finding.check, ": ",
                   finding.text, finding.place.empty() ? "" : " at ", finding.place, "\n"));
}

std::string DiagnosisLog::dropped_to(const std::string& addressee) const {
  const auto drop = drops_.find(addressee);
  if (drop == drops_.end()) return "";
  const Drop& seen = drop->second;
  const std::uint64_t times = seen.times.at({seen.component.value, seen.reason});
  return join(components_.name(seen.component), " dropped ", times, times == 1 ? " packet" : " packets",
              " to it, the last at ", time_text(seen.last), ": ", ib::text_of(static_cast<ib::DropReason>(seen.reason)));
}

void DiagnosisLog::on_drop(const ib::Packet& packet, std::uint64_t reason, ComponentId component, Instant now) {
  if (packet.is_frame) return;
  std::string to = ib::addressee(packet);
  const auto known = drops_.find(to);
  if (known == drops_.end() && drops_.size() >= kMostAddressees) return;
  Drop& drop = known == drops_.end() ? drops_[std::move(to)] : known->second;
  drop.reason = reason;
  drop.component = component;
  drop.last = now;
  ++drop.times[{component.value, reason}];
}

}  // namespace verbatim::observe
