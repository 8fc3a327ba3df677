// Threads and adapters that use the same memory or objects at the same time.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/advice/rules.h"

namespace verbatim::cli::rules {

namespace {

using observe::number_of;
using observe::TraceLine;

// "before storing 4 bytes at 0x555555559140, which become 0x1 meanwhile and were 0x0"
struct Access {
  std::string place, text;
  std::uint64_t address = 0, size = 0;
  bool is_changed = false, stores = false, is_buffered = false;
};

std::optional<Access> access_of(const std::string& place) {
  Access access;
  const std::size_t at = place.find(" bytes at 0x");
  if (at == place.npos) return std::nullopt;
  const std::size_t size = place.rfind(' ', at - 1);
  for (const std::string_view word :
       {", before touching ", ", before storing ", ", between reading and writing ", ", its store of "}) {
    const std::size_t begin = place.find(word);
    if (begin == place.npos) continue;
    access.place = place.substr(0, begin);
    access.text = place.substr(begin + 2);
  }
  access.size = observe::number_in(std::string_view(place).substr(size + 1));
  access.address = observe::number_in(std::string_view(place).substr(at + 10));
  access.is_changed = place.find(", which become ") != place.npos;
  access.stores = place.find(", before touching ") == place.npos;
  access.is_buffered = place.find("store buffer") != place.npos;
  return access;
}

bool covers(const TraceLine& write, std::uint64_t address, std::uint64_t size) {
  const std::uint64_t va = number_of(write, "va"), length = number_of(write, "length");
  return va < address + size && address < va + length;
}

bool is_destructive(const ThreadCall& call) {
  static constexpr std::string_view kNames[] = {"ibv_destroy_qp", "ibv_destroy_cq",   "ibv_destroy_srq",
                                                "ibv_destroy_ah", "ibv_dereg_mr",     "ibv_dealloc_pd",
                                                "ibv_dealloc_mw", "ibv_close_device", "exit_group"};
  return std::ranges::find(kNames, call.name) != std::end(kNames);
}

bool is_sleep(const ThreadCall& call) { return call.name == "nanosleep" || call.name == "clock_nanosleep"; }

}  // namespace

Found accesses_of_threads(const Evidence& evidence) {
  Found possible, buffered;
  for (const Evidence::Difference& difference : evidence.differences()) {
    const explore::Decision& decision = difference.decision;
    if (!decision.site.starts_with("thread-before-access")) continue;
    const auto access = access_of(evidence.places().of(decision));
    const auto end_ps = evidence.places().end_of(decision);
    if (!access || !end_ps) continue;
    const std::int64_t from_ps = evidence.held_from(decision);
    const std::uint32_t tid = evidence.places().thread_of(decision);
    const auto mine = std::ranges::find(evidence.calls(), tid, &ThreadCall::tid);
    const std::string host = mine == evidence.calls().end() ? "" : mine->host;
    const std::string who = join("thread ", tid, host.empty() ? "" : " of " + host);
    if (access->is_buffered) {
      // The store next to the failure is the one that matters.
      buffered = Advice{
          join(who, " at ", access->place, ": ", access->text,
               ". Another thread does not see the store yet, and this one does not see "
               "what the other one stores meanwhile"),
          "put a full fence between the store and the later load, in both threads: atomic_thread_fence(memory_order_seq_cst), or make both "
          "accesses atomic operations of that order, or use a lock",
          evidence.is_minimal()};
      continue;
    }
    if (!access->is_changed) continue;
    const std::string is_held = join(who, " is held at ", access->place, ", ", access->text, ": ");
    const auto written = std::ranges::find_if(evidence.trace(), [&](const TraceLine& line) {
      return line.time_ps >= from_ps && line.time_ps <= *end_ps && line.event == "dma-write" &&
             host_in(line.component) == host && covers(line, access->address, access->size);
    });
    Advice advice;
    if (written != evidence.trace().end()) {
      advice = {
          join(is_held, "the adapter writes there at ", time_text(written->time_ps),
               access->stores ? ", and the thread works with what was there before"
                              : ", so the thread reads other bytes than it would have without this time"),
          "the adapter and the processor use these bytes at the same time: wait for the completion of the message before the program "
          "reads or changes them, and give what each of them writes a place of its own"};
    } else {
      std::set<std::uint32_t> others;
      for (const ThreadCall& call : evidence.calls()) {
        const bool is_meanwhile = call.begin_ps <= *end_ps && call.end_ps >= from_ps;
        if (mine != evidence.calls().end() && call.pid == mine->pid && call.tid != tid && is_meanwhile)
          others.insert(call.tid);
      }
      advice = {
          join(is_held, others.size() == 1 ? join("thread ", *others.begin()) : std::string("another thread"),
               " changes them in this time, ",
               access->stores ? "so the thread works with an outdated value"
                              : "so what the thread reads here does not fit what it has read before"),
          "hold one lock from the first access to the last, in every thread that uses these bytes; for a single counter or flag an atomic "
          "read-modify-write operation is enough (atomic_fetch_add, atomic_compare_exchange)"};
    }
    if (access->stores) return advice;
    advice.is_proven = false;
    if (!possible) possible = std::move(advice);
  }
  if (buffered || !possible) return buffered;
  // Both causes are only possible. A thread that slept while this one was held explains why it was too early; a lock
  // would not make it wait.
  Found slept = sleep_is_no_order(evidence);
  return slept ? slept : possible;
}

Found atomics_and_processor(const Evidence& evidence) {
  // Bytes that an atomic has left in a word, and those that the next atomic has found there. Only words that
  // a single queue pair changes, with one atomic at a time, are judged: then each atomic belongs to the
  // response after its request.
  struct Word {
    std::string left;
    std::int64_t left_ps = 0;
    std::set<std::uint64_t> queue_pairs;
  };
  std::map<std::pair<std::string, std::uint64_t>, Word> words;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> executed;  // atomics, by host and queue pair
  const auto is_atomic = [](std::string_view opcode) {
    return opcode.starts_with("Fetch") || opcode.starts_with("Compare");
  };
  const Trace& trace = evidence.trace();
  for (const TraceLine& line : trace) {
    if (line.time_ps > evidence.end().time_ps) break;
    if (line.event != "dma-write" || line.value("length") != "8") continue;
    const auto placed = evidence.placed_by(line);
    if (!placed || placed->is_response) continue;
    const std::string host = host_in(line.component);
    const TraceLine* const request = evidence.last_request(host, placed->qpn, line.time_ps);
    Word& word = words[{line.component, number_of(line, "va")}];
    word.queue_pairs.insert(placed->qpn);
    if (request == nullptr || !is_atomic(request->value("opcode"))) {
      word.left.clear();
      continue;
    }
    ++executed[{host, placed->qpn}];
    const auto requests = std::ranges::count_if(trace, [&](const TraceLine& one) {
      return one.time_ps <= line.time_ps && one.event == "packet-received" &&
             one.component.starts_with("port/" + host + ":") && number_of(one, "dest_qp") == placed->qpn &&
             is_atomic(one.value("opcode"));
    });
    const auto answer = std::ranges::find_if(trace, [&](const TraceLine& one) {
      if (one.time_ps < request->time_ps || one.event != "dma-write" || one.component == line.component ||
          one.value("length") != "8")
        return false;
      const auto answered = evidence.placed_by(one);
      return answered && answered->is_response;
    });
    const bool is_sure =
        static_cast<std::size_t>(requests) == executed[{host, placed->qpn}] && word.queue_pairs.size() == 1;
    if (is_sure && answer != trace.end() && !word.left.empty() && answer->bytes != word.left) {
      return Advice{
          join(
              "atomics of an adapter change the 8 bytes at ", line.value("va"), " of ", host,
              ", and between those of ", time_text(word.left_ps), " and ", time_text(line.time_ps),
              " the program of ", host,
              " stores there with the processor: the later atomic does not find what the earlier one has left. An atomic that is "
              "executed between the load and the store of the processor is lost"),
          "an adapter's atomics are atomic only towards accesses by the same adapter (atomic_cap of ibv_query_device): change the word "
          "only by its atomics, on this host by a queue pair that is connected to itself, or keep what the processor changes in another word"};
    }
    word.left = line.bytes;
    word.left_ps = line.time_ps;
  }
  return std::nullopt;
}

Found use_after_destroy(const Evidence& evidence) {
  for (const Evidence::Difference& difference : evidence.differences()) {
    const explore::Decision& decision = difference.decision;
    if (!decision.site.starts_with("thread-")) continue;
    const auto end_ps = evidence.places().end_of(decision);
    const std::int64_t from_ps = evidence.held_from(decision);
    const std::uint32_t tid = evidence.places().thread_of(decision);
    const auto mine = std::ranges::find(evidence.calls(), tid, &ThreadCall::tid);
    if (!end_ps || mine == evidence.calls().end() || !evidence.has_failed(mine->pid)) continue;
    for (const ThreadCall& call : evidence.calls()) {
      const bool is_meanwhile = call.begin_ps >= from_ps && call.begin_ps <= *end_ps;
      if (call.pid != mine->pid || call.tid == tid || !is_meanwhile || !is_destructive(call)) continue;
      const std::string place = evidence.places().of(decision);
      return Advice{
          join("thread ", tid, " of ", mine->host, place.empty() ? "" : " is held at " + place, " from ",
               time_text(from_ps), " to ", time_text(*end_ps), ", and thread ", call.tid, " calls ",
               evidence.text_of(call), " at ", time_text(call.begin_ps), " meanwhile: thread ", tid,
               " still uses what is being destroyed"),
          join("let thread ", call.tid, " wait until thread ", tid,
               " has ended (pthread_join), or has passed its last use, before it destroys anything")};
    }
  }
  return std::nullopt;
}

Found destroyed_while_handled(const Evidence& evidence) {
  const RunReport::Program* const failed = evidence.report().first_failed();
  if (evidence.end().hangs() || failed == nullptr || failed->how.find("signal") == std::string::npos) return std::nullopt;
  // Each thread handles what its last poll has returned.
  std::map<std::uint32_t, const ThreadCall*> last_polls;
  for (const ThreadCall& call : evidence.calls()) {
    if (evidence.has_failed(call.pid) && call.polled() > 0) last_polls[call.tid] = &call;
  }
  for (const auto& [tid, poll] : last_polls) {
    for (const ThreadCall& destroy : evidence.calls()) {
      if (destroy.pid != poll->pid || destroy.tid == tid || destroy.name != "ibv_destroy_qp" || destroy.end_ps < poll->begin_ps) continue;
      const std::uint64_t qpn = evidence.queue_pair_of(destroy);
      const auto polled = evidence.completions_of(*poll);
      const bool is_of_destroyed = std::ranges::any_of(polled, [&](const TraceLine* line) { return number_of(*line, "qpn") == qpn; });
      if (!is_of_destroyed) continue;
      return Advice{
          join("thread ", tid, " of ", poll->host, " polls a completion of QP ", qpn, " at ", time_text(poll->begin_ps), ", and thread ", destroy.tid,
               " calls ", evidence.text_of(destroy), " at ", time_text(destroy.begin_ps), ". The program is ended at ",
               time_text(evidence.end().time_ps), ", before thread ", tid,
               " polls again: it handles the completion while thread ", destroy.tid, " releases what belongs to the connection"),
          join("release a connection (queue pair, regions, buffers, rdma_cm_id) only when no thread handles a completion of it: let thread ", tid,
               " release it, after its last completion, or let thread ", destroy.tid,
               " wait until thread ", tid, " has said that it is done with the connection"),
          false};
    }
  }
  return std::nullopt;
}

Found sleep_is_no_order(const Evidence& evidence) {
  for (const Evidence::Difference& difference : evidence.differences()) {
    const explore::Decision& decision = difference.decision;
    // A thread that is woken late may have slept itself.
    if (!decision.site.starts_with("thread-before-")) continue;
    const auto end_ps = evidence.places().end_of(decision);
    const std::int64_t from_ps = evidence.held_from(decision);
    const std::uint32_t tid = evidence.places().thread_of(decision);
    const auto mine = std::ranges::find(evidence.calls(), tid, &ThreadCall::tid);
    if (!end_ps || mine == evidence.calls().end() || !evidence.has_failed(mine->pid)) continue;
    const ThreadCall* sleep = nullptr;
    std::size_t sleeps = 0;
    for (const ThreadCall& call : evidence.calls()) {
      const bool ends_meanwhile = call.end_ps >= from_ps && call.end_ps < *end_ps;
      if (call.pid != mine->pid || call.tid == tid || !is_sleep(call) || !ends_meanwhile) continue;
      sleep = &call;
      ++sleeps;
    }
    // A thread that sleeps again and again waits for something else.
    if (sleeps != 1 || 2 * (sleep->end_ps - sleep->begin_ps) < *end_ps - from_ps) continue;
    const auto next = std::ranges::find_if(evidence.calls(), [&](const ThreadCall& call) {
      return call.tid == sleep->tid && call.begin_ps >= sleep->end_ps && &call != sleep;
    });
    if (next == evidence.calls().end() || next->begin_ps >= *end_ps) continue;
    const std::string place = evidence.places().of(decision);
    return Advice{
        join("thread ", tid, " of ", mine->host, " is held", place.empty() ? "" : " at " + place, " from ",
             time_text(from_ps), " to ", time_text(*end_ps), "; meanwhile thread ", sleep->tid, " has slept for ",
             time_text(sleep->end_ps - sleep->begin_ps), " and goes on at ", time_text(sleep->end_ps), " with ",
             evidence.text_of(*next), ": the sleep does not wait for thread ", tid),
        join(
            "do not take a time that has passed for a sign that another thread is done, because a thread may be held for milliseconds: let thread ",
            sleep->tid, " wait for thread ", tid,
            " itself (pthread_join, a condition variable, or a count of the users of what both use)"),
        false};
  }
  return std::nullopt;
}

Found posts_while_closing(const Evidence& evidence) {
  for (const ThreadCall& close : evidence.calls()) {
    if (close.name != "ibv_modify_qp" || close.arguments.find(", ERR") == std::string::npos ||
        !evidence.has_failed(close.pid))
      continue;
    const std::uint64_t qpn = evidence.queue_pair_of(close);
    std::size_t posts = 0;
    const ThreadCall* post = nullptr;
    for (const ThreadCall& call : evidence.calls()) {
      if (call.pid != close.pid || call.tid == close.tid || call.name != "ibv_post_send" ||
          call.number_of("QP ") != qpn)
        continue;
      if (call.begin_ps < close.begin_ps) continue;
      post = &call;
      ++posts;
    }
    if (post == nullptr || posts == 0) continue;
    const std::string place = evidence.posted_at("hca/" + post->host, qpn, post->end_ps);
    return Advice{
        join("thread ", close.tid, " of ", close.host, " moves QP ", qpn, " to ERR at ",
             time_text(close.begin_ps), ", and thread ", post->tid,
             place.empty() ? "" : " (at " + place + ")", " posts ", posts,
             posts == 1 ? " more request" : " more requests", " to it, the last one at ",
             time_text(post->begin_ps),
             ": their completions come although the program has counted its requests before"),
        join(
            "stop thread ", post->tid,
            " (or exclude it by a lock) before the outstanding requests are counted and the queue pair is moved to "
            "ERR; then poll until all of them have completed"),
        false};
  }
  return std::nullopt;
}

Found atomics_on_memory(const Evidence& evidence) {
  const std::string& host = evidence.end().host;
  if (host.empty()) return std::nullopt;
  const TraceLine *first = nullptr, *last = nullptr;
  std::size_t count = 0;
  for (const TraceLine& line : evidence.trace()) {
    if (line.time_ps > evidence.end().time_ps) break;
    if (line.event != "dma-write" || line.component != "hca/" + host || line.value("length") != "8") continue;
    const auto placed = evidence.placed_by(line);
    if (!placed || placed->is_response || (first != nullptr && first->value("va") != line.value("va"))) continue;
    const TraceLine* const request = evidence.last_request(host, placed->qpn, line.time_ps);
    const std::string_view opcode = request == nullptr ? std::string_view() : request->value("opcode");
    if (!opcode.starts_with("Fetch") && !opcode.starts_with("Compare")) continue;
    if (first == nullptr) first = &line;
    last = &line;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return Advice{join("the adapter of ", host, " executes ", count, count == 1 ? " atomic" : " atomics", " on the 8 bytes at ", first->value("va"),
                     ", from ", time_text(first->time_ps), " to ", time_text(last->time_ps),
                     ". It reads and writes them at two moments: if the program of ", host,
                     " changes them with the processor as well, what it stores between the two is lost, and so is an atomic between its own load and "
                     "store"),
                "an adapter's atomics are atomic only towards accesses by the same adapter (atomic_cap of ibv_query_device): change the word only by "
                "its atomics, on this host by a queue pair that is connected to itself, or keep what the processor changes in another word",
                false};
}

}  // namespace verbatim::cli::rules
