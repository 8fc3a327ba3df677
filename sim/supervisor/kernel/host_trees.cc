#include "sim/supervisor/kernel/host_trees.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>

#include "sim/supervisor/kernel/terminals.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/trees/host_tree.h"
#include "sim/supervisor/trees/process_tree.h"
#include "sim/supervisor/trees/virtual_paths.h"

namespace verbatim::supervisor {

TreeWalk HostTrees::walk(Thread& thread, const std::string& path, bool follow) {
  const bool plain = path.starts_with('/') && (path + "/").find("/./") == std::string::npos &&
                     (path + "/").find("/../") == std::string::npos;
  if (!path.starts_with('/') || (plain && host_of(thread).paths.has_row(path)))
    return {TreeWalk::End::kOut, false, path, nullptr, nullptr, -1};
  std::shared_ptr<const VirtualTree> processes;  // one tree for the whole walk
  return walk_trees(path, follow, [&](const std::string& at) -> std::shared_ptr<const VirtualTree> {
    if (!host_of(thread).paths.in_tree(at)) return nullptr;
    if (!is_below(at, "/proc")) return tree_of(thread, at);
    // The process whose descriptors are listed is named in the whole path; /dev/fd leads to the caller's own.
    if (processes == nullptr) processes = tree_of(thread, is_below(path, "/proc") ? path : at);
    return processes;
  });
}

std::shared_ptr<const VirtualTree> HostTrees::tree_of(Thread& thread, const std::string& path) {
  HostKernel& own = host_of(thread);
  if (is_below(path, "/proc")) {
    return make_process_tree(thread,
                             {services_.table, services_.now(), services_.options.epoch_ns,
                              [&own](const VirtualFilePtr& file) { return link_of(own, file); },
                              [&own](const VirtualFilePtr& file) { return own.number_of(*file); },
                              [&own](std::uint64_t device, std::uint64_t inode) {
                                return own.own_files.meet({device, inode}).number;
                              },
                              [&own](Process& process) { return terminal_in_proc(own, process); }, own.paths,
                              own.huge_pages, process_of_descriptors(path), own.sysv_ipc.lines()});
  }
  auto& tree = own.tree;
  if (tree == nullptr) {
    if (hosts_file_ == nullptr) hosts_file_ = std::make_shared<const std::string>(hosts_file(hosts_));
    const HostSpec& host = thread.process().host();
    tree = make_host_tree(make_common_tree(host.timestamp_counter_hz), host, hosts_file_, own.huge_pages);
    for (const auto& [number, terminal] : own.terminals)
      tree->add_device("/dev/pts/" + std::to_string(number), Terminal::kMajor, number);
  }
  if (!own.terminals.empty()) forget_terminals(own);
  return tree;
}

std::uint32_t process_of_descriptors(const std::string& path) {
  unsigned pid = 0;
  int length = 0;
  return std::sscanf(path.c_str(), "/proc/%u/fd%n", &pid, &length) == 1 && length != 0 ? pid : 0;
}

std::string link_of(HostKernel& host, const VirtualFilePtr& file) {
  if (!file->tree_path().empty()) return file->tree_path();
  const std::uint64_t number = host.number_of(*file);
  if (S_ISSOCK(file->mode())) return fmt::format("socket:[{}]", number);
  if (S_ISFIFO(file->mode())) return fmt::format("pipe:[{}]", number);
  const std::string text = file->link_text();
  return text.empty() ? fmt::format("anon_inode:[{}]", file->describe()) : text;
}

}  // namespace verbatim::supervisor
