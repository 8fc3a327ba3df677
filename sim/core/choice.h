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
  // As choose(); random choices return answers from `usual` on rarely.
  std::uint32_t choose_with_rare(std::string_view site, ComponentId actor, std::uint32_t n, std::uint32_t usual) {
    return is_free_ ? draw_with_rare(site, actor, n, usual) : 0;
  }
  // Whether an answer other than 0 is possible.
  bool is_free() const { return is_free_; }

 protected:
  explicit Choices(bool is_free = true) : is_free_(is_free) {}

 private:
  virtual std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) = 0;
  // Choosers that do not distinguish rare answers need not override it.
  virtual std::uint32_t draw_with_rare(std::string_view site, ComponentId actor, std::uint32_t n, std::uint32_t) {
    return draw(site, actor, n);
  }
  const bool is_free_;  // asked at every site of every packet
};

class DefaultChoices final : public Choices {
 public:
  DefaultChoices() : Choices(false) {}

 private:
  std::uint32_t draw(std::string_view, ComponentId, std::uint32_t) override { return 0; }
};

// A site at which an operation may take longer than necessary: a delay of zero, or one of sixteen steps in
// each octave from `least` on. Short and long delays are equally likely, and two delays are rarely equal. Delays
// of the last `rare_octaves` are drawn seldom; the actor limits their number in a run (RareDelays).
struct DelaySite {
  std::string_view name;
  Duration least;
  std::uint32_t octaves;
  std::uint32_t rare_octaves = 0;

  static constexpr std::uint32_t kSteps = 16;
  constexpr Duration delay(std::uint32_t answer) const {
    if (answer == 0) return Duration::zero();
    const std::uint32_t octave = (answer - 1) / kSteps, step = (answer - 1) % kSteps;
    return (least * (std::int64_t{1} << octave)) * (kSteps + step) / kSteps;
  }
  constexpr std::uint32_t alternatives() const { return 1 + kSteps * octaves; }
  constexpr std::uint32_t usual() const { return 1 + kSteps * (octaves - rare_octaves); }
  Duration choose(Choices& choices, ComponentId actor) const {
    if (!choices.is_free()) return Duration::zero();
    return delay(choose_answer(choices, actor));
  }
  std::uint32_t choose_answer(Choices& choices, ComponentId actor) const {
    return rare_octaves == 0 ? choices.choose(name, actor, alternatives())
                             : choices.choose_with_rare(name, actor, alternatives(), usual());
  }
};

// The number of rare delays that one actor has had at one site. Beyond the limit it gets the longest usual delay
// instead. Each site of an actor counts for itself, because only questions of one site have the same order in every
// execution mode.
class RareDelays {
 public:
  static constexpr std::uint32_t kMost = 2;

  Duration choose(const DelaySite& site, Choices& choices, ComponentId actor) {
    if (!choices.is_free()) return Duration::zero();
    const std::uint32_t answer = site.choose_answer(choices, actor);
    const bool is_too_many = answer >= site.usual() && ++count_ > kMost;
    return site.delay(is_too_many ? site.usual() - 1 : answer);
  }

 private:
  std::uint32_t count_ = 0;
};

// Choices drawn from a seed. Each site has one of four rates for a run: never, rarely (1/16), often (4/16) or
// always. Many races show only while everything else behaves normally (swarm testing: Groce et al., ISSTA
// 2012). The rate of a site and the stream of each (actor, site) follow from seed and names. Sites with a
// slash always draw. A site has rare answers in half of all runs; there one in sixteen non-default answers is
// a rare one, and the others are the same as without rare answers.
class SeededChoices final : public Choices {
 public:
  // Actor ids beyond the component table are threads, numbered from its end.
  SeededChoices(std::uint64_t root_seed, std::vector<std::string> component_names)
      : root_seed_(root_seed), components_(std::move(component_names)) {}

 private:
  // `site` is a literal: the view is stored.
  std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) override {
    return draw_with_rare(site, actor, n, n);
  }
  std::uint32_t draw_with_rare(std::string_view site, ComponentId actor, std::uint32_t n, std::uint32_t usual) override;
  struct Stream {
    Rng rng;
    std::uint32_t rate;  // how many of 16 choices may leave the default; 0 … 16
    bool has_rare = false;
  };
  Stream make_stream(std::string_view site, ComponentId actor) const;

  const std::uint64_t root_seed_;
  const ComponentTable components_;
  ChoiceStreams<Stream> streams_;
};

}  // namespace verbatim
