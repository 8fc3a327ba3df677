#include "tools/verbatim/run_sides.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "sim/core/words.h"

namespace verbatim::cli {

namespace {

using observe::TraceLine;

constexpr std::int64_t kLongestJoined = 1'000'000'000'000;  // ps
constexpr std::int64_t kTogether = 1'000'000;  // ps: closer writes are shown as one
constexpr std::int64_t kWaitSteps = 1 << 20;   // divides the time with packets: shorter waits are joined

class SideFinder {
 public:
  SideFinder(const RecordedRun& run, const RunPicture& picture) : run_(run), picture_(picture) {
    for (std::size_t i = 0; i < picture.columns.size(); ++i)
      columns_[{picture.columns[i].host, picture.columns[i].qpn}] = static_cast<int>(i);
    resolution_ = std::max<std::int64_t>(1, (picture.last_packet_ps - picture.first_packet_ps) / kWaitSteps);
  }

  RunSides find() {
    for (const TraceLine& line : run_.lines) add_life(line);
    for (const TraceLine& fact : run_.facts) add(fact);
    std::ranges::sort(sides_.queues, {}, [](const RunSides::Queue& queue) { return std::tie(queue.host, queue.name); });
    std::ranges::stable_sort(sides_.waits, {}, [](const RunSides::Wait& wait) { return std::pair(wait.thread, wait.from_ps); });
    for (RunSides::Thread& thread : sides_.threads) {
      const auto ended = ends_.find(thread.pid);
      if (ended != ends_.end()) thread.to_ps = ended->second;
    }
    return std::move(sides_);
  }

 private:
  static std::string name_of(const TraceLine& fact) { return fact.component.substr(fact.component.find('/') + 1); }

  // Adds processes from their start and end; the first thread has the process's id.
  void add_life(const TraceLine& line) {
    const std::uint64_t pid = observe::number_of(line, "pid");
    if (line.event == "program-started") thread_of(name_of(line), pid, pid, line.time_ps);
    if (line.event == "program-exited") ends_[pid] = line.time_ps;
  }

  void add(const TraceLine& fact) {
    const std::string_view event = fact.event;
    if (event == "level") return add_level(fact);
    if (event == "placement") return add_write(fact);
    if (event == "wait") return add_wait(fact);
    const auto number = [&](std::string_view name) { return observe::number_of(fact, name); };
    const std::string host = name_of(fact);
    if (event == "region") {
      sides_.regions.push_back({.host = host, .process = number("process"), .handle = number("handle"), .va = number("va"),
                                .iova = number("iova"), .length = number("length"), .access = number("access"),
                                .lkey = number("lkey"), .rkey = number("rkey"), .from_ps = fact.time_ps});
    } else if (event == "region-ends") {
      for (RunSides::Region& region : sides_.regions) {
        const bool is_it = region.host == host && region.process == number("process") && region.handle == number("handle");
        if (is_it && region.to_ps < 0) region.to_ps = fact.time_ps;
      }
    } else if (event == "completion-queue") {
      entries_[{host, join("CQ ", number("number"))}] = number("entries");
    } else if (event == "queue-pair") {
      entries_[{host, join("RQ of QP ", number("number"))}] = number("receive");
    } else if (event == "shared-receive-queue") {
      entries_[{host, join("SRQ ", number("number"))}] = number("entries");
    } else if (event == "node") {
      sides_.nodes.push_back({std::string(fact.value("name")), fact.value("kind") == "switch"});
    } else if (event == "link") {
      std::string rate(fact.value("rate"));
      std::ranges::replace(rate, '_', ' ');
      sides_.cables.push_back({std::string(fact.value("a")), std::string(fact.value("b")), rate});
    }
  }

  void add_level(const TraceLine& fact) {
    const std::string_view of = fact.value("of");
    const std::string name = join(of == "cq" ? "CQ " : of == "srq" ? "SRQ " : "RQ of QP ", fact.value("number"));
    const auto [known, is_new] = queues_.try_emplace({name_of(fact), name}, sides_.queues.size());
    if (is_new) {
      RunSides::Queue& queue = sides_.queues.emplace_back();
      queue.host = name_of(fact);
      queue.name = name;
      queue.is_receive = of != "cq";
      queue.entries = static_cast<std::uint32_t>(entries_[{queue.host, name}]);
    }
    RunSides::Queue& queue = sides_.queues[known->second];
    const auto level = static_cast<std::int64_t>(observe::number_of(fact, "level"));
    queue.least_of_all = queue.least_of_all < 0 ? level : std::min(queue.least_of_all, level);
    queue.most_of_all = std::max(queue.most_of_all, level);
    if (fact.time_ps < picture_.first_packet_ps) return;
    const std::size_t bin = picture_.bin_of(fact.time_ps);
    queue.least.put(bin, level);
    queue.most.put(bin, level);
  }

