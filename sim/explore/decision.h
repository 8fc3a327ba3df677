// What a run chose where the specification leaves a choice, as facts that can be written down and taken again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/choice_streams.h"
#include "sim/core/ids.h"

namespace verbatim::explore {

// Questions of a detail are numbered by those of its choice, in steps of so many, so that a number means the same whichever of
// the choices before were left at the default.
inline constexpr std::uint64_t kDetailStep = 1 << 20;
// From one choice to the next: that, or 1 where the site is no detail.
constexpr std::uint64_t step_of(std::string_view site) { return is_detail(site) ? kDetailStep : 1; }

// One answer that is not the default. It is known by site, actor and occurrence, so that it means the same thing in a
// run in which others have chosen differently.
struct Decision {
  std::string site;              // as Choices::choose() names it, "ack-delay"
  std::string actor;             // a component's name, or "thread/N" by the order in which threads were made
  std::uint64_t occurrence = 0;  // as Occurrences counts
  std::uint32_t answer = 0;      // 1 … alternatives - 1
  std::uint32_t alternatives = 0;
  std::int64_t time_ps = 0;      // when it was asked; tells people where to look, and takes part in nothing

  friend bool operator==(const Decision&, const Decision&) = default;
};

// The occurrence of a decision for people, counted from 1: "8", or "8, part 3" for the third question of that detail.
std::string number_of(const Decision& decision);

// Numbers the questions of all actors: how many times the actor has chosen at the site before; of a detail how many times it
// had chosen at the site whose detail it is, in steps of kDetailStep, and how many times at the detail since.
class Occurrences {
 public:
  // `site` is a literal: the view is kept.
  std::uint64_t next(std::string_view site, ComponentId actor);

 private:
  struct Stream {
    bool is_detail = false;
    std::uint64_t asked = 0;
    const Stream* choice = nullptr;      // whose detail it is, as soon as that has been asked
    std::uint64_t choices = 0, part = 0;  // how often it had been when this was asked last, and how often this was since
  };
  ChoiceStreams<Stream> streams_;
};

// A question that was asked, whatever the answer. A long run has very many.
struct ChoicePoint {
  std::uint32_t stream = 0;        // index into Questions::streams
  std::uint32_t alternatives = 0;  // 2 …
  std::uint64_t occurrence = 0;    // as Decision's; those of the stream that had one answer only count, too
  friend bool operator==(const ChoicePoint&, const ChoicePoint&) = default;
};

// All questions of a run with more than one answer, in the order in which they were asked.
struct Questions {
  struct Stream {
    std::string site, actor;
    std::uint64_t asked = 0;
    std::uint64_t decided = 0;   // of them, how many were not answered by the default
  };
  static constexpr std::size_t kMostPoints = 200'000;  // those after are counted in their stream alone

  std::vector<Stream> streams;   // in the order of their first question
  std::vector<ChoicePoint> points;
  std::string digest;  // of the run: of two with the same the programs and the fabric have done the same; empty: not known
  std::uint64_t asked() const;
};

// The name under which a decision knows the actor with this id.
std::string actor_name(const ComponentTable& components, ComponentId actor);

}  // namespace verbatim::explore
