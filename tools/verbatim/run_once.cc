#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "sim/config/freedom.h"
#include "sim/config/drawn_failures.h"
#include "sim/config/flows.h"
#include "sim/config/simulation.h"
#include "sim/core/time_text.h"
#include "sim/explore/recorded_choices.h"
#include "sim/explore/replayed_choices.h"
#include "sim/observe/folder_content.h"
#include "sim/observe/failure_causes.h"
#include "sim/observe/microseconds.h"
#include "sim/supervisor/machine/confinement.h"
#include "sim/supervisor/machine/limit_check.h"
#include "sim/supervisor/machine/run_folder.h"
#include "sim/supervisor/run_after_run.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/call_line.h"
#include "tools/verbatim/fabric_deadlock.h"
#include "tools/verbatim/memory_estimate.h"
#include "tools/verbatim/prefault.h"
#include "tools/verbatim/recorded_run.h"
#include "tools/verbatim/run_cause.h"
#include "tools/verbatim/run_congestion.h"
#include "tools/verbatim/completion_times.h"
#include "tools/verbatim/run_flows.h"
#include "tools/verbatim/run_graphs.h"
#include "tools/verbatim/run_hosts.h"
#include "tools/verbatim/report.h"
#include "tools/verbatim/run_junit.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_observers.h"
#include "tools/verbatim/run_progress.h"
#include "tools/verbatim/run_report.h"
#include "tools/verbatim/wall_limit.h"

namespace verbatim::cli {

namespace {

// Folders of this machine in which confined programs may change files.
std::vector<std::string> folders_of(const std::vector<supervisor::ProgramSpec>& programs, const RunOptions& options) {
  std::vector<std::string> folders;
  for (const supervisor::ProgramSpec& program : programs)
    folders.push_back(program.working_directory.empty() ? "." : program.working_directory);
  if (!options.out.empty()) folders.push_back(options.out);
  return folders;
}

// Number of packets that adapters have sent to the fabric.
std::uint64_t packets_of(config::Simulation& simulation, const observe::Counters& counters) {
  std::uint64_t packets = 0;
  for (std::size_t i = 0; i < simulation.topology().adapters.size(); ++i)
    packets += counters.of(simulation.host_port(i).id()).packets_transmitted;
  return packets;
}

supervisor::SecondCoreUse use_of_second_core(const RunOptions& options) {
  using supervisor::SecondCoreUse;
  if (options.second_core == "always") return SecondCoreUse::kAlways;
  if (options.second_core == "changing") return SecondCoreUse::kChanging;
  if (options.second_core == "free") return SecondCoreUse::kWhenFree;
  // With --core, the other processors may belong to other runs.
  return options.second_core == "never" || options.core >= 0 ? SecondCoreUse::kNever : SecondCoreUse::kWhenFree;
}

// The kernel's high-water mark of this process's memory; 0 if unknown.
std::uint64_t peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

// The call as a trace line; empty if it is not a verb.
std::string call_line(const supervisor::CallPlace& call, const ComponentTable& components) {
  const std::string_view name = name_of_call(call.kind);
  if (name.empty()) return "";
  return join(observe::microseconds(call.time_ps), " us  ", components.name(call.component), "  ", name, "  ",
              call_values(name, call.number, call.wr_id, place_in_line(call.place)), "\n");
}

std::unique_ptr<Choices> chooser_of(const RunPlan& plan) {
  const std::vector<std::string> names = config::Simulation::component_names(plan.scenario.topology);
  if (plan.schedule) return explore::make_choices(*plan.schedule, names);
  if (!config::is_free(plan.scenario.freedom)) return std::make_unique<DefaultChoices>();
  return std::make_unique<SeededChoices>(static_cast<std::uint64_t>(plan.scenario.seed), names);
}

// The source of choices of a run, and the recorded questions and answers.
struct RunChoices {
  std::unique_ptr<Choices> chooser;
  explore::RecordedChoices recorded;