  void add_write(const TraceLine& fact) {
    const std::string host = name_of(fact);
    const std::uint64_t va = observe::number_of(fact, "va"), length = observe::number_of(fact, "length");
    const std::uint64_t process = observe::number_of(fact, "process");
    const bool is_response = fact.value("response") == "1";
    const auto column = columns_.find({host, observe::number_of(fact, "qpn")});
    const std::int32_t region = region_of(host, process, va, fact.time_ps);
    if (region >= 0) sides_.regions[static_cast<std::size_t>(region)].written += length;
    const auto last = last_write_.find(host);
    if (last != last_write_.end()) {
      RunSides::Write& before = sides_.writes[last->second];
      const bool is_alike = before.region == region && before.is_response == is_response &&
                            (column == columns_.end() || before.column == column->second);
      const bool goes_on = is_alike && before.va + before.length == va && fact.time_ps - before.to_ps < kTogether;
      if (goes_on) {
        before.length += length;
        before.to_ps = fact.time_ps;
        return;
      }
    }
    if (sides_.writes.size() == RunSides::kMostWrites) {
      ++sides_.writes_left_out;
      last_write_.erase(host);
      return;
    }
    last_write_[host] = sides_.writes.size();
    const int where = column == columns_.end() ? -1 : column->second;
    sides_.writes.push_back({fact.time_ps, fact.time_ps, region, va, length, where, is_response});
  }

  // The smallest registered region that contains the byte.
  std::int32_t region_of(const std::string& host, std::uint64_t process, std::uint64_t va, std::int64_t time_ps) const {
    std::int32_t best = -1;
    for (std::size_t i = 0; i < sides_.regions.size(); ++i) {
      const RunSides::Region& region = sides_.regions[i];
      if (region.host != host || region.process != process || va < region.va || va - region.va >= region.length) continue;
      if (region.to_ps >= 0 && region.to_ps < time_ps) continue;
      if (best < 0 || region.length < sides_.regions[static_cast<std::size_t>(best)].length) best = static_cast<std::int32_t>(i);
    }
    return best;
  }

  std::uint32_t thread_of(const std::string& host, std::uint64_t pid, std::uint64_t tid, std::int64_t time_ps) {
    const auto [known, is_new] = threads_.try_emplace({host, tid}, static_cast<std::uint32_t>(sides_.threads.size()));
    if (is_new) sides_.threads.push_back({host, pid, tid, time_ps, -1});
    return known->second;
  }

  void add_wait(const TraceLine& fact) {
    const std::int64_t from = observe::picoseconds_of(fact.value("since"));
    if (from < 0) return;
    const std::uint32_t thread = thread_of(name_of(fact), observe::number_of(fact, "pid"), observe::number_of(fact, "tid"), from);
    std::string what(fact.value("what"));
    std::ranges::replace(what, '_', ' ');
    put_wait({thread, from, fact.time_ps, fact.time_ps - from, 1, std::move(what)});
    // If there are too many waits, longer ones are joined as well.
    while (sides_.waits.size() > RunSides::kMostWaits && resolution_ < kLongestJoined) {
      resolution_ *= 2;
      last_wait_.clear();
      for (RunSides::Wait& wait : std::exchange(sides_.waits, {})) put_wait(std::move(wait));
    }
  }

  void put_wait(RunSides::Wait wait) {
    const auto last = last_wait_.find(wait.thread);
    if (last != last_wait_.end()) {
      RunSides::Wait& before = sides_.waits[last->second];
      const bool is_short = before.to_ps - before.from_ps < resolution_ || wait.to_ps - wait.from_ps < resolution_;
      if (before.what == wait.what && wait.from_ps - before.to_ps < resolution_ && is_short) {
        before.to_ps = wait.to_ps;
        // Waits of a thread do not overlap, but those of a damaged file may.
        if (__builtin_add_overflow(before.waited_ps, wait.waited_ps, &before.waited_ps))
          before.waited_ps = std::numeric_limits<std::int64_t>::max();
        before.count += wait.count;
        return;
      }
    }
    last_wait_[wait.thread] = sides_.waits.size();
    sides_.waits.push_back(std::move(wait));
  }

  const RecordedRun& run_;
  const RunPicture& picture_;
  RunSides sides_;
  std::int64_t resolution_ = 1;
  std::map<std::pair<std::string, std::uint64_t>, int> columns_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> entries_;
  std::map<std::pair<std::string, std::string>, std::size_t> queues_;
  std::map<std::string, std::size_t> last_write_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint32_t> threads_;
  std::map<std::uint64_t, std::int64_t> ends_;
  std::map<std::uint32_t, std::size_t> last_wait_;
};

}  // namespace

RunSides sides_of(const RecordedRun& run, const RunPicture& picture) { return SideFinder(run, picture).find(); }

}  // namespace verbatim::cli
