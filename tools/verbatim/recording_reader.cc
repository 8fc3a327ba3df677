// Converts a recording to the lines of a run's folder.
#include <algorithm>
#include <map>

#include "sim/core/input_file.h"
#include "sim/core/words.h"
#include "sim/observe/microseconds.h"
#include "sim/observe/recording.h"
#include "sim/observe/text_trace_sink.h"
#include "tools/verbatim/call_line.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/recording_kinds.h"
#include "tools/verbatim/run_json.h"

namespace verbatim::cli {

namespace {

// Memory for the lines of a recording of this size. A record takes a few bytes in the file and some 200 as a
// line; repetitive runs have up to a few hundred records for each byte. Like most_recorded_bytes(): a
// constant plus a factor that long runs stay below.
constexpr std::size_t most_memory(std::size_t file_bytes) { return (std::size_t{512} << 20) + 8192 * file_bytes; }

using EventsByName = std::map<std::string_view, TraceEvent>;

EventsByName events_by_name() {
  EventsByName events;
  for (std::size_t i = 0; i < kTraceEventCount; ++i) {
    const auto event = static_cast<TraceEvent>(i);
    events[names_of(event).name] = event;
  }
  return events;
}

class RecordingReader {
 public:
  RecordingReader(RecordedRun* run, WantsEvent wants, std::size_t file_bytes)
      : run_(run), wants_(wants), room_(most_memory(file_bytes)) {}

  observe::RecordingVisitor visitor() {
    return {.on_entry = [this](const auto& entry, const auto& strings) { return on_entry(entry, strings); },
            .on_line = [this](observe::RecordedLine of, std::string_view text) { return on_line(of, text); },
            .on_file = [this](std::string_view name, std::string_view content) { return on_file(name, content); }};
  }

  observe::RecordingResult finish(observe::RecordingResult result) {
    sort(run_->lines);
    sort(run_->facts);
    if (problem_.empty()) return result;
    return {observe::RecordingResult::Kind::kUnusable, problem_};
  }

 private:
  // Sorts by time, stably. Few lines are late: these are sorted separately and merged.
  static void sort(std::vector<observe::TraceLine>& lines) {
    std::vector<observe::TraceLine> late;
    if (std::ranges::is_sorted(lines, {}, &observe::TraceLine::time_ps)) return;
    std::int64_t last = INT64_MIN;
    std::size_t kept = 0;
    for (observe::TraceLine& line : lines) {
      if (line.time_ps < last) {
        late.push_back(std::move(line));
        continue;
      }
      last = line.time_ps;
      if (&lines[kept] != &line) lines[kept] = std::move(line);
      ++kept;
    }
    lines.resize(kept);
    std::ranges::stable_sort(late, {}, &observe::TraceLine::time_ps);
    // From the end: lines in order precede late lines with the same time.
    std::size_t from = kept;
    lines.resize(kept + late.size());
    for (std::size_t to = lines.size(); !late.empty();) {
      const bool takes_late = from == 0 || lines[from - 1].time_ps <= late.back().time_ps;
      lines[--to] = std::move(takes_late ? late.back() : lines[--from]);
      if (takes_late) late.pop_back();
    }
  }

  // Stops reading; always returns false.
  bool stop(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool keep(std::vector<observe::TraceLine>& lines, observe::TraceLine line) {
    const std::size_t bytes = sizeof line + line.component.size() + line.event.size() + line.values.size() + line.bytes.size();
    if (bytes > room_) return stop("has more records than a recording of its size may have");
    room_ -= bytes;
    lines.push_back(std::move(line));
    return true;
  }

  bool on_line(observe::RecordedLine of, std::string_view text) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    auto line = observe::parse_trace_line(text);
    return !line || keep(of == observe::RecordedLine::kFacts ? run_->facts : run_->lines, std::move(*line));
  }