  explicit RunChoices(const RunPlan& plan)
      : chooser(chooser_of(plan)),
        recorded(*chooser, config::Simulation::component_names(plan.scenario.topology)) {}
};

// The plan with its drawn failures.
RunPlan with_failures(const RunPlan& plan, Choices& choices) {
  RunPlan drawn = plan;
  config::draw_failures(drawn.scenario, choices);
  for (std::size_t i = 0; i < drawn.programs.size(); ++i) {
    const Duration kill = drawn.scenario.programs[i].kill;
    if (kill.count() != 0) drawn.programs[i].kill = instant_from_ps(kill.count());
  }
  return drawn;
}

int run_as_chosen(const RunPlan& plan, const RunOptions& options, RunChoices& chosen, ProgramOutput& output, RunReport* report,
                  Answer* answer) {
  const std::vector<char> pad(options.pad);  // moves later allocations; see verify.cc
  const config::TopologySpec& topology = plan.scenario.topology;
  const auto seed = static_cast<std::uint64_t>(plan.scenario.seed);
  auto& [chooser, recorded] = chosen;
  Choices& choices = report != nullptr ? static_cast<Choices&>(recorded) : *chooser;
  auto made = std::make_unique<config::Simulation>(topology, seed, choices);
  config::Simulation& simulation = *made;
  // Not freed: the end of the process is faster than freeing thousands of hosts. It remains reachable, so
  // that leak checkers do not report it.
  [[maybe_unused]] static config::Simulation* volatile kept = nullptr;
  if (plan.run_after_run == nullptr) kept = made.release();
  recorded.set_clock(simulation.engine());
  simulation.add_faults(plan.scenario.faults);
  std::optional<workload::Workload> flows(std::in_place);
  if (choices.is_free()) simulation.draw_faults(plan.scenario.spec.faults);
  // A datagram is lost without being asked for only where schedules are searched and repeated.
  if (choices.is_free()) simulation.draw_disturbances(plan.schedule.has_value());
  if (choices.is_free()) simulation.draw_failing_calls(plan.scenario.spec.failing_calls);
  Observers observers(simulation.components());
  if (const std::string failure = observers.add_to(simulation, options, plan); !failure.empty()) {
    complain(failure + "; nothing was started");
    return kUsage;
  }
  if (report != nullptr) simulation.tracer().add(observers.windows);
  const std::vector<const workload::Flow*> added_flows = config::add_traffic(simulation, plan.scenario.traffic, *flows);
  if (!options.flows.empty() && options.flows_form != "fct") {
    FlowFacts& facts = observers.flow_facts.emplace(simulation, plan.scenario.traffic, added_flows);
    simulation.tracer().add(facts);
    flows->set_flow_listener(facts);
  }
  const std::vector<const workload::PoissonLoad*> loads = config::add_loads(simulation, plan.scenario.traffic, *flows);
  const std::vector<config::DrawnGraph> graphs = config::draw_graphs(plan.scenario);
  const std::vector<const workload::GraphRun*> graph_runs = config::add_graphs(simulation, graphs, *flows);
  // No progress line while a person uses a terminal of a host, or gdb.
  Progress progress(options.style.is_for_people() && plan.terminal_user == nullptr && !plan.debugger);
  std::optional<RunProgress> run_progress;
  if (progress.is_shown()) {
    const Duration limit = plan.scenario.time_limit;
    const auto packets = [&simulation, &observers] { return packets_of(simulation, observers.counters); };
    simulation.tracer().add(run_progress.emplace(progress, simulation.engine(),
                                                 limit.count() != 0 ? instant_from_ps(limit.count()) : kEndOfTime, packets));
  }
  const bool late_accesses =
      choices.is_free() && (plan.scenario.spec.accesses || (plan.schedule && plan.schedule->takes_accesses()));
  if (plan.debugger) {
    DebuggerSpec spec = *plan.debugger;
    spec.traps_accesses = late_accesses;
    Debugger& debugger = observers.debugger.emplace(spec, simulation.components());
    simulation.tracer().add(debugger);
    output.set_start_listener([&](std::size_t program, int native_pid) {
      debugger.on_start(program, native_pid, simulation.engine().now());
    });
  }
  if (options.plants_address) {
    simulation.tracer().record(
        simulation.host_component(0), TraceEvent::kProgramWarning, 0, 0,
        reinterpret_cast<std::uintptr_t>(pad.data()) ^ reinterpret_cast<std::uintptr_t>(&simulation));
  }

  supervisor::SupervisorOptions supervisor_options;
  supervisor_options.seed = seed;
  supervisor_options.traps_loops = !plan.debugger;
  if (observers.debugger) {
    supervisor_options.while_held = [&debugger = *observers.debugger](supervisor::HeldRun& held) {
      return debugger.on_held(held);
    };
  }
  supervisor_options.core = options.core;
  supervisor_options.second_core = use_of_second_core(options);
  if (options.poke_period_us != 0) supervisor_options.poke_period_us = options.poke_period_us;
  supervisor_options.lets_unknown_calls_through = options.strict == "warn";
  if (options.confine) supervisor_options.changes_only_in = folders_of(plan.programs, options);
  for (const std::string& name : options.assume_missing) supervisor_options.machine.assume_missing(name);
  if (options.keep_files && !options.out.empty()) supervisor_options.keep_files_in = options.out + "/files";
  supervisor_options.on_files = [&simulation](ComponentId host, const std::string& folder,
                                              const std::set<std::string>& made_first) {
    return observe::record_folder(simulation.tracer(), host, folder, made_first);
  };
  const CheckLevels check_levels(options.checks);
  supervisor_options.checks = check_levels.bits();
  supervisor_options.dropped_to = [&observers](const std::string& addressee) {
    return observers.diagnoses->dropped_to(addressee);
  };
  if (const std::string path = options.keep_trace ? options.out + "/" + kFactsFile : options.facts; !path.empty()) {
    std::string failure = observers.facts_file.open(path);
    if (failure.empty() && options.keep_trace) failure = observers.calls_file.open(options.out + "/" + kCallsFile);
    if (!failure.empty()) {
      complain(failure + "; nothing was started");
      return kUsage;
    }
    const auto write = [file = observers.facts_file.get()](const std::string& line) {
      std::fwrite(line.data(), 1, line.size(), file);
    };
    RunFacts& facts = observers.run_facts.emplace(simulation.components(), write);
    facts.write_fabric(topology);
    simulation.tracer().add(static_cast<FactObserver&>(facts));
    simulation.tracer().add(static_cast<ib::PacketObserver&>(facts));
    supervisor_options.on_wait = [&facts](const supervisor::ThreadWait& wait) { facts.on_wait(wait); };
    if (options.keep_trace) supervisor_options.on_place = [&](const supervisor::CallPlace& call) {
      const std::string line = call_line(call, simulation.components());
      std::fwrite(line.data(), 1, line.size(), observers.calls_file.get());
    };
  }
  if (observers.recording) {
    RunRecording& recording = *observers.recording;
    recording.write_fabric(topology);
    supervisor_options.on_place = [&recording, &watch = plan.watch](const supervisor::CallPlace& call) {
      if (watch.has(call.component, call.time_ps)) recording.on_call(call);
    };
    supervisor_options.on_wait = [&recording, &watch = plan.watch](const supervisor::ThreadWait& wait) {
      if (watch.has(wait.host) && wait.from_ps <= watch.until_ps && wait.to_ps >= watch.from_ps) recording.on_wait(wait);
    };
  }
  if (report != nullptr && report->wants_places) {
    supervisor_options.on_place = [&](const supervisor::CallPlace& call) {
      if (report->places.size() == RunReport::kMostPlaces) return;
      report->places.push_back({explore::actor_name(simulation.components(), call.component), call});
    };
  }
  // Call by call, so that the polls of parked threads are listed, too; the digest is the same.
  if (options.call_by_call || !options.calls.empty()) supervisor_options.mode = supervisor::Mode::kCallByCall;
  supervisor_options.shim_directory = plan.shim_directory;
  supervisor_options.code_files = plan.code_files;
  supervisor_options.run_after_run = plan.run_after_run;
  supervisor_options.views_working_folders = plan.views_working_folders;
  supervisor_options.machine_files = plan.machine_files;
  if (!plan.working_snapshot.entries.empty()) supervisor_options.working_snapshot = &plan.working_snapshot;
  supervisor_options.terminal_user = plan.terminal_user;
  supervisor_options.late_accesses = late_accesses;
  if (!flows->empty()) supervisor_options.has_other_work = [&flows] { return !flows->is_done(); };
  supervisor_options.limits.stuck_after_ms = std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::milliseconds>(plan.stuck_after).count());
  Instant& virtual_end = supervisor_options.limits.virtual_end;
  const bool has_own_limit = plan.scenario.time_limit.count() != 0 || plan.scenario.until.count() != 0;
  if (!has_own_limit && !plan.programs.empty() && plan.terminal_user == nullptr) {
    virtual_end = Instant{} + kDefaultTimeLimit;
    supervisor_options.limits.without_progress = kTimeWithoutProgress;
    supervisor_options.last_record = [&observers] { return instant_from_ps(observers.counters.last_progress_ps()); };
  }
  for (const Duration limit : {plan.scenario.time_limit, plan.scenario.until}) {
    if (limit.count() != 0) virtual_end = std::min({instant_from_ps(limit.count()), kEndOfTime, virtual_end});
  }
  supervisor::ManagementNetworkSpec network;
  network.latency = topology.management_network.latency;
  network.bits_per_second = static_cast<std::uint64_t>(topology.management_network.bits_per_second);
  if (!simulation.management_faults().empty()) {
    network.faults = [&simulation](supervisor::NetworkProtocol protocol, std::size_t from, std::size_t to,
                                   Instant when) {
      using supervisor::NetworkProtocol;
      const auto named = protocol == NetworkProtocol::kTcp   ? faults::ManagementProtocol::kTcp
                         : protocol == NetworkProtocol::kUdp ? faults::ManagementProtocol::kUdp
                                                             : faults::ManagementProtocol::kIcmp;
      const auto fate = simulation.management_faults().on_transmission(named, from, simulation.host_component(from), to, when);
      return supervisor::NetworkFate{fate.is_lost, fate.delay};
    };
  }

