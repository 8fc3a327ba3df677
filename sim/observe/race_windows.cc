#include "sim/observe/race_windows.h"

#include "sim/ib/aeth.h"
#include "sim/ib/drop_reason.h"

namespace verbatim::observe {

namespace {

constexpr std::int64_t kJustBefore = 2'000'000, kLate = 1'000'000;  // ps
constexpr std::uint64_t kSendDoorbell = 0, kArmDoorbell = 1;        // kinds of doorbells, see verbs_shim/protocol/region.h

}  // namespace

std::string_view text_of(RaceWindow window) {
  switch (window) {
    case RaceWindow::kCompletionBeforeArm:
      return "a completion is written just before its queue is armed";
    case RaceWindow::kReceiveMissing:
      return "a message arrives before its receive is posted";
    case RaceWindow::kRetransmission:
      return "a request is sent again";
    case RaceWindow::kLateGather:
      return "a send buffer is read 1 us or more after its doorbell";
    case RaceWindow::kQueuePairGone:
      return "a packet arrives for a queue pair that does not exist or does not receive";
  }
  return {};
}

void RaceWindows::on_record(const TraceRecord& record, std::span<const std::byte>) {
  switch (record.event) {
    case TraceEvent::kCompletion:
      completed_ps_[{record.component, record.values[0]}] = record.time_ps;
      break;
    case TraceEvent::kDoorbell:
      if (record.values[0] == kSendDoorbell) rung_ps_.try_emplace({record.component, record.values[1]}, record.time_ps);
      if (record.values[0] == kArmDoorbell) {
        const auto completed = completed_ps_.find({record.component, record.values[1]});
        if (completed == completed_ps_.end()) break;
        if (record.time_ps - completed->second <= kJustBefore) hit(RaceWindow::kCompletionBeforeArm);
        completed_ps_.erase(completed);
      }
      break;
    case TraceEvent::kPayloadGathered: {
      const auto rung = rung_ps_.find({record.component, record.values[0]});
      if (rung == rung_ps_.end()) break;
      if (record.time_ps - rung->second >= kLate) hit(RaceWindow::kLateGather);
      rung_ps_.erase(rung);
      break;
    }
    case TraceEvent::kAckSent:
      if (ib::ack_kind(static_cast<std::uint8_t>(record.values[2])) == ib::AckKind::kRnrNak) hit(RaceWindow::kReceiveMissing);
      break;
    case TraceEvent::kRetransmission:
      hit(RaceWindow::kRetransmission);
      break;
    case TraceEvent::kPacketDropped: {
      const auto reason = static_cast<ib::DropReason>(record.values[3]);
      if (reason == ib::DropReason::kUnknownQp || reason == ib::DropReason::kWrongState) hit(RaceWindow::kQueuePairGone);
      if (reason == ib::DropReason::kNoReceive) hit(RaceWindow::kReceiveMissing);
      break;
    }
    default:
      break;
  }
}

}  // namespace verbatim::observe
