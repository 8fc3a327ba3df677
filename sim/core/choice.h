// Every freedom the specification leaves is asked of this interface, so that exploring, replaying and
// shrinking need no second mechanism. The default answer is 0, which every site defines as what a ConnectX
// user sees.
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

// A site with a slash in its name is a detail of the choice whose site is before it: "gather-delay/turn" of "gather-delay". It is
// asked only after answers to that one that are not the default.
constexpr bool is_detail(std::string_view site) { return site.find('/') != site.npos; }

class Choices {
 public:
  virtual ~Choices() = default;
  // One of 0 … n-1 at `site` (a fixed name such as "ack-delay") for `actor`; n >= 1. A choice is known by
  // (actor, site, how many times this actor has chosen at this site before), so a site may only stand where
  // every way to run the same thing comes by in the same order.
  std::uint32_t choose(std::string_view site, ComponentId actor, std::uint32_t n) {
    return is_free_ ? draw(site, actor, n) : 0;
  }
  // Whether any other answer than 0 may come.
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

// A site at which something may take longer than it has to: not at all, or one of sixteen steps in each
// octave from `least` on, so that short and long delays are equally likely and hardly two are the same.
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

// Choices from a seed. A run uses each freedom in a measure of its own: not at all, rarely, often or all the
// time, for many a race shows only while everything else behaves (swarm testing: Groce et al., ISSTA 2012).
// The measure of a site, and the stream of each (actor, site), follow from seed and names. Details are drawn evenly.
class SeededChoices final : public Choices {
 public:
  // Actors beyond the table are threads, numbered from its end.
  SeededChoices(std::uint64_t root_seed, std::vector<std::string> component_names)
      : root_seed_(root_seed), components_(std::move(component_names)) {}

 private:
  // `site` is a literal: the view is kept.
  std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) override;
  struct Stream {
    Rng rng;
    std::uint32_t measure;  // of 16 choices, how many are not left at the default; 0 … 16
  };
  Stream make_stream(std::string_view site, ComponentId actor) const;

  const std::uint64_t root_seed_;
  const ComponentTable components_;
  ChoiceStreams<Stream> streams_;
};

}  // namespace verbatim
