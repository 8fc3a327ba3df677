// A recording as the lines that a run's folder would have.
#include <algorithm>
#include <map>

#include "sim/core/words.h"
#include "sim/observe/microseconds.h"
#include "sim/observe/recording.h"
#include "sim/observe/text_trace_sink.h"
#include "tools/verbatim/call_line.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/recording_kinds.h"

namespace verbatim::cli {

namespace {

class RecordingReader {
 public:
  RecordingReader(RecordedRun* run, WantsEvent wants) : run_(run), wants_(wants) {
    for (std::size_t i = 0; i < kTraceEventCount; ++i) {
      const auto event = static_cast<TraceEvent>(i);
      events_[names_of(event).name] = event;
    }
  }

  std::string read(const std::string& path) {
    observe::RecordingVisitor visitor;
    visitor.on_entry = [this](const observe::RecordedEntry& entry, const std::vector<std::string>& strings) {
      on_entry(entry, strings);
    };
    visitor.on_line = [this](observe::RecordedLine of, std::string_view text) {
      while (text.ends_with('\n')) text.remove_suffix(1);
      auto line = observe::parse_trace_line(text);
      if (line) (of == observe::RecordedLine::kFacts ? run_->facts : run_->lines).push_back(std::move(*line));
    };
    visitor.on_file = [this](std::string_view name, std::string_view content) {
      if (name == "run.json") run_->report = nlohmann::json::parse(content, nullptr, false);
    };
    std::string failure = observe::read_recording(path, visitor);
    sort(run_->lines);
    sort(run_->facts);
    return failure;
  }

 private:
  // By time, those of one time as they are. Few are late: they are sorted by themselves and put between the others.
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
    // From the end: what has come in time stays before what was late and has its time.
    std::size_t from = kept;
    lines.resize(kept + late.size());
    for (std::size_t to = lines.size(); !late.empty();) {
      const bool takes_late = from == 0 || lines[from - 1].time_ps <= late.back().time_ps;
      lines[--to] = std::move(takes_late ? late.back() : lines[--from]);
      if (takes_late) late.pop_back();
    }
  }

  void on_entry(const observe::RecordedEntry& entry, const std::vector<std::string>& strings) {
    const std::string_view kind = entry.kind;
    const std::span<const std::uint64_t> values = entry.values;
    const std::int64_t time_ps = entry.time_ps;
    const auto text = [&](std::uint64_t number) { return number < strings.size() ? strings[number] : std::string("-"); };
    observe::TraceLine line{time_ps, std::string(entry.component), std::string(kind), "", ""};
    // What has another shape than ours was written by nobody that is known.
    if (time_ps < 0) return;
    if (wants_ != nullptr && !wants_(kind)) return;
    if (const auto event = events_.find(kind); event != events_.end()) {
      TraceRecord record{time_ps, 0, event->second, {}};
      std::ranges::copy(values, record.values);
      line.values = observe::values_text(record);
      if (event->second == TraceEvent::kProgramOutput && entry.component.starts_with("host/") && values.size() == 3) {
        const std::string host = line.component.substr(5, line.component.find('/', 5) - 5);
        run_->outputs[host + (values[1] == 2 ? " stderr" : " stdout")] += entry.bytes;
      }
      run_->lines.push_back(std::move(line));
    } else if (kind == kPlacementName && values.size() == 4) {
      line.values = join("process=", values[0], " va=", values[1], " length=", values[2], " qpn=", values[3] >> 1,
                         " response=", values[3] & 1);
      run_->facts.push_back(std::move(line));
    } else if (kind == kWaitName && values.size() == 4) {
      line.values = join("pid=", values[0], " tid=", values[1], " since=",
                         observe::microseconds(time_ps - static_cast<std::int64_t>(values[2])), " what=", text(values[3]));
      run_->facts.push_back(std::move(line));
    } else if (kind == kCreditsName && values.size() == 3) {
      line.values = join("vl=", values[0], " blocks=", values[1], " of=", values[2]);
      run_->facts.push_back(std::move(line));
    } else if (kind.starts_with("level ") && values.size() == 2) {
      line.event = "level";
      line.values = join("of=", kind.substr(6), " number=", values[0], " level=", values[1]);
      run_->facts.push_back(std::move(line));
    } else if (values.size() == 3 && (kind == "post-send" || kind == "post-receive" || kind == "arm")) {
      line.values = call_values(kind, values[0], values[1], text(values[2]));
      run_->lines.push_back(std::move(line));
    }
  }

  RecordedRun* run_;
  WantsEvent wants_;
  std::map<std::string_view, TraceEvent> events_;
};

}  // namespace

bool read_run_recording(const std::string& path, RecordedRun* run, std::string* failure, WantsEvent wants) {
  *failure = RecordingReader(run, wants).read(path);
  return failure->empty() || !run->lines.empty();
}

}  // namespace verbatim::cli
