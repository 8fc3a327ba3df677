#include "sim/supervisor/wait_graph.h"

#include <algorithm>
#include <map>
#include <vector>

#include "sim/core/words.h"

namespace verbatim::supervisor {

namespace {

// The thread with this cause that has waited longest; the first of several.
const BlockedThread* first_with(std::span<const BlockedThread> threads, WaitCause cause) {
  const BlockedThread* found = nullptr;
  for (const BlockedThread& thread : threads) {
    if (thread.cause == cause && (found == nullptr || thread.since < found->since)) found = &thread;
  }
  return found;
}

// Pids of a circle: each process waits for the next, and the last for the first. Empty: there is none.
std::vector<std::uint32_t> circle_of(const std::map<std::uint32_t, std::vector<std::uint32_t>>& waits_for) {
  for (const auto& [start, ignored] : waits_for) {
    std::vector<std::uint32_t> path;
    for (std::uint32_t at = start; waits_for.contains(at) && !waits_for.at(at).empty(); at = waits_for.at(at).front()) {
      const auto met = std::ranges::find(path, at);
      if (met != path.end()) return {met, path.end()};
      path.push_back(at);
    }
  }
  return {};
}

}  // namespace

HangCause cause_of_hang(std::span<const BlockedThread> threads, bool for_ever) {
  for (const WaitCause cause : {WaitCause::kOwn, WaitCause::kUnfinished, WaitCause::kPeer}) {
    if (const BlockedThread* found = first_with(threads, cause))
      return {join(found->who, ": ", found->explanation), cause == WaitCause::kPeer, cause == WaitCause::kUnfinished};
  }
  if (!for_ever) return {};
  std::map<std::uint32_t, std::vector<std::uint32_t>> waits_for;
  std::map<std::uint32_t, std::string> names;
  for (const BlockedThread& thread : threads) {
    names.try_emplace(thread.process, thread.process_name);
    std::vector<std::uint32_t>& list = waits_for[thread.process];
    list.insert(list.end(), thread.waits_for.begin(), thread.waits_for.end());
  }
  const std::vector<std::uint32_t> circle = circle_of(waits_for);
  if (circle.empty()) return {};
  if (circle.size() == 1) return {names[circle.front()] + " waits for itself"};
  std::string text;
  for (const std::uint32_t process : circle) text += names[process] + " -> ";
  return {join(text, names[circle.front()], ": each waits for the next one to send something, and none of them sends first")};
}

}  // namespace verbatim::supervisor
