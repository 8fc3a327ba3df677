#include "sim/supervisor/run_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/run_after_run.h"
#include "sim/supervisor/run_report.h"
#include "verbs_shim/protocol/path_view.h"
#include "verbs_shim/protocol/remote_shell.h"

namespace verbatim::supervisor {

void RunFiles::make(const std::vector<ProgramSpec>& programs) {
  const SupervisorOptions& options = run_.options;
  if (options.run_after_run != nullptr) {
    options.run_after_run->begin_run();
    folder_ = &options.run_after_run->folder();
  } else {
    own_folder_ = std::make_unique<RunFolder>(options.shim_directory + "/keeper");
    folder_ = own_folder_.get();
  }
  options.machine_files != nullptr ? folder_->view_machine(*options.machine_files)
  : options.views_working_folders  ? folder_->view_working_folders(programs, options.working_snapshot)
                                   : folder_->share_working_folders(programs);
  std::map<std::size_t, std::vector<const ProgramSpec*>> by_host;
  for (const ProgramSpec& program : programs) by_host[program.host].push_back(&program);
  for (const auto& [host, of_host] : by_host) {
    add_host(host, of_host);
    if (kernel_.paths_of_host(host).fit()) continue;
    return report_.finish(
        Outcome::kNotStarted,
        fmt::format(
            "{}: its programs name more than {} files and folders in their arguments and environment, or longer "
            "names than {} bytes; name a folder above them",
            run_.hosts[host].name, protocol::kMostPathRows, protocol::kPathText));
  }
}

void RunFiles::add_host(std::size_t host, const std::vector<const ProgramSpec*>& programs) {
  folder_->add_host(run_.hosts[host], programs, run_.options.epoch_ns / 1'000'000'000,
                    kernel_.paths_of_host(host));
  // Programs of the host cannot run as elsewhere.
  kernel_.paths_of_host(host).report_refused_folders_to([this, host](int error) {
    report_.finish(Outcome::kMachine, fmt::format("the machine refused a folder for the files of host {} in {}: {} (set TMPDIR)",
                                                  run_.hosts[host].name, folder_->path(), std::strerror(error)));
  });
  show_remote_shell(host);
}

void RunFiles::add_host(std::size_t host, const std::vector<ProgramSpec>& programs) {
  const std::string& name = run_.hosts[host].name;
  if (std::ranges::any_of(folder_->hosts(), [&](const auto& own) { return own.name == name; })) return;
  // The files of all programs of the scenario are visible on this host too: any of them may be started here.
  std::vector<const ProgramSpec*> all;
  for (const ProgramSpec& program : programs) all.push_back(&program);
  add_host(host, all);
}

void RunFiles::show_remote_shell(std::size_t host) {
  HostPaths& paths = kernel_.paths_of_host(host);
  const std::string near = run_.options.shim_directory + "/ssh", far = run_.options.shim_directory + "/sshd";
  paths.add(VERBATIM_SSH_PATH, near);
  paths.add(VERBATIM_RSH_PATH, near);
  if (run_.options.terminal_user != nullptr) paths.add(VERBATIM_ON_PATH, near);
  paths.add(VERBATIM_SSHD_PATH, far);
}

int RunFiles::ruleset_of(std::size_t host) {
  if (!run_.options.changes_only_in) return -1;
  auto found = confinements_.find(host);
  if (found == confinements_.end()) {
    std::vector<std::string> folders = *run_.options.changes_only_in;
    HostPaths& paths = kernel_.paths_of_host(host);
    paths.make_folders();  // a rule needs an existing folder
    if (FolderViews* const views = paths.views(); views != nullptr) {
      views->make_roots();
      for (std::string& folder : folders) {
        if (const std::string copy = views->copy_of(folder); !copy.empty()) folder = copy;
      }
    }
    for (const RunFolder::Host& known : folder_->hosts()) {
      if (known.name == run_.hosts[host].name) folders.push_back(known.folder);
    }
    found = confinements_.try_emplace(host, std::move(folders)).first;
    paths.confine(found->second);
  }
  return found->second.ruleset();
}

std::int64_t RunFiles::answer_about_view(Thread& thread, const request::View& asked) {
  Process& process = thread.process();
  const Kernel::OwnFileWork own_work(kernel_, process.host_index());
  const std::span<std::byte> mailbox = process.region().mailbox(thread.slot());
  FolderViews* const views = kernel_.paths_of(process).views();
  const char* const text = reinterpret_cast<const char*>(mailbox.data());
  const std::string path(text, ::strnlen(text, protocol::kPathRoom - 1));
  if (asked.step == protocol::ViewStep::kWritten) return warn_of_other_run(path), 0;
  if (views == nullptr) return -EINVAL;
  switch (asked.step) {
    case protocol::ViewStep::kPrepare: {
      const FolderViews::Prepared prepared = views->prepare(path, asked.argument);
      report_unknown(process);
      std::memcpy(mailbox.data(), prepared.path.c_str(),
                  std::min<std::size_t>(prepared.path.size() + 1, protocol::kPathRoom));
      return prepared.error != 0     ? -prepared.error
             : prepared.path == path ? protocol::kUseCopy
                                     : protocol::kUseOriginal;
    }
    case protocol::ViewStep::kMade:
    case protocol::ViewStep::kListed: {
      protocol::FileNumber file;
      std::memcpy(&file, mailbox.data(), sizeof file);
      asked.step == protocol::ViewStep::kMade ? views->note_made(file.device, file.inode)
                                              : views->note_listed(file.device, file.inode);
      return 0;
    }
    case protocol::ViewStep::kLook: {
      const auto count = static_cast<std::uint64_t>(asked.argument);
      if (count > mailbox.size() / sizeof(protocol::ViewedFile)) return -EINVAL;
      for (std::uint64_t i = 0; i < count; ++i) {
        protocol::ViewedFile file;
        std::byte* const at = mailbox.data() + i * sizeof file;
        std::memcpy(&file, at, sizeof file);
        views->look(file);
        std::memcpy(at, &file, sizeof file);
      }
      return 0;
    }
    case protocol::ViewStep::kWritten:
      break;
  }
  return -EINVAL;
}

void RunFiles::report_unknown(Process& process) {
  MachineFiles* const files = run_.options.machine_files;
  if (files == nullptr) return;
  if (const std::string damage = files->damage(); !damage.empty()) return report_.finish(Outcome::kMachine, damage);
  const std::string path = files->unknown();
  if (path.empty()) return;
  files->forget_unknown();
  if (run_.options.lets_unknown_calls_through)
    return report_.warn(process, fmt::format("the bundle does not know {}; the program got ENOENT", path), true);
  report_.finish(Outcome::kMachine,
                 fmt::format("{} looks at {}, which the bundle does not know: the packed run did not look there; pack a run "
                             "that does, or allow it as missing with --strict=warn",
                             report_.title(process), path));
}

// The warning depends on the machine and is no part of the trace.
void RunFiles::warn_of_other_run(const std::string& folder) {
  const pid_t other = folder_->other_run_in(folder);
  if (other == 0 || !met_other_run_in_.insert(folder).second) return;
  report_.warn_of_run(fmt::format(
      "programs of this run write to {}, where another run (process {}) works at the same time: each may "
      "find the other's files; start one of them in another folder",
      folder, other));
}

void RunFiles::finish(const std::function<bool()>& is_interrupted) {
  const SupervisorOptions& options = run_.options;
  RunResult& result = report_.result();
  for (const auto& [name, folder, made_first, to_make] : folder_->hosts()) {
    if (!options.on_files) break;
    if (access(folder.c_str(), F_OK) != 0) continue;  // no program has used it
    const auto host = std::find_if(run_.hosts.begin(), run_.hosts.end(),
                                   [&name = name](const HostSpec& h) { return h.name == name; });
    for (std::string& failure : options.on_files(host->component, folder, made_first))
      result.warnings.push_back(std::move(failure));
  }
  if (!options.keep_files_in.empty()) {
    KeptFiles kept = folder_->keep_in(options.keep_files_in, is_interrupted);
    result.not_kept = std::move(kept.failures);
    if (!kept.left_out.empty()) result.warnings.push_back(std::move(kept.left_out));
    if (kept.is_interrupted) result.outcome = Outcome::kInterrupted;
  }
  if (folder_->views() != nullptr) result.working_files = folder_->views()->snapshot();
  options.run_after_run != nullptr ? folder_->clear() : own_folder_.reset();
}

}  // namespace verbatim::supervisor
