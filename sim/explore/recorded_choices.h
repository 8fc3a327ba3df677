// Records the questions to another chooser, and its answers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/explore/decision.h"

namespace verbatim::explore {

class RecordedChoices final : public Choices {
 public:
  // `chooser` answers; it must outlive this. Default answers are not recorded as decisions.
  RecordedChoices(Choices& chooser, std::vector<std::string> component_names)
      : Choices(chooser.is_free()), chooser_(chooser), components_(std::move(component_names)) {}

  // Decisions are stamped with the time of `engine`, which must outlive the last question.
  void set_clock(const Engine& engine) { engine_ = &engine; }

  std::vector<Decision> decisions() const;
  const Questions& questions() const { return questions_; }

 private:
  std::uint32_t draw(std::string_view site, ComponentId actor, std::uint32_t n) override {
    return record(site, actor, n, chooser_.choose(site, actor, n));
  }
  std::uint32_t draw_with_rare(std::string_view site, ComponentId actor, std::uint32_t n, std::uint32_t usual) override {
    return record(site, actor, n, chooser_.choose_with_rare(site, actor, n, usual));
  }
  std::uint32_t record(std::string_view site, ComponentId actor, std::uint32_t n, std::uint32_t answer);

  Choices& chooser_;
  const ComponentTable components_;
  const Engine* engine_ = nullptr;
  Occurrences occurrences_;
  ChoiceStreams<std::uint32_t> streams_;  // indices into questions_.streams
  // A decision without the names of its stream, because a long run makes very many.
  struct Noted {
    ChoicePoint point;
    std::uint32_t answer = 0;
    std::int64_t time_ps = 0;
  };
  std::vector<Noted> noted_;
  Questions questions_;
};

}  // namespace verbatim::explore
