// Makes the given choices at the named sites, and default choices elsewhere.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "sim/core/choice.h"

namespace verbatim::test {

struct ScriptedChoices final : Choices {
  std::map<std::string, std::uint32_t, std::less<>> answers;
  std::map<std::string, std::uint32_t, std::less<>> answers_once;  // before those
  std::map<std::string, int, std::less<>> asked;

 private:
  std::uint32_t draw(std::string_view site, ComponentId, std::uint32_t n) override {
    ++asked[std::string(site)];
    if (const auto it = answers_once.find(site); it != answers_once.end()) {
      const std::uint32_t answer = it->second;
      answers_once.erase(it);
      return std::min(answer, n - 1);
    }
    const auto it = answers.find(site);
    return it == answers.end() ? 0 : std::min(it->second, n - 1);
  }
};

}  // namespace verbatim::test
