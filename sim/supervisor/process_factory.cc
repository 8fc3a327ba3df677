#include "sim/supervisor/process_factory.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "sim/supervisor/code/processor.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine_watch.h"
#include "sim/supervisor/parking_lot.h"
#include "sim/supervisor/process_lifetimes.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/program_code.h"
#include "sim/supervisor/run_after_run.h"
#include "sim/supervisor/run_files.h"
#include "sim/supervisor/run_memory.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/terminals.h"
#include "sim/supervisor/token_keeper.h"

namespace verbatim::supervisor {

namespace {

// Native working directory for a program; empty: the caller's.
std::string native_working_folder(const ProgramSpec& program, const HostPaths& paths) {
  if (paths.views_all()) return paths.follow(program.working_directory, true, 0).native;
  std::error_code error;
  const std::string wanted = program.working_directory.empty() ? "." : program.working_directory;
  const std::string real = std::filesystem::canonical(wanted, error);
  // A view is entered by the first path that leads into it, for the same start with and without views.
  const bool is_viewed =
      !error && paths.views() != nullptr && !paths.views()->copy_of(paths.native(real)).empty();
  const std::string native = error ? wanted : is_viewed ? paths.native(real) : paths.native_in_use(real);
  return native == real ? program.working_directory : native;
}

std::string canonical_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

ProcessFactory::ProcessFactory(const RunContext& run, const Parts& parts)
    : run_(run), parts_(parts), headers_(run, parts.events), processors_(run.hosts.size()) {}

void ProcessFactory::begin(int core, bool reports_calls) {
  core_ = core;
  headers_.begin(reports_calls);
}

Process* ProcessFactory::launch(const ProgramSpec& spec, std::size_t index, std::uint32_t pid,
                                const std::string& stream) {
  const HostSpec& host = run_.hosts[spec.host];
  const auto give_up = [&](Outcome outcome, const std::string& why) {
    parts_.report.finish(outcome, host.name + ": " + why);
    return nullptr;
  };
  std::optional<Kernel::OwnFileWork> own_work(std::in_place, parts_.kernel, spec.host);
  LaunchRequest request;
  const HostPaths& paths = parts_.kernel.paths_of_host(spec.host);
  const std::string& named = spec.arguments.at(0);
  const bool is_path = named.starts_with('/');
  const auto start_error = [&](const std::string& reason, bool is_refused_by_machine) {
    return give_up(is_refused_by_machine ? Outcome::kMachine : Outcome::kNotStarted, reason);
  };
  std::string seen;
  const Inspection inspection =
      paths.views_all()
          ? inspect_program(named, spec.working_directory, &seen, native_of_program(paths))
          : inspect_program(is_path ? paths.native(named) : named, spec.working_directory, &request.path);
  if (!inspection.reason.empty()) return start_error(inspection.reason, inspection.is_refused_by_machine);
  // the host's substitute for the machine's file: ssh
  if (paths.views_all()) request.path = paths.executable(seen);
  else if (!is_path) request.path = paths.native(request.path);
  std::unique_ptr<ProcessRegion> region;
  try {
    region = std::make_unique<ProcessRegion>();
  } catch (const std::system_error& error) {
    return give_up(
        Outcome::kNotStarted,
        fmt::format("{}; raise the limits on address space (ulimit -Hv) and open files (ulimit -Hn)",
                    error.what()));
  }
  Process& process = parts_.processes.add(
      std::make_unique<Process>(index, pid, host, spec.host, named.substr(named.rfind('/') + 1),
                                Rng(run_.options.seed, stream + "/random"), std::move(region)));
  headers_.fill(process.region(), pid, Family::kInit, spec.host);
  process.region().slot(0).virtual_tid = pid;
  process.region().slot(0).clock_ps = to_ps(run_.engine.now());
  process.files().install_at(1, std::make_shared<OutputFile>(1));
  process.files().install_at(2, std::make_shared<OutputFile>(2));
  if (spec.on_terminal && terminals_ != nullptr) terminals_->seat(spec.on_terminal->number, process);
  parts_.kernel.paths_of(process).store(process.region(), "");

  request.arguments = spec.arguments;
  if (paths.views_all() && request.path != seen && show_as(request, paths, seen, nullptr) == EIO) {
    parts_.processes.end(process);
    return start_error(request.path + " cannot be read", true);
  }
  std::map<std::string, std::string> environment = {
      {"PATH", kProgramPath}, {"HOME", protocol::kHome}, {"LANG", "C.UTF-8"}, {"TERM", "dumb"}};
  for (const auto& [key, value] : spec.environment) environment[key] = value;
  for (const auto& [key, value] : environment) request.environment.push_back(key + "=" + value);
  request.working_directory = native_working_folder(spec, parts_.kernel.paths_of(process));
  auto patches = std::make_unique<code::CodePatches>(run_.options.machine.jumps);
  equip(request, process.region(), spec.host, stream + "/at_random", *patches);
  process.set_environment(request.environment);

  LaunchedProcess launched = start(request);
  if (!launched.error.empty()) {
    parts_.processes.end(process);
    return start_error(launched.error, launched.is_refused_by_machine);
  }
  process.set_native_pid(launched.pid);
  process.outlives_its_end = true;
  process.limits = ResourceLimits(host.open_files);
  if (host.open_files < request.own_descriptors) process.enforce_limits();
  spdlog::debug("{} started as process {}", parts_.report.title(process), launched.pid);
  parts_.watch.note_refused_heap(process);
  if (asks_for_privilege(request.path)) {
    parts_.report.warn(
        process, request.path + " has the set-user-id or set-group-id bit; it runs without that privilege");
  }

  own_work.reset();
  begin(process, std::move(launched), std::move(patches));
  return &process;
}

void ProcessFactory::adopt(Process& process) {
  parts_.memory.use_for(process);
  process.memory().use(run_.engine);
  if (!run_.options.machine.memory_calls) process.memory().do_without_calls();
  process.memory().set_write_listener([this, &process](const ProcessMemory::Written& written) {
    parts_.lot.on_memory_written(process, written);
  });
  process.memory().set_access_listener([this, &process](std::span<const spin::MemoryRange> accessed) {
    // No adapter accesses the memory of a host before the time that its programs have reached. The report of an
    // interrupted run shows programs where they are.
    CHECK(parts_.token.may_access_memory(process.host_index()) || parts_.report.is_finished());
    show_growth(process, accessed);
  });
  process.set_owner(parts_.owner);
  process.set_paths(parts_.kernel.paths_of(process));
  process.region().header().watches_files = parts_.kernel.watches_files(process.host_index()) ? 1 : 0;
}

void ProcessFactory::equip(LaunchRequest& request, ProcessRegion& region, std::size_t host,
                           const std::string& random_stream, code::CodePatches& patches) {
  request.shim_directory = run_.options.shim_directory;
  request.region_fd = region.fd();
  request.passage_fd = parts_.kernel.passage().far_end();
  request.core = core_;
  auto& processor = processors_[host];
  if (processor.empty())
    processor = code::cpuid_table(run_.hosts[host].instruction_set, run_.hosts[host].timestamp_counter_hz);
  Rng random(run_.options.seed, random_stream);
  const std::uint64_t words[2] = {random.next(), random.next()};
  std::memcpy(request.trace.random_bytes.data(), words, sizeof words);
  request.trace.cpuid = processor;
  request.trace.extended_control = code::extended_control(run_.hosts[host].instruction_set);
  request.trace.stops_at_memory_maps = run_.options.machine.loader_breakpoints;
  request.trace.removes_vdso = run_.options.machine.removable_vdso;
  request.switches_randomisation_off = run_.options.machine.fixed_layout;
  request.ruleset_fd = parts_.files.ruleset_of(host);
  request.code_files = &parts_.code.files();
  request.patches = &patches;
  if (const HostPaths& paths = parts_.kernel.paths_of_host(host); paths.views_all()) {
    request.trace.stops_at_memory_maps = false;
    request.trace.program = paths.seen(canonical_file(request.path));
    request.trace.native_path = [&paths, folder = paths.seen(request.working_directory)](
                                    const std::string& path, bool follows_last, std::int64_t use) {
      return paths.follow(path.starts_with('/') ? path : folder + "/" + path, follows_last, use).native;
    };
  }
  adapt_to_sanitizers(request);
}

NativeOf ProcessFactory::native_of_program(const HostPaths& paths) {
  return [&paths](const std::string& path) { return paths.follow(path, true, protocol::kViewOpens).native; };
}

// The kernel would pass a script's native path to the interpreter; the program must see its own path. 0, ELOOP (too
// many interpreters), or EIO (the machine does not let the file be read).
int ProcessFactory::show_as(LaunchRequest& request, const HostPaths& paths, std::string seen,
                            std::vector<std::string>* executed) {
  request.trace.seen_path = seen;
  for (auto words = interpreter_of(request.path); !words || !words->empty();
       words = interpreter_of(request.path)) {
    if (!words) return EIO;
    words->push_back(seen);
    if (!request.arguments.empty()) request.arguments.erase(request.arguments.begin());
    request.arguments.insert(request.arguments.begin(), words->begin(), words->end());
    seen = words->front();
    request.path = paths.executable(seen);
    if (executed != nullptr) executed->push_back(request.path);
    if (request.arguments.size() > 4096) return ELOOP;
  }
  return 0;
}

LaunchedProcess ProcessFactory::start(const LaunchRequest& request) {
  parts_.memory.write_behind().flush();
  const SupervisorOptions& options = run_.options;
  if (options.launcher) return options.launcher(request);
  if (request.trace.native_path) return supervisor::launch(request);
  return options.run_after_run != nullptr ? options.run_after_run->zygotes().launch(request)
                                          : supervisor::launch(request);
}

void ProcessFactory::begin(Process& process, LaunchedProcess launched,
                           std::unique_ptr<code::CodePatches> patches, const Scheduling& scheduling,
                           const Credentials& credentials) {
  // inotify events caused by its loader are the simulator's own file work
  const Kernel::OwnFileWork own_work(parts_.kernel, process.host_index());
  adopt(process);
  parts_.files.report_unknown(process);  // questions of the start and of the loader
  process.set_patches(std::move(patches));
  process.auxiliary_vector = std::move(launched.auxiliary_vector);
  process.region().close_fd();
  run_.tracer.record(process.host().component, TraceEvent::kProgramStarted, process.pid());
  for (const int fd : {1, 2})
    parts_.report.output(process, fd, std::as_bytes(std::span(launched.early_output[fd - 1])));
  parts_.code.report_unpatched(process);
  parts_.watch.note_other_layout(process);
  Thread* const first = make_thread(process);
  first->native.tid = launched.pid;
  first->scheduling = scheduling;
  first->credentials = credentials;
  first->publish_credentials();
  parts_.token.begin_process(process);
  if (process.family().first_of_program)
    parts_.report.program_started(process.program(), process.native_pid());
}

Thread* ProcessFactory::make_thread(Process& process, std::uint32_t slot) {
  auto& threads = process.threads();
  std::vector<bool> taken(threads.size() + 1);  // by slot - `slot`; at least one entry stays free
  for (const auto& thread : threads) {
    const std::uint32_t at = thread->slot() - slot;
    if (thread->state() != Thread::State::kDead && thread->slot() >= slot && at < taken.size())
      taken[at] = true;
  }
  slot += static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin());
  if (slot >= protocol::kMaxThreads) return nullptr;
  parts_.token.forget(process, slot);
  std::erase_if(threads, [&](const auto& thread) { return thread->slot() == slot; });
  const std::uint32_t tid = threads.empty() ? process.pid() : parts_.processes.new_pid();
  const HostSpec& host = process.host();
  threads.push_back(std::make_unique<Thread>(run_.engine, run_.choices,
                                             parts_.events.add_thread(process.host_index()), process, slot,
                                             tid, host.costs));
  if (run_.options.on_wait) threads.back()->report_waits_to(run_.options.on_wait);
  return threads.back().get();
}

}  // namespace verbatim::supervisor
