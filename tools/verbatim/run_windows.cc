#include "tools/verbatim/run_windows.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "sim/ib/aeth.h"

namespace verbatim::cli {

namespace {

using observe::TraceLine;

std::int64_t first_known(std::int64_t a, std::int64_t b, std::int64_t c) { return a >= 0 ? a : b >= 0 ? b : c; }

bool has(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }

// A changing level, and its maximum in each part.
class LevelBins {
 public:
  explicit LevelBins(const RunPicture& picture) : picture_(picture) {}
  void set(std::int64_t time_ps, std::int64_t level) {
    level_ = level;
    most_ = std::max(most_, level);
    bins_.begin_level(picture_.bin_of(time_ps), level);
  }
  std::int64_t level() const { return level_; }
  Outstanding finish(int column) { return {column, static_cast<std::uint32_t>(most_), std::move(bins_)}; }

 private:
  const RunPicture& picture_;
  BinnedValues bins_{BinnedValues::Join::kMost};
  std::int64_t level_ = 0, most_ = 0;
};

void take_credits(Credits& credits, const RunPicture& picture, std::int64_t time_ps, std::int64_t count) {
  credits.fewest = credits.fewest < 0 ? count : std::min(credits.fewest, count);
  if (time_ps < picture.first_packet_ps) return;
  const std::size_t bin = picture.bin_of(time_ps);
  credits.least.put(bin, count);
  credits.most.put(bin, count);
}

}  // namespace

std::vector<Outstanding> outstanding_of(const RunPicture& picture) {
  constexpr std::int64_t kNever = INT64_MAX;
  std::map<int, std::vector<std::pair<std::int64_t, int>>> steps;  // by column
  for (const RunPicture::Request& request : picture.requests) {
    const std::int64_t from = first_known(request.rung, request.posted, request.fetched);
    if (from < 0) continue;
    steps[request.column].emplace_back(from, 1);
    steps[request.column].emplace_back(first_known(request.completed, request.acknowledged, kNever), -1);
  }
  std::vector<Outstanding> all;
  for (auto& [column, own] : steps) {
    std::ranges::sort(own);  // at one time ends precede starts
    LevelBins level(picture);
    for (const auto& [time, step] : own) {
      if (time != kNever) level.set(time, level.level() + step);
    }
    all.push_back(level.finish(column));
  }
  return all;
}

std::vector<Outstanding> unacknowledged_of(const RunPicture& picture) {
  constexpr std::int64_t kPsns = 1 << 24;
  struct Step {
    std::int64_t time_ps;
    bool is_answer;
    std::int64_t first, last;  // PSNs; a READ uses those of its response
  };
  std::map<int, std::vector<Step>> steps;  // by column
  std::set<int> answered;
  for (const RunPicture::Row& row : picture.rows) {
    if (row.bytes == 0 || row.to < 0) continue;
    const std::string& opcode = picture.strings[row.text];
    if (opcode == "CNP") continue;  // has PSN 0, and is never acknowledged
    const bool is_answer = has(opcode, "Acknowledge") || has(opcode, "Response");
    const auto psn = static_cast<std::int64_t>(row.psn);
    if (!is_answer) {
      const bool is_read = has(opcode, "Read") && row.request >= 0;
      const auto request = static_cast<std::size_t>(is_read ? row.request : 0);
      const auto last = is_read ? static_cast<std::int64_t>(picture.requests[request].last_psn) : psn;
      steps[row.from].push_back({row.time_ps, false, psn, last});
    } else if (row.end_ps >= 0 && (row.flags & (RunPicture::kDropped | RunPicture::kNak | RunPicture::kRnrNak)) == 0) {
      answered.insert(row.to);
      steps[row.to].push_back({row.end_ps, true, psn, psn});
    }
  }
  std::vector<Outstanding> all;
  for (const int column : answered) {
    std::vector<Step>& own = steps[column];
    std::ranges::stable_sort(own, {}, &Step::time_ps);
    LevelBins level(picture);
    std::int64_t next = -1, open = -1;  // the PSN after the last one sent, and the first unacknowledged one
    const auto ahead = [](std::int64_t from, std::int64_t to) { return (to - from + kPsns) % kPsns; };
    for (const Step& step : own) {
      const std::int64_t after = (step.last + 1) % kPsns;
      if (next < 0) {
        if (step.is_answer) continue;
        next = open = step.first;
      }
      std::int64_t& moves = step.is_answer ? open : next;
      if (ahead(moves, after) < kPsns / 2) moves = after;
      const std::int64_t under_way = ahead(open, next);
      level.set(step.time_ps, under_way < kPsns / 2 ? under_way : 0);
    }
    all.push_back(level.finish(column));
  }
  return all;
}

std::vector<PeerCredits> peer_credits_of(const RecordedRun& run, const RunPicture& picture) {
  std::map<std::pair<std::string, std::uint64_t>, int> columns;
  for (std::size_t i = 0; i < picture.columns.size(); ++i)
    columns[{picture.columns[i].host, picture.columns[i].qpn}] = static_cast<int>(i);
  std::map<int, PeerCredits> all;
  for (const TraceLine& line : run.lines) {
    if (line.event != "ack-received" || !line.component.starts_with("hca/")) continue;
    const auto syndrome = static_cast<std::uint8_t>(observe::number_of(line, "syndrome"));
    const auto column = columns.find({line.component.substr(4), observe::number_of(line, "qpn")});
    if (column == columns.end() || ib::ack_kind(syndrome) != ib::AckKind::kAck) continue;
    const auto credits = ib::credits_of(ib::ack_value(syndrome));
    if (!credits) continue;
    PeerCredits& own = all[column->second];
    own.column = column->second;
    take_credits(own, picture, line.time_ps, *credits);
  }
  std::vector<PeerCredits> list;
  for (auto& [column, credits] : all) list.push_back(std::move(credits));
  return list;
}

std::vector<LinkCredits> link_credits_of(const RecordedRun& run, const RunPicture& picture, std::size_t most) {
  std::map<std::pair<std::string, std::uint64_t>, LinkCredits> all;
  for (const TraceLine& fact : run.facts) {
    if (fact.event != "credits") continue;
    const std::uint64_t lane = observe::number_of(fact, "vl");
    LinkCredits& own = all[{fact.component, lane}];
    own.port = fact.component;
    own.lane = static_cast<std::uint32_t>(lane);
    own.of = static_cast<std::uint32_t>(observe::number_of(fact, "of"));
    take_credits(own, picture, fact.time_ps, static_cast<std::int64_t>(observe::number_of(fact, "blocks")));
  }
  std::vector<LinkCredits> list;
  for (auto& [place, credits] : all) list.push_back(std::move(credits));
  if (list.size() <= most) return list;
  const auto share = [](const LinkCredits& one) {
    return static_cast<double>(one.fewest) / static_cast<double>(std::max(1u, one.of));
  };
  std::ranges::stable_sort(list, {}, share);
  list.resize(most);
  std::ranges::sort(list, {}, [](const LinkCredits& one) { return std::pair(one.port, one.lane); });
  return list;
}

}  // namespace verbatim::cli
