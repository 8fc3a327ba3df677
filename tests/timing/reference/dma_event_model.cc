// A case on sim/host.
#include <algorithm>

#include "sim/host/dma_engine.h"
#include "tests/timing/reference/dma_case.h"

namespace verbatim::timing {
namespace {

class Asker final : public host::DmaClient {
 public:
  explicit Asker(const DmaCase& dma)
      : dma_case_(dma),
        dma_(engine_, ComponentId{1}, dma.profile),
        timer_(Timer::of<&Asker::ask>(engine_, ComponentId{0}, EventClass::kStage, this)) {}

  std::vector<DmaPassing> run() {
    schedule();
    engine_.run();
    std::sort(log_.begin(), log_.end());
    return log_;
  }

 private:
  void log(std::uint64_t transfer, DmaMoment moment, Instant when) {
    log_.push_back({static_cast<std::uint32_t>(transfer), moment, to_ps(when)});
  }

  static std::vector<host::DmaPiece> pieces_of(const TransferCase& transfer) {
    std::vector<host::DmaPiece> pieces;
    for (const PieceCase& piece : transfer.pieces) pieces.emplace_back(piece.bytes, piece.address);
    return pieces;
  }

  void schedule() {
    if (next_ < dma_case_.transfers.size()) timer_.schedule_at(instant_from_ps(dma_case_.transfers[next_].ask_ps));
  }

  void ask() {
    for (; next_ < dma_case_.transfers.size(); ++next_) {
      const TransferCase& wanted = dma_case_.transfers[next_];
      if (wanted.ask_ps != to_ps(engine_.now())) break;
      Trail trail;
      switch (wanted.ask) {
        case Ask::kRead: dma_.read(pieces_of(wanted), *this, next_); break;
        case Ask::kWrite: {
          const host::DmaWriteTimes times = dma_.write(pieces_of(wanted), *this, next_);
          log(next_, DmaMoment::kLeftAdapter, times.left_adapter);
          log(next_, DmaMoment::kVisible, times.visible);
          break;
        }
        case Ask::kRing: log(next_, DmaMoment::kAtAdapter, dma_.ring(trail)); break;
        case Ask::kPush: log(next_, DmaMoment::kAtAdapter, dma_.push(wanted.pieces[0].bytes, trail)); break;
      }
    }
    schedule();
  }

  void on_dma_read(std::uint64_t transfer, Instant at_adapter) override {
    log(transfer, DmaMoment::kMemoryRead, engine_.now());
    log(transfer, DmaMoment::kAtAdapter, at_adapter);
    for (; written_ < transfer; ++written_) {
      if (dma_case_.transfers[written_].ask == Ask::kWrite) return log(transfer, DmaMoment::kOvertaking, engine_.now());
    }
  }

  // Writes become visible in the order of the requests, at the times returned by write().
  void on_dma_write(std::uint64_t transfer) override {
    while (written_ < transfer && dma_case_.transfers[written_].ask != Ask::kWrite) ++written_;
    const DmaPassing said{static_cast<std::uint32_t>(transfer), DmaMoment::kVisible, to_ps(engine_.now())};
    if (written_ != transfer || std::find(log_.begin(), log_.end(), said) == log_.end()) {
      log(transfer, DmaMoment::kOvertaking, engine_.now());
    }
    ++written_;
  }

  const DmaCase& dma_case_;
  Engine engine_;
  host::DmaEngine dma_;
  Timer timer_;
  std::uint32_t next_ = 0;
  std::uint64_t written_ = 0;  // every write before this transfer is visible
  std::vector<DmaPassing> log_;
};

}  // namespace

std::vector<DmaPassing> run_event_model(const DmaCase& dma) { return Asker(dma).run(); }

}  // namespace verbatim::timing
