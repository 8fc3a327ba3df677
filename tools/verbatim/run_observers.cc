#include "tools/verbatim/run_observers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "sim/supervisor/machine/run_folder.h"
#include "tools/verbatim/check_levels.h"
#include "tools/verbatim/explanation.h"
#include "tools/verbatim/recorded_run.h"

namespace verbatim::cli {

namespace {

// The watched ends of all cables or, with `is_per_link`, the cables with a watched end; in the order of the
// cables.
std::vector<observe::PcapInterface> pcap_interfaces(const config::Simulation& simulation, bool is_per_link,
                                                    const observe::WatchSet& watch) {
  const config::TopologySpec& topology = simulation.topology();
  std::vector<observe::PcapInterface> ends;
  const auto name = [&](const config::Endpoint& end) { return topology.node_name(end) + ":" + std::to_string(end.port); };
  for (const config::LinkSpec& link : topology.links) {
    if (is_per_link) {
      const std::string a = name(link.end_a), b = name(link.end_b);
      const ComponentId here = simulation.components().id("port/" + a), there = simulation.components().id("port/" + b);
      if (watch.has(here) || watch.has(there))
        ends.push_back({here, a + " <-> " + b, "cable; outbound is what " + a + " sends", topology.is_roce(), there});
      continue;
    }
    for (const bool first : {true, false}) {
      const std::string own = name(first ? link.end_a : link.end_b);
      const ComponentId port = simulation.components().id("port/" + own);
      if (!watch.has(port)) continue;
      ends.push_back({port, own, "cable to " + name(first ? link.end_b : link.end_a),
                      topology.is_roce(), std::nullopt});
    }
  }
  return ends;
}

}  // namespace

std::string Explanation::open(const RunOptions& options) {
  if (options.explain_latency != "-") {
    (options.explain_latency.ends_with(".json") ? has_json_ : has_text_) = true;
    return (has_json_ ? json_ : text_).open(options.explain_latency);
  }
  has_text_ = true;
  if (options.out.empty()) return "";
  has_json_ = true;
  const std::string failure = text_.open(options.out + "/latency.txt");
  return failure.empty() ? json_.open(options.out + "/latency.json") : failure;
}

std::vector<std::string> Explanation::write(const observe::LatencyExplainer& explainer, const ComponentTable& components) {
  if (has_text_) std::fputs(explainer.text().c_str(), text_.get() != nullptr ? text_.get() : stderr);
  if (has_json_) std::fputs(explanation_json(explainer, components).c_str(), json_.get());
  std::vector<std::string> failures = {text_.close(), json_.close()};
  std::erase(failures, "");
  return failures;
}

std::string Observers::add_to(config::Simulation& simulation, const RunOptions& options, const RunPlan& plan) {
  this->tracer = &simulation.tracer();
  Tracer& tracer = *this->tracer;
  tracer.add(digest);
  tracer.add(counters);
  tracer.add(facts);
  tracer.add(static_cast<TraceSink&>(congestion));
  tracer.add(static_cast<ib::DropObserver&>(congestion));
  const auto marks = [](const config::SwitchSpec& one) { return !one.switch_profile.marking.queues.empty(); };
  if (std::ranges::any_of(simulation.topology().switches, marks)) tracer.add(static_cast<ib::PacketObserver&>(congestion));
  std::vector<ComponentId> host_ports;
  for (std::size_t i = 0; i < simulation.topology().adapters.size(); ++i) host_ports.push_back(simulation.host_port(i).id());
  losses.emplace(simulation.components(), host_ports);
  tracer.add(static_cast<TraceSink&>(*losses));
  tracer.add(static_cast<ib::PacketObserver&>(*losses));
  if (!options.trace.empty() || options.keep_trace) {
    const std::string path = options.keep_trace ? options.out + "/" + kTraceFile : options.trace;
    if (std::string failure = trace_file.open(path); !failure.empty()) return failure;
    text.emplace(trace_file.get(), simulation.components());
    watched_text.emplace(plan.watch, observe::Watched::Observers{.records = &*text, .words = &*text});
    watched_text->add_to(tracer);
  }
  observe::TraceWords* words = text ? &*watched_text : nullptr;
  if (!options.record.empty()) {
    if (std::string failure = recording_file.open(options.record); !failure.empty()) return failure;
    RunRecording::Limits limits;
    if (plan.programs.empty()) limits = RunRecording::usual_limits(plan.scenario.traffic.flows.size());
    if (options.record_most >= 0) limits.records = static_cast<std::uint64_t>(options.record_most);
    RunRecording& to = recording.emplace(recording_file.get(), simulation.components(), limits);
    watched_recording.emplace(plan.watch, observe::Watched::Observers{&to, &to, &to, &to});
    watched_recording->add_to(tracer);
    words = &*watched_recording;
  }
  if (recording || options.keep_trace) {
    OverviewRecorder& from_above = overview.emplace(simulation.components(), simulation.topology());
    tracer.add(static_cast<TraceSink&>(from_above));
    tracer.add(static_cast<FactObserver&>(from_above));
    keeps_overview_in = options.keep_trace ? options.out : "";
    watches_all = options.watch.empty() && options.watch_time.empty();
  }
  diagnoses.emplace(simulation.components(), words);
  tracer.add(static_cast<DiagnosisObserver&>(*diagnoses));
  tracer.add(static_cast<ib::DropObserver&>(*diagnoses));
  tracer.add(checks.emplace(simulation.components()));
  // These checks concern programs only, and need memory for each pair of hosts.
  if (!plan.programs.empty()) contact_checks.add_to(simulation, CheckLevels(options.checks).bits());
  if (!options.pcap.empty()) {
    if (std::string failure = pcap_file.open(options.pcap); !failure.empty()) return failure;
    pcap.emplace(pcap_file.get(), pcap_interfaces(simulation, options.pcap_per == "link", plan.watch),
                 "verbatim " VERBATIM_VERSION, options.snap_length);
    watched_packets.emplace(plan.watch, observe::Watched::Observers{.packets = &*pcap});
    watched_packets->add_to(tracer);
  }
  if (!options.flows.empty()) {
    if (std::string failure = flow_file.open(options.flows); !failure.empty()) return failure;
  }
  if (!options.links.empty()) {
    if (std::string failure = link_file.open(options.links); !failure.empty()) return failure;
    tracer.add(link_counts.emplace(simulation.components()));
  }
  if (!options.series.empty()) {
    if (std::string failure = series.open(options.series, simulation.components(), plan.series_step, tracer);
        !failure.empty())
      return failure;
  }
  if (!options.calls.empty()) {
    if (std::string failure = call_list_file.open(options.calls); !failure.empty()) return failure;
  }
  if (!options.explain_latency.empty()) {
    if (std::string failure = explanation.open(options); !failure.empty()) return failure;
    tracer.add(explainer.emplace(simulation.components(), words, &plan.watch));
  }
  if (options.record_fd >= 0) tracer.add(recorder.emplace(options.record_fd));
  return "";
}

std::vector<std::string> Observers::finish(const ComponentTable& components, Instant end,
                                           const std::function<std::string()>& run_json) {
  std::vector<std::string> failures;
  if (run_facts) run_facts->finish();
  const std::string from_above = overview ? overview->finish(end, recording ? recording->until_ps() : -1, watches_all).bytes() : "";
  const bool has_whole_recording = !recording || recording->finish(run_json(), from_above);
  if (explainer) failures = explanation.write(*explainer, components);
  if (debugger) failures.push_back(debugger->failure());
  tracer->finish();
  failures.push_back(series.finish(end));
  if (!keeps_overview_in.empty()) failures.push_back(write_document(keeps_overview_in + "/" + kOverviewFile, from_above));
  if (text) text->flush();
  if (pcap) pcap->flush();
  call_list.finish([this](const std::string& line) { std::fwrite(line.data(), 1, line.size(), call_list_file.get()); });
  if (const int error = recorder ? recorder->flush() : 0; error != 0) {
    has_lost_record = true;
    failures.push_back("the record of the run, which --verify compares, could not be written to " +
                       supervisor::temporary_folder() + ": " + std::strerror(error) +
                       "; set TMPDIR to a folder with more room");
  }
  for (OutputStream* file : {&trace_file, &pcap_file, &calls_file, &facts_file, &recording_file, &call_list_file}) {
    std::string failure = file->close();
    if (file == &recording_file && !has_whole_recording && failure.empty()) failure = "the recording is not complete";
    failures.push_back(std::move(failure));
  }
  std::erase(failures, "");
  return failures;
}

}  // namespace verbatim::cli
