#include "tools/verbatim/advice/evidence.h"

#include <algorithm>
#include <charconv>

namespace verbatim::cli {

namespace {

using observe::number_of;
using observe::TraceLine;

// "100.368384000" in picoseconds; negative if it is no time.
std::int64_t picoseconds_of_ms(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == text.npos || text.size() != dot + 10 || dot > 12) return -1;
  std::int64_t whole = 0, part = 0;
  const auto parse = [](std::string_view digits, std::int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0;
  };
  if (!parse(text.substr(0, dot), whole) || !parse(text.substr(dot + 1), part) || whole > 9'000'000)
    return -1;
  return whole * 1'000'000'000 + part;
}

// "91.17 ns" in picoseconds.
std::int64_t duration_of(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == text.npos) return 0;
  double value = 0;
  std::from_chars(text.data(), text.data() + blank, value);
  const std::string_view unit = text.substr(blank + 1);
  return static_cast<std::int64_t>(value * (unit == "ns"   ? 1e3
                                            : unit == "us" ? 1e6
                                            : unit == "ms" ? 1e9
                                                           : 1e12) +
                                   0.5);
}

std::optional<ThreadCall> thread_call_of(std::string_view line) {
  ThreadCall call;
  const auto take = [&line](std::string_view end) {
    const std::size_t at = line.find(end);
    const std::string_view part = line.substr(0, at);
    line.remove_prefix(at == line.npos ? line.size() : at + end.size());
    return part;
  };
  call.begin_ps = picoseconds_of_ms(take(" ms "));
  if (call.begin_ps < 0) return std::nullopt;
  call.host = take(" ");
  call.pid = static_cast<std::uint32_t>(observe::number_in(take("/")));
  call.tid = static_cast<std::uint32_t>(observe::number_in(take(" ")));
  if (line.starts_with("... ")) return std::nullopt;
  call.name = take("(");
  constexpr std::string_view kUnfinished = " <unfinished ...>";
  const bool is_unfinished = line.ends_with(kUnfinished);
  if (is_unfinished) line.remove_suffix(kUnfinished.size());
  const std::size_t result = is_unfinished ? line.npos : line.rfind(") = ");
  if (result != line.npos) {
    std::string_view text = line.substr(result + 4);
    call.end_ps = call.begin_ps;
    if (const std::size_t took = text.rfind(" <"); took != text.npos && text.ends_with(">")) {
      call.end_ps += duration_of(text.substr(took + 2, text.size() - took - 3));
      text = text.substr(0, took);
    }
    call.result = text;
  }
  call.arguments = line.substr(0, result);
  if (result == line.npos && call.arguments.ends_with(")")) call.arguments.pop_back();
  if (call.name.empty() || call.pid == 0) return std::nullopt;
  return call;
}

bool is_before(const TraceLine& line, std::int64_t time_ps) { return line.time_ps < time_ps; }

bool is_request(std::string_view opcode) {
  return opcode.find("Acknowledge") == opcode.npos && opcode.find("Response") == opcode.npos;
}

}  // namespace

std::string host_in(std::string_view component) {
  std::string_view host = component.substr(component.find('/') + 1);
  if (component.starts_with("port/")) host = host.substr(0, host.rfind(':'));
  return std::string(host.substr(0, host.find('/')));
}

std::uint64_t ThreadCall::number_of(std::string_view what) const {
  const std::size_t at = arguments.find(what);
  return at == arguments.npos ? 0 : observe::number_in(std::string_view(arguments).substr(at + what.size()));
}

std::size_t ThreadCall::polled() const {
  const bool is_next = name == "ibv_start_poll" || name == "ibv_next_poll";
  if (name != "ibv_poll_cq" && !is_next) return 0;
  const std::size_t list = result.find('[');
  if (list == result.npos) return 0;
  return is_next ? 1 : static_cast<std::size_t>(observe::number_in(result));
}

std::string ThreadCall::text() const {
  return name + "(" + arguments + (result.empty() ? ")" : ") = " + result);
}

std::vector<ThreadCall> thread_calls_of(std::string_view list) {
  std::vector<ThreadCall> calls;
  while (!list.empty()) {
    const std::size_t end = list.find('\n');
    if (auto call = thread_call_of(list.substr(0, end))) calls.push_back(std::move(*call));
    list.remove_prefix(end == list.npos ? list.size() : end + 1);
  }
  return calls;
}

