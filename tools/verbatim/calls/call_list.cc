#include "tools/verbatim/calls/call_list.h"

#include <sys/syscall.h>

#include <algorithm>

#include "sim/core/words.h"

namespace verbatim::cli {

namespace {

constexpr const char* kUnfinished = " <unfinished ...>";

std::string decimal(std::int64_t ps, std::int64_t unit_ps, bool trims) {
  std::string digits = std::to_string(ps % unit_ps + unit_ps).substr(1);
  if (trims) digits.erase(digits.find_last_not_of('0') + 1);
  return std::to_string(ps / unit_ps) + (digits.empty() ? "" : "." + digits);
}

std::string in_milliseconds(std::int64_t ps) { return decimal(ps, 1'000'000'000, false) + " ms"; }

// "1.2 us"
std::string duration_text(std::int64_t ps) {
  if (ps < 1'000'000) return decimal(ps, 1'000, true) + " ns";
  if (ps < 1'000'000'000) return decimal(ps, 1'000'000, true) + " us";
  if (ps < 1'000'000'000'000) return decimal(ps, 1'000'000'000, true) + " ms";
  return decimal(ps, 1'000'000'000'000, true) + " s";
}

// "1,234"
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

bool is_execution(const supervisor::ProgramCall& event) {
  return event.call.kind == protocol::ReportedCallKind::kSystemCall &&
         (event.call.number == SYS_execve || event.call.number == SYS_execveat);
}

}  // namespace

void CallList::on_call(const supervisor::ProgramCall& event) {
  Caller& caller = callers_[{event.pid, event.tid}];
  if (caller.who.empty()) caller.who = join(event.host, " ", event.pid, "/", event.tid);
  if (event.call.step != protocol::ReportedCallStep::kBegins) return end(caller, event);
  begin(caller, {event.place, to_ps(event.now), order_++, is_execution(event) ? event.call.number : 0,
                 text_of(event.call, event.read)});
}

void CallList::begin(Caller& caller, Begun begun) {
  auto& inside = caller.begun;
  if (std::ranges::any_of(
          inside, [](const Begun& one) { return one.number != 0; })) {  // the first call after execve()
    leave(caller, static_cast<std::size_t>(
                      std::ranges::find_if(inside, [](const Begun& one) { return one.number != 0; }) -
                      inside.begin() + 1));
    add(caller, inside.back(), " = 0");
    inside.pop_back();
    leave(caller, 0);
  }
  // The program has left a call by longjmp(), because it makes a call at the same stack address again.
  const auto same = std::ranges::find(inside, begun.place, &Begun::place);
  leave(caller, static_cast<std::size_t>(same - inside.begin()));
  inside.push_back(std::move(begun));
}

void CallList::end(Caller& caller, const supervisor::ProgramCall& event) {
  auto& inside = caller.begun;
  const auto same = std::ranges::find(inside, event.place, &Begun::place);
  if (same == inside.end()) return;
  leave(caller, static_cast<std::size_t>(same - inside.begin()) + 1);
  Begun begun = std::move(inside.back());
  inside.pop_back();
  add_result(begun.text, event.call, event.read);
  const std::int64_t now_ps = to_ps(event.now);
  std::string rest = begun.text.result;
  if (now_ps > begun.time_ps) rest += " <" + duration_text(now_ps - begun.time_ps) + ">";
  if (begun.text.subject.empty()) {
    end_rows(caller);
    return add(caller, begun, rest);
  }
  const auto [found, is_first] = caller.rows.try_emplace(begun.text.subject);
  if (is_first) return add(caller, begun, rest);
  Row& row = found->second;
  if (row.more++ == 0) {
    row.since_ps = begun.time_ps;
    row.order = begun.order;
    row.one = begun.text.call() + rest;
  }
  row.until_ps = now_ps;
}

void CallList::add(const Caller& caller, const Begun& begun, const std::string& rest) {
  lines_.push_back({begun.time_ps, begun.order, caller.who + " " + begun.text.call() + rest});
}

// The caller's open calls except the outermost `kept` never ended.
void CallList::leave(Caller& caller, std::size_t kept) {
  while (caller.begun.size() > kept) {
    end_rows(caller);
    add(caller, caller.begun.back(), kUnfinished);
    caller.begun.pop_back();
  }
}

void CallList::end_rows(Caller& caller) {
  for (const auto& [subject, row] : caller.rows) {
    if (row.more == 0) continue;
    const std::string text = row.more == 1 ? row.one
                                           : join("... ", grouped(row.more), " more ", subject, ", until ",
                                                  in_milliseconds(row.until_ps));
    lines_.push_back({row.since_ps, row.order, caller.who + " " + text});
  }
  caller.rows.clear();
}

void CallList::finish(const std::function<void(const std::string& line)>& write) {
  for (auto& [id, caller] : callers_) {
    leave(caller, 0);
    end_rows(caller);
  }
  std::ranges::sort(lines_, {}, [](const Line& line) { return std::pair(line.time_ps, line.order); });
  for (const Line& line : lines_) write(in_milliseconds(line.time_ps) + " " + line.text + "\n");
  lines_.clear();
  callers_.clear();
}

}  // namespace verbatim::cli