  FabricDeadlock fabric_deadlock(simulation);
  observers.losses->set_timeout_listener([&fabric_deadlock] { fabric_deadlock.on_timeout(); });
  supervisor_options.limits.fabric_deadlock = &fabric_deadlock.found();

  // Prevents programs of the same user from reading or writing the simulator's memory; gdb must be able to
  // open one of its files (Monitor).
  if (!plan.debugger) ::prctl(PR_SET_DUMPABLE, 0);
  const auto wall_start = std::chrono::steady_clock::now();
  WallLimit wall_limit(plan.wall_limit);
  supervisor::RunResult result;
  if (plan.programs.empty()) {
    result = run_flows(simulation.engine(), *flows, supervisor_options.limits);
  } else {
    supervisor::Supervisor supervisor(simulation.engine(), simulation.tracer(), choices,
                                      simulation.components(), host_specs(simulation),
                                      network, supervisor_options);
    if (plan.scenario.spec.failing_calls > 0) supervisor.use_failing_calls(simulation.failing_calls());
    if (!options.calls.empty())
      supervisor.report_calls_to([&list = observers.call_list](const supervisor::ProgramCall& call) { list.on_call(call); });
    else if (options.on_call) supervisor.report_calls_to(options.on_call);
    result = supervisor.run(plan.programs, output);
  }
  wall_limit.stop();
  clear_progress();
  if (observers.debugger && observers.debugger->goes_back()) {
    complain(observers.debugger->begin_anew());
    return kProgramFailed;
  }
  fabric_deadlock.on_end();
  RunFigures figures;
  figures.peak_memory_kib = peak_memory_kib();
  figures.reached_wall_limit = WallLimit::is_reached();
  figures.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_start).count();
  // The engine's clock is at the last event, whereas a run that reached the limit lasted until then.
  figures.virtual_end = result.outcome == supervisor::Outcome::kTimeLimit
                            ? virtual_end
                            : simulation.engine().now();
  if (result.outcome == supervisor::Outcome::kTimeLimit && to_ps(virtual_end) == plan.scenario.until.count())
    result.outcome = supervisor::Outcome::kFinished;
  figures.events = simulation.engine().events_executed();
  figures.digest = observers.digest.hex();
  figures.packet_hops = observers.counters.count(TraceEvent::kPacketTransmitted);
  figures.packets = packets_of(simulation, observers.counters);
  figures.diagnoses = observers.diagnoses->entries();
  figures.drawn_faults = simulation.drawn_faults();
  figures.failing_calls = simulation.failing_calls().count();
  figures.checks = observers.checks->entries();
  figures.check_levels = check_levels;
  figures.losses = &*observers.losses;
  observers.congestion.finish(to_ps(figures.virtual_end));
  figures.congestion = &observers.congestion;
  figures.ports = ports_of(simulation, observers.congestion);
  figures.congestion_counters = congestion_counters_of(simulation);
  figures.flows = figures_of(simulation, plan.scenario.traffic, added_flows);
  if (observers.flow_facts) figures.flow_facts = observers.flow_facts->finish();
  std::optional<RunPlan> grown;  // with flows of endless loads
  if (!loads.empty())
    grown.emplace(plan).scenario.traffic = with_arrivals(plan.scenario.traffic, simulation, loads, figures.flows);
  const RunPlan& of_run = grown ? *grown : plan;
  figures.graphs = figures_of(topology, graphs, graph_runs);
  for (const auto& [seen, fired] : simulation.fault_counts()) figures.faults.push_back({seen, fired});

