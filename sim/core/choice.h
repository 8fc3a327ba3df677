// Interface for every freedom that the specification leaves open. Exploration, replay and shrinking all
// work on it. The default answer is 0, which every site defines as the behaviour that a ConnectX user sees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/choice_streams.h"
#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/core/rng.h"
#include "sim/core/time.h"

namespace verbatim {

// A site with a slash in its name refines the choice before the slash: "gather-delay/turn" refines
// "gather-delay". It is asked only after non-default answers to that choice.
constexpr bool is_detail(std::string_view site) { return site.find('/') != site.npos; }

class Choices {
 public:
  virtual ~Choices() = default;
  // Returns one of 0 … n-1 at `site` (a fixed name such as "ack-delay") for `actor`; n >= 1. A choice is
  // identified by (actor, site, number of earlier choices of this actor at this site). A site is therefore
  // allowed only where every execution mode of the same run makes the actor's choices in the same order.
  std::uint32_t choose(std::string_view site, ComponentId actor, std::uint32_t n) {
    return is_free_ ? draw(site, actor, n) : 0;
  }
  // Whether an answer other than 0 is possible.
  bool is_free() const { return is_free_; }

 protected:
  explicit Choices(bool is_free = true) : is_free_(is_free) {}

 private:
  virtual std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) = 0;
  const bool is_free_;  // asked at every site of every packet
};

class DefaultChoices final : public Choices {
 public:
  DefaultChoices() : Choices(false) {}

 private:
  std::uint32_t draw(std::string_view, ComponentId, std::uint32_t) override { return 0; }
};

// A site at which an operation may take longer than necessary: a delay of zero, or one of sixteen steps in
// each octave from `least` on. Short and long delays are equally likely, and two delays are rarely equal.
struct DelaySite {
  std::string_view name;
  Duration least;
  std::uint32_t octaves;

  static constexpr std::uint32_t kSteps = 16;
  constexpr Duration delay(std::uint32_t answer) const {
    if (answer == 0) return Duration::zero();
    const std::uint32_t octave = (answer - 1) / kSteps, step = (answer - 1) % kSteps;
    return (least * (std::int64_t{1} << octave)) * (kSteps + step) / kSteps;
  }
  Duration choose(Choices& choices, ComponentId actor) const {
    if (!choices.is_free()) return Duration::zero();
    return delay(choices.choose(name, actor, 1 + kSteps * octaves));
  }
};

// Choices drawn from a seed. Each site has one of four rates for a run: never, rarely (1/16), often (4/16)
// or always. Many races show only while everything else behaves normally (swarm testing: Groce et al.,
// ISSTA 2012). The rate of a site and the stream of each (actor, site) follow from seed and names. Sites
// with a slash always draw.
class SeededChoices final : public Choices {
 public:
  // Actor ids beyond the component table are threads, numbered from its end.
  SeededChoices(std::uint64_t root_seed, std::vector<std::string> component_names)
      : root_seed_(root_seed), components_(std::move(component_names)) {}

 private:
  // `site` is a literal: the view is stored.
  std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) override;
  struct Stream {
    Rng rng;
    std::uint32_t rate;  // how many of 16 choices may leave the default; 0 … 16
  };
  Stream make_stream(std::string_view site, ComponentId actor) const;

  const std::uint64_t root_seed_;
  const ComponentTable components_;
  ChoiceStreams<Stream> streams_;
};

}  // namespace verbatim
