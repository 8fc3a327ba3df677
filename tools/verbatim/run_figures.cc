#include "tools/verbatim/run_figures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/ib/wc_status.h"
#include "tools/verbatim/nearest_rank.h"

namespace verbatim::cli {

namespace {

void add_messages(RecordedFigures& figures, const RunPicture& picture) {
  std::vector<std::int64_t> latencies;
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const RunPicture::Request& request : picture.requests) {
    const std::int64_t from = request.begin_ps(), to = request.end_ps();
    if (from < 0 || to < from || request.status != 0) continue;
    times.emplace_back(from, to);
    latencies.push_back(to - from);
    figures.bytes += request.bytes;
  }
  figures.messages = latencies.size();
  if (latencies.empty()) return;
  std::ranges::sort(times);
  std::int64_t last = 0;
  for (const auto& [from, to] : times) {
    figures.busy_ps += std::max<std::int64_t>(0, to - std::max(from, last));
    last = std::max(last, to);
  }
  std::ranges::sort(latencies);
  figures.p50_ps = nearest_rank(latencies, 50);
  figures.p99_ps = nearest_rank(latencies, 99);
  figures.longest_ps = latencies.back();
}

// Packets that adapters sent again, from run.json; nullopt without it (a trace).
std::optional<std::uint64_t> packets_sent_again(const nlohmann::json& report) {
  if (!report.is_object()) return std::nullopt;
  const auto losses = report.find("losses");
  if (losses == report.end() || !losses->is_object()) return std::nullopt;
  const auto count = losses->find("packets_sent_again");
  if (count == losses->end() || !count->is_number_unsigned()) return std::nullopt;
  return count->get<std::uint64_t>();
}

}  // namespace

std::optional<double> RecordedFigures::throughput() const {
  if (messages == 0 || busy_ps <= 0) return std::nullopt;
  return static_cast<double>(bytes) * 8e12 / static_cast<double>(busy_ps);
}

RecordedFigures figures_of(const RecordedRun& run, const RunPicture& picture) {
  RecordedFigures figures;
  figures.packets = picture.packets;
  add_messages(figures, picture);
  for (const RunPicture::Row& row : picture.rows) {
    if (row.bytes == 0) continue;
    figures.repeated_packets += (row.flags & RunPicture::kRetransmission) != 0 ? 1 : 0;
    figures.rnr_naks += (row.flags & RunPicture::kRnrNak) != 0 ? 1 : 0;
  }
  for (const observe::TraceLine& line : run.lines) {
    if (line.event == "packet-dropped") {
      ++figures.drops;
    } else if (line.event == "retransmission") {
      ++figures.retries;
    } else if (line.event == "completion") {
      const std::uint64_t status = observe::number_of(line, "status");
      ++figures.completions;
      figures.failed_completions += status != 0 ? 1 : 0;
      figures.flushed_completions += status == static_cast<unsigned>(ib::WcStatus::kWorkRequestFlushed) ? 1 : 0;
    }
  }
  if (const auto sent_again = packets_sent_again(run.report)) figures.repeated_packets = *sent_again;
  return figures;
}

nlohmann::ordered_json to_json(const RecordedFigures& figures) {
  nlohmann::ordered_json json = {{"messages", figures.messages},
                                 {"bytes", figures.bytes},
                                 {"busy_ps", figures.busy_ps},
                                 {"bits_per_second", nullptr},
                                 {"p50_ps", figures.p50_ps},
                                 {"p99_ps", figures.p99_ps},
                                 {"longest_ps", figures.longest_ps},
                                 {"packets", figures.packets},
                                 {"drops", figures.drops},
                                 {"retries", figures.retries},
                                 {"repeated_packets", figures.repeated_packets},
                                 {"rnr_naks", figures.rnr_naks},
                                 {"completions", figures.completions},
                                 {"failed_completions", figures.failed_completions},
                                 {"flushed_completions", figures.flushed_completions}};
  if (const auto throughput = figures.throughput()) json["bits_per_second"] = static_cast<std::uint64_t>(*throughput);
  return json;
}

}  // namespace verbatim::cli