  bool on_file(std::string_view name, std::string_view content) {
    if (name == kOverviewFile && !content.empty()) {
      std::string problem;
      if (!run_->overview.emplace().read(content, &problem)) return stop("is damaged: its overview of the run: " + problem);
      return true;
    }
    if (name != "run.json") return true;
    if (content.size() > InputFile::kMostDocument) return stop("is damaged: its run.json is larger than " + size_text(InputFile::kMostDocument));
    std::string failure;
    auto report = parse_run_json(content, "its run.json", &failure);
    if (!report) return stop("is damaged: " + failure);
    run_->report = std::move(*report);
    return true;
  }

  // Skips unknown kinds and shapes of entries, which other versions may write.
  bool on_entry(const observe::RecordedEntry& entry, const std::vector<std::string>& strings) {
    const std::string_view kind = entry.kind;
    const std::span<const std::uint64_t> values = entry.values;
    const std::int64_t time_ps = entry.time_ps;
    const auto text = [&](std::uint64_t number) { return number < strings.size() ? std::string_view(strings[number]) : "-"; };
    if (wants_ != nullptr && !wants_(kind)) return true;
    observe::TraceLine line{time_ps, std::string(entry.component), std::string(kind), "", ""};
    static const EventsByName events = events_by_name();
    if (const auto event = events.find(kind); event != events.end()) {
      TraceRecord record{time_ps, 0, event->second, {}};
      std::ranges::copy(values, record.values);
      line.values = observe::values_text(record);
      if (event->second == TraceEvent::kProgramOutput && entry.component.starts_with("host/") && values.size() == 3) {
        const std::string host = line.component.substr(5, line.component.find('/', 5) - 5);
        run_->outputs[host + (values[1] == 2 ? " stderr" : " stdout")] += entry.bytes;
      }
      return keep(run_->lines, std::move(line));
    }
    if (kind == kPlacementName && values.size() == 4) {
      line.values = join("process=", values[0], " va=", values[1], " length=", values[2], " qpn=", values[3] >> 1,
                         " response=", values[3] & 1);
      return keep(run_->facts, std::move(line));
    }
    if (kind == kWaitName && values.size() == 4) {
      if (values[2] > static_cast<std::uint64_t>(time_ps)) return true;  // it would begin before the run
      line.values = join("pid=", values[0], " tid=", values[1], " since=",
                         observe::microseconds(time_ps - static_cast<std::int64_t>(values[2])), " what=", text(values[3]));
      return keep(run_->facts, std::move(line));
    }
    if (kind == kCreditsName && values.size() == 3) {
      line.values = join("vl=", values[0], " blocks=", values[1], " of=", values[2]);
      return keep(run_->facts, std::move(line));
    }
    if (kind == kOutputQueueName && values.size() == 2) {
      line.values = join("vl=", values[0], " bytes=", values[1]);
      return keep(run_->facts, std::move(line));
    }
    if (kind == kMarkName && values.size() == 1) {
      line.values = join("vl=", values[0]);
      return keep(run_->facts, std::move(line));
    }
    if (kind == kDropName && values.size() == 2) {
      line.values = join("vl=", values[0], " reason=", values[1]);
      return keep(run_->facts, std::move(line));
    }
    if (kind.starts_with("level ") && values.size() == 2) {
      line.event = "level";
      line.values = join("of=", kind.substr(6), " number=", values[0], " level=", values[1]);
      return keep(run_->facts, std::move(line));
    }
    if (values.size() == 3 && (kind == "post-send" || kind == "post-receive" || kind == "arm")) {
      line.values = call_values(kind, values[0], values[1], std::string(text(values[2])));
      return keep(run_->lines, std::move(line));
    }
    return true;
  }

  RecordedRun* run_;
  WantsEvent wants_;
  std::size_t room_;  // bytes that further lines may take
  std::string problem_;
};

}  // namespace

observe::RecordingResult read_run_recording(std::string_view file, RecordedRun* run, WantsEvent wants) {
  RecordingReader reader(run, wants, file.size());
  return reader.finish(observe::read_recording(file, reader.visitor()));
}

observe::RecordingResult read_run_entries(std::string_view entries, RecordedRun* run, WantsEvent wants) {
  RecordingReader reader(run, wants, entries.size());
  return reader.finish(observe::read_entries(entries, false, reader.visitor()));
}

}  // namespace verbatim::cli