  Verdict verdict = judge(of_run, result, figures, output);
  // Failed completions, refused calls and overruns have a diagnosis, so without one there is no failure to
  // explain.
  if (!figures.diagnoses.empty() || !figures.checks.empty())
    figures.failures = observe::failures_of(observers.facts.lines(figures.diagnoses, figures.checks));
  if (verdict.code != kAsExpected) {
    const std::uint64_t rnr_naks = observers.losses ? observers.losses->rnr_naks() : 0;
    figures.cause = cause_of(result, figures.failures, first_unexpected_end(of_run, result), rnr_naks);
  }
  if (observers.overview) {
    observers.overview->add_flows(of_run.scenario.traffic, figures.flows, figures.flow_facts);
    observers.overview->add_graphs(graphs, graph_runs);
  }
  const auto run_json = [&] { return run_json_of(of_run, result, figures, output); };
  std::vector<std::string> failures = observers.finish(simulation.components(), figures.virtual_end, run_json);
  if (std::string failure = output.finish(); !failure.empty())
    failures.insert(failures.begin(), std::move(failure));
  failures.insert(failures.end(), result.not_kept.begin(), result.not_kept.end());
  if (!options.out.empty()) {
    const std::string path = options.out + "/run.json";
    std::string failure = write_document(path, run_json());
    if (!failure.empty()) {
      failures.push_back(std::move(failure));
      // The file of an earlier run would be misleading.
      std::error_code ignored;
      if (std::filesystem::is_regular_file(std::filesystem::symlink_status(path, ignored)))
        std::filesystem::remove(path, ignored);
    }
  }
  if (observers.flow_file.get() != nullptr) {
    if (options.flows_form == "fct") write_completion_times(observers.flow_file.get(), of_run.scenario, figures.flows);
    else write_flow_table(observers.flow_file.get(), of_run.scenario, figures.flows, figures.flow_facts);
    if (std::string failure = observers.flow_file.close(); !failure.empty()) failures.push_back(std::move(failure));
  }
  if (observers.link_counts) {
    observers.link_counts->write_table(observers.link_file.get(), simulation, observers.congestion, figures.virtual_end);
    if (std::string failure = observers.link_file.close(); !failure.empty()) failures.push_back(std::move(failure));
  }
  if (!options.junit.empty()) {
    std::string failure = write_document(options.junit, junit_of_run(of_run, verdict));
    if (!failure.empty()) failures.push_back(std::move(failure));
  }
  if (options.style.is_for_people()) {
    std::fputs(text_of_flows(of_run.scenario, figures.flows, figures.virtual_end).c_str(), stdout);
    std::fputs(text_of(figures.graphs).c_str(), stdout);
    std::fflush(stdout);
  }
  for (const std::string& warning : warnings_of(of_run, result, figures)) complain("warning: " + warning);
  log_diagnoses(figures.diagnoses);
  log_checks(figures.checks, figures.check_levels);
  // These depend on real time, so they must not be part of compared output.
  if (options.style.is_for_people()) {
    for (const std::string& sentence : slow_waits(result, figures.wall_seconds)) complain(sentence);
  }
  for (const std::string& sentence : verdict.sentences) complain(sentence);
  for (const std::string& failure : drawn_failures_of(of_run, result, figures)) complain("freedom: " + failure);
  if (report == nullptr || report->wants_first_cause) {
    for (const std::string& line : lines_of(figures.cause)) complain(line);
  }
  for (const std::string& failure : failures) complain(failure);
  if (!failures.empty() && verdict.code == kAsExpected) verdict.code = kProgramFailed;
  if (observers.has_lost_record) verdict.code = kMachineFault;
  if (answer != nullptr) add_run_to_answer(*answer, run_json(), verdict, failures);
  if (report != nullptr) {
    fill(*report, of_run, result, figures, output, verdict);
    if (report->has_failed() || report->wants_decisions) report->decisions = recorded.decisions();
    report->questions = recorded.questions();
    report->code_files = result.code_files;
    report->working_files = result.working_files;
    report->windows.assign(observers.windows.hits().begin(), observers.windows.hits().end());
    if (const auto* replayed = dynamic_cast<const explore::ReplayedChoices*>(chooser.get()))
      report->unused = replayed->unused();
  }
  if (options.style.is_for_people()) {
    const std::string losses = losses_text(*observers.losses, failed_links_of(of_run, figures));
    if (!losses.empty()) complain(losses);
    if (observers.congestion.any()) complain(congestion_text(observers.congestion));
    // Wall time differs between runs, so this line is not part of standard output.
    std::fprintf(stderr, "verbatim: virtual time %s, wall time %.3f s, %llu packets, digest %s%s\n",
                 time_text(figures.virtual_end).c_str(), figures.wall_seconds,
                 static_cast<unsigned long long>(figures.packets), figures.digest.c_str(),
                 result.exact ? "" : " (weak: it may depend on this machine)");
  }
  flows.reset();  // its timers belong to the engine
  made.reset();   // before the observers that it notifies
  return verdict.code;
}