Evidence::Evidence(Run failing, std::vector<Run> without, const std::vector<explore::Decision>& decisions,
                   std::vector<ThreadCall> calls, const Places& places, const RunReport& report, bool is_minimal)
    : failing_(std::move(failing)),
      without_(std::move(without)),
      calls_(std::move(calls)),
      places_(places),
      report_(report),
      is_minimal_(is_minimal),
      end_(find_end()) {
  std::erase_if(calls_, [this](const ThreadCall& call) { return call.begin_ps > end_.time_ps; });
  const Trace& with = failing_.trace;
  for (std::size_t i = 0; i < std::min(without_.size(), decisions.size()); ++i) {
    const Trace& other = without_[i].trace;
    std::size_t first = 0;
    while (first < with.size() && first < other.size() && with[first] == other[first]) ++first;
    // A run that hangs may be the beginning of the run without the decision.
    if (first < other.size() && !without_[i].fails_alike)
      differences_.push_back({decisions[i], i + 1, without_[i], first});
  }
}

FailureEnd Evidence::find_end() const {
  const RunReport::Program* const failed = report_.first_failed();
  const bool has_ended = failed != nullptr && failed->ended_ps != std::numeric_limits<std::int64_t>::max();
  if (!has_ended) return {"", 0, failing_.trace.empty() ? 0 : failing_.trace.back().time_ps};
  FailureEnd end{failed->label.substr(0, failed->label.rfind('.')), 0, failed->ended_ps};
  for (const TraceLine& line : failing_.trace) {
    if (line.event != "program-exited" || line.time_ps > failed->ended_ps) continue;
    if (failed->label != host_in(line.component) && end.host != host_in(line.component)) continue;
    if (line.value("exit_code") == "0" && line.value("signal") == "0") continue;
    end.host = host_in(line.component);
    end.pid = static_cast<std::uint32_t>(number_of(line, "pid"));
    end.time_ps = line.time_ps;
    break;
  }
  return end;
}

std::int64_t Evidence::held_from(const explore::Decision& decision) const {
  const auto until_ps = places_.end_of(decision);
  const std::uint32_t tid = places_.thread_of(decision);
  std::int64_t from_ps = decision.time_ps;
  for (const ThreadCall& call : calls_) {
    if (until_ps && tid != 0 && call.tid == tid && call.end_ps < *until_ps) from_ps = std::max(from_ps, call.end_ps);
  }
  return from_ps;
}

const ThreadCall* Evidence::last_call(const std::function<bool(const ThreadCall&)>& condition) const {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (has_failed(call->pid) && condition(*call)) return &*call;
  }
  return nullptr;
}

const ThreadCall* Evidence::last_poll() const {
  return last_call([](const ThreadCall& call) { return call.polled() > 0; });
}

std::vector<const TraceLine*> Evidence::completions_of(const ThreadCall& poll) const {
  const std::uint64_t cqn = poll.number_of("CQ ");
  std::size_t before = 0;
  for (const ThreadCall& call : calls_) {
    const bool is_earlier = call.end_ps < poll.end_ps || (call.end_ps == poll.end_ps && &call < &poll);
    if (call.host == poll.host && call.number_of("CQ ") == cqn && is_earlier) before += call.polled();
  }
  std::vector<const TraceLine*> all;
  const std::string component = "hca/" + poll.host;
  for (const TraceLine& line : failing_.trace) {
    if (line.event != "completion" || line.component != component || observe::number_of(line, "cqn") != cqn)
      continue;
    if (before > 0) {
      --before;
    } else if (all.size() < poll.polled()) {
      all.push_back(&line);
    }
  }
  if (all.size() != poll.polled()) all.clear();
  return all;
}

std::string Evidence::posted_at(std::string_view component, std::uint64_t qpn, std::int64_t until_ps,
                                std::optional<std::uint64_t> wr_id) const {
  return places_.of_post(component, qpn, until_ps, wr_id);
}

std::optional<Evidence::Placed> Evidence::placed_by(const Run& run, const TraceLine& write) {
  const auto begin = std::lower_bound(run.facts.begin(), run.facts.end(), write.time_ps, is_before);
  for (auto fact = begin; fact != run.facts.end() && fact->time_ps == write.time_ps; ++fact) {
    if (fact->event != "placement" || fact->component != write.component) continue;
    if (number_of(*fact, "va") != number_of(write, "va") ||
        number_of(*fact, "length") != number_of(write, "length"))
      continue;
    return Placed{number_of(*fact, "qpn"), fact->value("response") == "1"};
  }
  return std::nullopt;
}

