#include "tests/timing/reference_agreement.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <string>

#include "tests/timing/reference/fabric_case.h"

namespace verbatim::timing {
namespace {

std::string show(const Passing& passing) {
  static constexpr const char* kMoments[] = {"starts at", "has its head at", "has its tail at",
                                             "is dropped at"};
  return "packet " + std::to_string(passing.packet) + " " + kMoments[static_cast<int>(passing.moment)] + " port " +
         std::to_string(passing.port) + ": " + std::to_string(passing.ps) + " ps";
}

// The earliest of `of` that is not in `other`; both are sorted.
std::string earliest_only_in(const std::vector<Passing>& of, const std::vector<Passing>& other) {
  const Passing* first = nullptr;
  for (const Passing& passing : of) {
    if (std::binary_search(other.begin(), other.end(), passing)) continue;
    if (first == nullptr || passing.ps < first->ps) first = &passing;
  }
  return first == nullptr ? "nothing" : show(*first);
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
    ++disagreements;
    ADD_FAILURE() << "seed " << seed << " differs first here:\n  event model: " << earliest_only_in(events, reference)
                  << "\n  reference:   " << earliest_only_in(reference, events) << "\n"
                  << (disagreements == 1 ? describe(fabric) : "");
  }
  std::cout << count << " fabrics, " << packets << " packets, " << hops << " packet-hops compared\n";
}

}  // namespace verbatim::timing
