// The observers of one run, and the files that they write.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/observe/check_log.h"
#include "sim/observe/congestion.h"
#include "sim/observe/counters.h"
#include "sim/observe/diagnosis_log.h"
#include "sim/observe/digest_sink.h"
#include "sim/observe/failure_facts.h"
#include "sim/observe/latency_explainer.h"
#include "sim/observe/losses.h"
#include "sim/observe/pcap_sink.h"
#include "sim/observe/race_windows.h"
#include "sim/observe/recorder.h"
#include "sim/observe/text_trace_sink.h"
#include "sim/observe/watched.h"
#include "tools/verbatim/calls/call_list.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/contact_checks.h"
#include "tools/verbatim/debugger.h"
#include "tools/verbatim/flow_facts.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/overview_recorder.h"
#include "tools/verbatim/run_facts.h"
#include "tools/verbatim/run_links.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_recording.h"
#include "tools/verbatim/run_series.h"

namespace verbatim::cli {

// Destination of the tables of --explain-latency.
class Explanation {
 public:
  // Returns a sentence if a file cannot be opened, else "".
  std::string open(const RunOptions& options);
  // Returns a sentence for each file that could not be written.
  std::vector<std::string> write(const observe::LatencyExplainer& explainer, const ComponentTable& components);

 private:
  OutputStream text_, json_;
  bool has_text_ = false, has_json_ = false;
};

// Observers of one run, added before anything is recorded.
struct Observers {
  observe::DigestSink digest;
  observe::Counters counters;
  OutputStream trace_file, pcap_file, calls_file, facts_file, recording_file, call_list_file, flow_file, link_file;
  CallList call_list;
  Explanation explanation;
  std::optional<observe::TextTraceSink> text;
  std::optional<observe::PcapSink> pcap;
  std::optional<observe::Recorder> recorder;
  std::optional<observe::LatencyExplainer> explainer;
  std::optional<observe::DiagnosisLog> diagnoses;
  std::optional<RunFacts> run_facts;
  std::optional<RunRecording> recording;
  std::optional<OverviewRecorder> overview;  // for --record and --keep-trace
  std::optional<FlowFacts> flow_facts;
  std::optional<LinkCounts> link_counts;
  RunSeries series;
  std::optional<Debugger> debugger;
  std::optional<observe::Watched> watched_text, watched_recording, watched_packets;  // filters before the three files
  observe::RaceWindows windows;
  observe::FailureFacts facts;
  std::optional<observe::Losses> losses;
  observe::Congestion congestion;
  std::optional<observe::CheckLog> checks;
  ContactChecks contact_checks;
  std::string keeps_overview_in;  // a folder; empty: none
  bool watches_all = true;        // neither --watch nor --watch-time is given
  bool has_lost_record = false;   // with --verify
  Tracer* tracer = nullptr;      // that they observe

  explicit Observers(const ComponentTable& components)
      : counters(components.size()), facts(components), congestion(components) {}

  // Returns a sentence if a file cannot be opened, else "".
  std::string add_to(config::Simulation& simulation, const RunOptions& options, const RunPlan& plan);
  // Returns a sentence for each file that could not be written.
  std::vector<std::string> finish(const ComponentTable& components, Instant end,
                                  const std::function<std::string()>& run_json);
};

}  // namespace verbatim::cli
