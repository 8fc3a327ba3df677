// Injected failures: calls of programs that fail, or transfer less than possible, without an error in the
// program. They need free choices and are limited by a budget per host. The budget is per host because only
// the calls of one host have the same order in every execution mode.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

#include "sim/core/choice.h"
#include "sim/core/ids.h"

namespace verbatim {

class FailingCalls {
 public:
  explicit FailingCalls(Choices& choices) : choices_(choices) {}
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  // Maximum number of failing calls on each host; 0: none.
  void set_budget(std::uint64_t calls) { budget_ = calls; }
  // Failing calls so far, on all hosts.
  std::uint64_t count() const { return count_; }
  // Whether the call of a program on `host` that has reached this site fails.
  bool choose(std::string_view site, ComponentId actor, ComponentId host) {
    if (budget_ == 0 || !choices_.is_free()) return false;
    std::uint64_t& left = left_.try_emplace(host, budget_).first->second;
    if (left == 0 || choices_.choose(site, actor, 2) == 0) return false;
    --left;
    ++count_;
    return true;
  }
  // Size of a short transfer of `all` bytes: 1 … all - 1; `all` is at least 2.
  std::uint64_t choose_part(std::string_view site, ComponentId actor, std::uint64_t all) {
    constexpr std::uint64_t kMost = 1u << 31;
    return 1 + choices_.choose(site, actor, static_cast<std::uint32_t>(std::min(all - 1, kMost)));
  }

 private:
  Choices& choices_;
  std::uint64_t budget_ = 0, count_ = 0;
  std::map<ComponentId, std::uint64_t> left_;
};

}  // namespace verbatim
