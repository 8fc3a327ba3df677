// DMA traffic of one adapter: the plain data that the event model and the clocked reference are both given.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/host/pcie_profile.h"

namespace verbatim::timing {

enum class Ask : std::uint8_t { kRead, kWrite, kRing, kPush };

struct PieceCase {
  std::uint32_t bytes = 0;
  std::uint32_t address = 0;
};

struct TransferCase {
  Ask ask = Ask::kRead;
  std::int64_t ask_ps = 0;
  std::vector<PieceCase> pieces;  // one for a push, none for a doorbell
};

struct DmaCase {
  host::PcieProfile profile;
  std::vector<TransferCase> transfers;  // by time; those of one time, in order
};

enum class DmaMoment : std::uint8_t {
  kMemoryRead,   // all bytes of a read have been taken from memory
  kAtAdapter,    // and are in the adapter; or a doorbell, or pushed bytes
  kLeftAdapter,  // the last byte of a write has left the adapter
  kVisible,      // and can be read in memory
  kOvertaking,   // a read took its bytes before an earlier write was visible: never
};

struct DmaPassing {
  std::uint32_t transfer = 0;
  DmaMoment moment = DmaMoment::kMemoryRead;
  std::int64_t ps = 0;
  friend auto operator<=>(const DmaPassing&, const DmaPassing&) = default;
};

// Situations that occur in a case.
enum class DmaOccasion : std::uint8_t {
  kTagsUsedUp,         // a read waits for a tag
  kLaneBusy,           // a TLP waits for the previous one
  kReadBehindWrites,   // a request waits in the root complex for earlier writes
  kCutAtPage,          // a request or a write ends at a page's end, and another one continues
  kCutAtBoundary,      // a completion is shorter than MPS because it ends at a completion boundary
  kDoorbellWaits,      // a doorbell waits for pushes before it
};
inline constexpr std::size_t kDmaOccasions = static_cast<std::size_t>(DmaOccasion::kDoorbellWaits) + 1;
using DmaOccasions = std::bitset<kDmaOccasions>;

DmaCase random_dma(std::uint64_t seed);
// For people: everything about a case.
std::string describe(const DmaCase& dma);

// Events, sorted.
std::vector<DmaPassing> run_event_model(const DmaCase& dma);
std::vector<DmaPassing> run_reference(const DmaCase& dma, DmaOccasions& met);

}  // namespace verbatim::timing