std::uint64_t Evidence::queue_pair_of(std::string_view host, std::uint32_t pid, std::uint64_t handle,
                                      std::int64_t until_ps) const {
  std::uint64_t found = 0;
  for (const TraceLine& fact : failing_.facts) {
    if (fact.time_ps > until_ps) break;
    if (fact.event != "queue-pair" || host_in(fact.component) != host || number_of(fact, "process") != pid)
      continue;
    if (number_of(fact, "handle") == handle) found = number_of(fact, "number");
  }
  return found;
}

std::uint64_t Evidence::queue_pair_of(const ThreadCall& call) const {
  if (const std::uint64_t number = call.number_of("QP "); number != 0) return number;
  return call.arguments.find("handle ") == std::string::npos
             ? 0
             : queue_pair_of(call.host, call.pid, call.number_of("handle "), call.begin_ps);
}

std::string Evidence::text_of(const ThreadCall& call) const {
  std::string text = call.text();
  const std::string handle = "handle " + std::to_string(call.number_of("handle "));
  const bool is_of_queue_pair = call.name == "ibv_destroy_qp" || call.name == "ibv_modify_qp" || call.name == "ibv_query_qp";
  const std::uint64_t qpn = is_of_queue_pair ? queue_pair_of(call) : 0;
  const std::size_t at = text.find(handle);
  return qpn == 0 || at == text.npos ? text : text.replace(at, handle.size(), "QP " + std::to_string(qpn));
}

std::optional<bool> Evidence::is_of_receive(const Run& run, const TraceLine& completion) {
  const auto is_of_queue = [&](const TraceLine& line, std::string_view event) {
    return line.event == event && line.component == completion.component && line.value("cqn") == completion.value("cqn") &&
           line.value("qpn") == completion.value("qpn");
  };
  // Several completions of one time are in the same order in both.
  std::size_t before = 0;
  const auto records = std::lower_bound(run.trace.begin(), run.trace.end(), completion.time_ps, is_before);
  for (auto line = records; line != run.trace.end() && &*line != &completion; ++line) before += is_of_queue(*line, "completion") ? 1 : 0;
  const auto facts = std::lower_bound(run.facts.begin(), run.facts.end(), completion.time_ps, is_before);
  for (auto fact = facts; fact != run.facts.end() && fact->time_ps == completion.time_ps; ++fact) {
    if (!is_of_queue(*fact, "completed")) continue;
    if (before-- == 0) return fact->value("receive") == "1";
  }
  return std::nullopt;
}

bool Evidence::is_of_send(const TraceLine& completion) const {
  if (const auto is_receive = is_of_receive(failing_, completion)) return !*is_receive;
  std::uint64_t send_cq = 0, recv_cq = 0;  // handles
  for (const TraceLine& fact : failing_.facts) {
    if (fact.time_ps > completion.time_ps) break;
    if (fact.component != completion.component || fact.event != "queue-pair" ||
        fact.value("number") != completion.value("qpn"))
      continue;
    send_cq = number_of(fact, "send_cq");
    recv_cq = number_of(fact, "recv_cq");
  }
  if (send_cq == recv_cq) return places_.is_of_send(completion);
  std::uint64_t handle = 0;
  for (const TraceLine& fact : failing_.facts) {
    if (fact.time_ps > completion.time_ps) break;
    if (fact.component != completion.component || fact.event != "completion-queue") continue;
    if (fact.value("number") == completion.value("cqn")) handle = number_of(fact, "handle");
  }
  return handle == send_cq;
}

const TraceLine* Evidence::last_request(std::string_view host, std::uint64_t qpn,
                                        std::int64_t until_ps) const {
  const TraceLine* found = nullptr;
  for (const TraceLine& line : failing_.trace) {
    if (line.time_ps > until_ps) break;
    if (line.event != "packet-received" || !line.component.starts_with("port/") ||
        host_in(line.component) != host)
      continue;
    if (number_of(line, "dest_qp") == qpn && is_request(line.value("opcode"))) found = &line;
  }
  return found;
}

}  // namespace verbatim::cli
