#include "tests/timing/reference_agreement.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <iostream>
#include <limits>
#include <string>

#include "sim/ib/drop_reason.h"
#include "tests/timing/reference/dma_case.h"

namespace verbatim::timing {
namespace {

std::string show(const Passing& passing) {
  static constexpr const char* kMoments[] = {"starts at", "has its head at", "has its tail at", "is dropped at", "is marked at"};
  const std::string place = " port " + std::to_string(passing.port);
  const std::string time = ": " + std::to_string(passing.ps) + " ps";
  if (passing.moment == Moment::kPause) {
    return "a frame for lanes " + std::to_string(passing.packet) + " that pauses " + std::to_string(passing.detail) + " leaves by" +
           place + time;
  }
  std::string text =
      "packet " + std::to_string(passing.packet) + " " + kMoments[static_cast<int>(passing.moment)] + place + time;
  if (passing.moment == Moment::kMark) text += ", " + std::to_string(passing.detail) + " bytes wait";
  if (passing.moment == Moment::kDrop) text += ", " + std::string(ib::text_of(static_cast<ib::DropReason>(passing.detail)));
  return text;
}

std::string show(const DmaPassing& passing) {
  static constexpr const char* kMoments[] = {"is read in memory", "is in the adapter", "has left the adapter", "is visible",
                                             "is overtaken"};
  return "transfer " + std::to_string(passing.transfer) + " " + kMoments[static_cast<int>(passing.moment)] + ": " +
         std::to_string(passing.ps) + " ps";
}

// The earliest event of `of` that is not in `other`; both are sorted.
template <class Event>
std::string earliest_only_in(const std::vector<Event>& of, const std::vector<Event>& other) {
  const Event* first = nullptr;
  for (const Event& passing : of) {
    if (std::binary_search(other.begin(), other.end(), passing)) continue;
    if (first == nullptr || passing.ps < first->ps) first = &passing;
  }
  return first == nullptr ? "nothing" : show(*first);
}

template <class Case, class Event>
void report_difference(std::uint64_t seed, const Case& given, const std::vector<Event>& events,
                       const std::vector<Event>& reference, bool in_full) {
  ADD_FAILURE() << "seed " << seed << " differs first here:\n  event model: " << earliest_only_in(events, reference)
                << "\n  reference:   " << earliest_only_in(reference, events) << "\n"
                << (in_full ? describe(given) : "");
}

// Names of Occasion and DmaOccasion.
constexpr std::array<const char*, kOccasions> kNames = {
    "a lane without credits", "lanes that compete", "the high limit", "flow control before data",
    "a refresh", "a packet stored", "a lookup that waits", "a busy crossbar",
    "a head dropped", "a stalled lane", "a packet too old", "a level without a lane",
    "VL15 before others", "VL15 without room",
    "a paused lane", "a pause on a busy line", "a pause before data", "a pause repeated", "a resume offset", "headroom in use",
    "shared memory in use", "too little shared memory", "a lossy packet lost", "a lossless packet lost", "an output queue too long",
    "marked at enqueue", "marked at dequeue", "marked by chance"};
constexpr std::array<const char*, kDmaOccasions> kDmaNames = {
    "no tag left", "a busy lane", "a read behind writes", "a cut at a page", "a cut at a completion boundary",
    "a doorbell behind pushes"};

// Number of cases with each occasion; two models agree easily on cases without occasions.
template <std::size_t Size>
class Census {
 public:
  explicit Census(const std::array<const char*, Size>& names) : names_(names) {}

  void count(const std::bitset<Size>& met) {
    ++cases_;
    for (std::size_t i = 0; i < Size; ++i) counts_[i] += met[i];
  }
  // Each of the first `count` occasions occurs in at least one of a hundred cases.
  void expect_all(std::size_t count = Size) const {
    for (std::size_t i = 0; i < count; ++i) {
      std::cout << "  " << names_[i] << ": " << counts_[i] << "\n";
      EXPECT_GE(counts_[i] * 100, cases_) << names_[i] << ": the cases hardly test it";
    }
  }

 private:
  const std::array<const char*, Size>& names_;
  std::array<std::uint64_t, Size> counts_{};
  std::uint64_t cases_ = 0;
};

}  // namespace

void expect_agreement(std::uint64_t first, std::uint64_t count, Buffers buffers) {
  std::uint64_t packets = 0, hops = 0, disagreements = 0;
  Census<kOccasions> census(kNames);
  for (std::uint64_t seed = first; seed < first + count && disagreements < 5; ++seed) {
    const FabricCase fabric = random_fabric(seed, buffers);
    Occasions met;
    const std::vector<Passing> events = run_event_model(fabric), reference = run_reference(fabric, met);
    EXPECT_EQ(run_event_model(fabric, true), events) << "seed " << seed << ": in windows";
    census.count(met);
    packets += fabric.packets.size();
    std::size_t ends = 0;
    for (const Passing& passing : events) {
      hops += passing.moment == Moment::kHead;
      ends += passing.moment == Moment::kTail || passing.moment == Moment::kDrop;
    }
    EXPECT_EQ(ends, fabric.packets.size()) << "seed " << seed << ": every packet arrives or is dropped";
    if (events == reference) continue;
    report_difference(seed, fabric, events, reference, ++disagreements == 1);
  }
  std::cout << count << " fabrics, " << packets << " packets, " << hops << " packet-hops compared, with\n";
  census.expect_all(buffers == Buffers::kWithoutCredits ? kOccasions : kOccasionsOfCredits);
}

void expect_dma_agreement(std::uint64_t first, std::uint64_t count) {
  std::uint64_t transfers = 0, disagreements = 0;
  Census<kDmaOccasions> census(kDmaNames);
  for (std::uint64_t seed = first; seed < first + count && disagreements < 5; ++seed) {
    const DmaCase dma = random_dma(seed);
    DmaOccasions met;
    const std::vector<DmaPassing> events = run_event_model(dma), reference = run_reference(dma, met);
    census.count(met);
    transfers += dma.transfers.size();
    std::size_t ends = 0;
    for (const DmaPassing& passing : events) {
      ends += passing.moment == DmaMoment::kAtAdapter || passing.moment == DmaMoment::kVisible;
    }
    EXPECT_EQ(ends, dma.transfers.size()) << "seed " << seed << ": every transfer ends";
    if (events != reference) report_difference(seed, dma, events, reference, ++disagreements == 1);
  }
  std::cout << count << " PCI Express links, " << transfers << " transfers compared, with\n";
  census.expect_all();
}

}  // namespace verbatim::timing