// A sentence and an exit code if this machine lacks something that programs need.
std::optional<std::pair<std::string, ExitCode>> lacking_for_programs(const RunPlan& plan, const RunOptions& options) {
  if (std::string lacking = lacking_processor(plan.scenario.topology); !lacking.empty()) return {{std::move(lacking), kUsage}};
  for (const supervisor::Facility& limit : supervisor::check_limits()) {
    if (limit.state != supervisor::Facility::State::kMissing) continue;
    return {{limit.what + ": " + limit.consequence, kUsage}};
  }
  if (const std::string reason = options.confine ? supervisor::Confinement::reason_of_lack() : ""; !reason.empty())
    return {{"--confine: this machine cannot confine programs: " + reason, kMachineFault}};
  return std::nullopt;
}

}  // namespace

int run_once(const RunPlan& plan, const RunOptions& options, RunReport* report, Answer* answer) {
  const bool is_checked = plan.run_after_run != nullptr && plan.run_after_run->has_run();
  if (const auto lacking = plan.programs.empty() || is_checked ? std::nullopt : lacking_for_programs(plan, options)) {
    complain(lacking->first + "; nothing was started");
    return lacking->second;
  }
  const MemoryEstimate estimate = estimate_memory(plan.scenario, CheckLevels(options.checks));
  constexpr std::uint64_t kLittle = 64 << 20;
  const bool is_little = is_checked && estimate.total() < kLittle;
  if (const std::string lacking = is_little ? "" : lacking_memory(estimate, available_memory()); !lacking.empty()) {
    complain(lacking + "; nothing was started");
    return kUsage;
  }
  constexpr std::uint64_t kLarge = 16 << 20;  // larger than near caches and TLBs
  if (plan.programs.empty() && estimate.model_bytes > kLarge) use_huge_pages(2 * estimate.model_bytes);
  std::vector<std::string> hosts;
  bool keep = !plan.fail_on.empty();
  for (const config::ProgramSpec& program : plan.scenario.programs) {
    hosts.push_back(program.host);
    keep = keep || !program.expect_output.empty();
  }
  ProgramOutput output(labels_of(hosts), options.style.is_for_people());
  if (keep) output.keep_output();
  if (!options.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    std::string failure = error ? "cannot make the folder " + options.out + ": " + error.message() : "";
    if (failure.empty()) failure = output.open_files(options.out);
    if (!failure.empty()) {
      complain(failure + "; nothing was started");
      return kUsage;
    }
  }

  RunChoices chosen(plan);
  if (plan.scenario.spec.failures == 0) return run_as_chosen(plan, options, chosen, output, report, answer);
  const RunPlan drawn = with_failures(plan, report != nullptr ? static_cast<Choices&>(chosen.recorded) : *chosen.chooser);
  return run_as_chosen(drawn, options, chosen, output, report, answer);
}

}  // namespace verbatim::cli
