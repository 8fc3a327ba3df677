#include "tests/timing/reference_agreement.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <string>

#include "tests/timing/reference/dma_case.h"
#include "tests/timing/reference/fabric_case.h"

namespace verbatim::timing {
namespace {

std::string show(const Passing& passing) {
  static constexpr const char* kMoments[] = {"starts at", "has its head at", "has its tail at",
                                             "is dropped at"};
  return "packet " + std::to_string(passing.packet) + " " + kMoments[static_cast<int>(passing.moment)] + " port " +
         std::to_string(passing.port) + ": " + std::to_string(passing.ps) + " ps";
}

std::string show(const DmaPassing& passing) {
  static constexpr const char* kMoments[] = {"is read in memory", "is in the adapter", "has left the adapter", "is visible",
                                             "is overtaken"};
  return "transfer " + std::to_string(passing.transfer) + " " + kMoments[static_cast<int>(passing.moment)] + ": " +
         std::to_string(passing.ps) + " ps";
}

// The earliest of `of` that is not in `other`; both are sorted.
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

}  // namespace

void expect_agreement(std::uint64_t first, std::uint64_t count) {
  std::uint64_t packets = 0, hops = 0, disagreements = 0;
  for (std::uint64_t seed = first; seed < first + count && disagreements < 5; ++seed) {
    const FabricCase fabric = random_fabric(seed);
    const std::vector<Passing> events = run_event_model(fabric), reference = run_reference(fabric);
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
  std::cout << count << " fabrics, " << packets << " packets, " << hops << " packet-hops compared\n";
}

void expect_dma_agreement(std::uint64_t first, std::uint64_t count) {
  std::uint64_t transfers = 0, disagreements = 0;
  for (std::uint64_t seed = first; seed < first + count && disagreements < 5; ++seed) {
    const DmaCase dma = random_dma(seed);
    const std::vector<DmaPassing> events = run_event_model(dma), reference = run_reference(dma);
    transfers += dma.transfers.size();
    if (events != reference) report_difference(seed, dma, events, reference, ++disagreements == 1);
  }
  std::cout << count << " PCI Express links, " << transfers << " transfers compared\n";
}

}  // namespace verbatim::timing
