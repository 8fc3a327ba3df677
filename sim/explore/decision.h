// Choices of a run where the specification permits several behaviours, as data that can be stored and
// repeated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/choice_streams.h"
#include "sim/core/ids.h"

namespace verbatim::explore {

// A detail is a site that refines a choice (sim/core/choice.h). Its occurrence number is the number of that
// choice times kDetailStep, plus its index among the questions about the detail since. The number therefore
// does not depend on the answers to earlier choices.
inline constexpr std::uint64_t kDetailStep = 1 << 20;
// Distance between the numbers of consecutive choices: kDetailStep for details, else 1.
constexpr std::uint64_t step_of(std::string_view site) { return is_detail(site) ? kDetailStep : 1; }

// One answer that is not the default. Site, actor and occurrence identify it, so that it means the same in a
// run in which other choices differ.
struct Decision {
  std::string site;              // as passed to Choices::choose(), such as "ack-delay"
  std::string actor;             // a component's name, or "thread/N" in the order of thread creation
  std::uint64_t occurrence = 0;  // as counted by Occurrences
  std::uint32_t answer = 0;      // 1 … alternatives - 1
  std::uint32_t alternatives = 0;
  std::int64_t time_ps = 0;      // virtual time of the question; for reports only

  friend bool operator==(const Decision&, const Decision&) = default;
};

// The occurrence for reports, counted from 1: "8", or "8, part 3" for the third question of that detail.
std::string number_of(const Decision& decision);

// Numbers the questions of each actor at each site from 0; for details as described at kDetailStep.
class Occurrences {
 public:
  // Counts a question and returns its number. `site` must be a literal, because the view is stored.
  std::uint64_t next(std::string_view site, ComponentId actor);

 private:
  struct Stream {
    bool is_detail = false;
    std::uint64_t asked = 0;
    const Stream* choice = nullptr;      // stream of the detail's choice; null before the first question about it
    std::uint64_t choices = 0, part = 0;  // count of that choice at the last question of this detail, and
                                          // number of questions since
  };
  ChoiceStreams<Stream> streams_;
};

// A question, whatever its answer. A long run has very many.
struct ChoicePoint {
  std::uint32_t stream = 0;        // index into Questions::streams
  std::uint32_t alternatives = 0;  // 2 …
  std::uint64_t occurrence = 0;    // as in Decision; questions with a single answer count as well
  friend bool operator==(const ChoicePoint&, const ChoicePoint&) = default;
};

// All questions of a run with more than one answer, in the order in which they were asked.
struct Questions {
  struct Stream {
    std::string site, actor;
    std::uint64_t asked = 0;
    std::uint64_t decided = 0;   // how many of them were not answered by the default
  };
  static constexpr std::size_t kMostPoints = 200'000;  // later ones are counted in their stream only

  std::vector<Stream> streams;   // in the order of their first question
  std::vector<ChoicePoint> points;
  std::string digest;  // digest of the run; equal ones mean that programs and fabric behaved equally; empty: unknown
  std::uint64_t asked() const;
};

// Name of the actor with this id in decisions.
std::string actor_name(const ComponentTable& components, ComponentId actor);

}  // namespace verbatim::explore
