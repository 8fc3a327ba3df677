#include "sim/supervisor/machine/zygotes.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "sim/supervisor/code/code_files.h"
#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

namespace {

// Header and first slot of a new process's region.
struct RegionImage {
  std::vector<std::byte> header = std::vector<std::byte>(sizeof(protocol::RegionHeader));
  std::vector<std::byte> slot = std::vector<std::byte>(sizeof(protocol::ThreadSlot));

  bool read(int region) {
    return pread(region, header.data(), header.size(), 0) == static_cast<ssize_t>(header.size()) &&
           pread(region, slot.data(), slot.size(), protocol::kThreadsOffset) == static_cast<ssize_t>(slot.size());
  }
  template <class Field>
  static Field field(const std::vector<std::byte>& bytes, std::size_t offset) {
    Field field;
    std::memcpy(&field, bytes.data() + offset, sizeof field);
    return field;
  }
};

// All inputs of a start. nullopt: a copy cannot be used.
std::optional<std::string> key_of(const LaunchRequest& request) {
  RegionImage image;
  const bool brings_files = request.ruleset_fd >= 0 || !request.placeholders.empty() || !request.descriptors.empty();
  if (brings_files || !image.read(request.region_fd)) return std::nullopt;
  std::string key;
  const auto add = [&key](const void* bytes, std::size_t size) {
    key.append(reinterpret_cast<const char*>(&size), sizeof size);
    key.append(static_cast<const char*>(bytes), size);
  };
  const auto add_text = [&](const std::string& text) { add(text.data(), text.size()); };
  const auto add_number = [&](std::uint64_t number) { add(&number, sizeof number); };
  for (const auto* texts : {&request.arguments, &request.environment}) {
    add_number(texts->size());
    for (const std::string& text : *texts) add_text(text);
  }
  for (const std::string* text : {&request.path, &request.working_directory, &request.shim_directory, &request.trace.seen_path})
    add_text(*text);
  add(request.trace.random_bytes.data(), request.trace.random_bytes.size());
  add(request.trace.cpuid.data(), request.trace.cpuid.size_bytes());
  const Credentials& who = request.trace.credentials;
  for (const auto* ids : {&who.users(), &who.groups()}) {
    add_number(ids->real);
    add_number(ids->effective);
  }
  add(request.ignored_signals.data(), request.ignored_signals.size() * sizeof(int));
  using Header = protocol::RegionHeader;
  using Slot = protocol::ThreadSlot;
  for (const std::uint64_t number :
       {std::uint64_t{request.trace.extended_control}, std::uint64_t{request.trace.stops_at_memory_maps},
        std::uint64_t{request.trace.removes_vdso}, std::uint64_t{request.switches_randomisation_off},
        static_cast<std::uint64_t>(request.own_descriptors),
        static_cast<std::uint64_t>(request.core), static_cast<std::uint64_t>(request.passage_fd), std::uint64_t{request.umask},
        request.signal_mask, std::uint64_t{request.patches->replaces_calls()},
        RegionImage::field<std::uint64_t>(image.header, offsetof(Header, shim_heap_size)),
        std::uint64_t{RegionImage::field<std::uint8_t>(image.header, offsetof(Header, closed_standard))},
        std::uint64_t{RegionImage::field<std::uint32_t>(image.slot, offsetof(Slot, virtual_tid))},
        RegionImage::field<std::uint64_t>(image.slot, offsetof(Slot, signal_mask))}) {
    add_number(number);
  }
  add(image.header.data() + offsetof(Header, dispositions), sizeof(Header::dispositions));
  return key;
}

}  // namespace

Zygotes::~Zygotes() {
  for (auto& [key, zygote] : zygotes_) end(zygote);
}

void Zygotes::end(Zygote& zygote) {
  if (zygote.pid < 0) return;
  end_child(std::exchange(zygote.pid, -1));
}

std::vector<FileIdentity> Zygotes::identities_of(const Zygote& zygote, const LaunchRequest& request) {
  const auto identity_at = [](const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 ? identity_of(status) : FileIdentity();
  };
  std::vector<FileIdentity> all;
  for (const std::string& path : zygote.code_files) all.push_back(identity_at(path));
  for (const std::string& path :
       {request.path, request.working_directory.empty() ? std::string(".") : request.working_directory,
        std::string("/etc/ld.so.cache"), std::string("/etc/ld.so.preload")}) {
    all.push_back(identity_at(path));
  }
  return all;
}

bool Zygotes::is_ready(Zygote& zygote) {
  auto& message = zygote.region->header().message;
  int looks = 0;
  return protocol::take(message, [&] {
    constexpr int kMost = 50;  // looks of 0.2 s: the zygote has nothing else to do
    constexpr timespec kGlance = {0, 200'000'000};
    syscall(SYS_futex, &message, FUTEX_WAIT, static_cast<std::uint32_t>(protocol::Baton::kAsleep), &kGlance, nullptr, 0);
    if (message.load(std::memory_order_relaxed) == protocol::Baton::kHandedOver) return true;
    siginfo_t info{};
    const bool has_ended =
        waitid(P_PID, static_cast<id_t>(zygote.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == zygote.pid;
    return !has_ended && ++looks < kMost;
  });
}

Zygotes::Zygote* Zygotes::make(const std::string& key, const LaunchRequest& request) {
  if (zygotes_.size() >= kMost) return nullptr;
  RegionImage image;
  Zygote zygote;
  try {
    zygote.region = std::make_unique<ProcessRegion>();
  } catch (const std::system_error&) {
    return nullptr;
  }
  if (!image.read(request.region_fd)) return nullptr;
  std::memcpy(static_cast<void*>(&zygote.region->header()), image.header.data(), image.header.size());
  std::memcpy(static_cast<void*>(&zygote.region->slot(0)), image.slot.data(), image.slot.size());
  zygote.region->header().is_zygote = 1;
  LaunchRequest own = request;
  own.region_fd = zygote.region->fd();
  zygote.patches = std::make_unique<code::CodePatches>(*request.patches);
  own.patches = zygote.patches.get();
  const std::set<std::string> before = request.code_files->take_asked();
  LaunchedProcess launched = supervisor::launch(own);
  zygote.code_files = request.code_files->paths();
  request.code_files->note_asked(before);
  zygote.region->close_fd();
  zygote.pid = launched.pid;
  if (!launched.error.empty() || zygote.pid < 0) return nullptr;
  for (int fd = 0; fd < 2; ++fd) zygote.early_output[fd] = std::move(launched.early_output[fd]);
  zygote.auxiliary_vector = std::move(launched.auxiliary_vector);
  zygote.identities = identities_of(zygote, request);
  if (!is_ready(zygote)) {  // for example it ended in its loader
    end(zygote);
    return nullptr;
  }
  zygote.patches->keep_waiting_jumps();
  // Searches and replaces system calls once here; in the copies none has to trap repeatedly first.
  if (zygote.patches->replaces_calls()) {
    ProcessMemory memory(zygote.pid);
    for (const code::FileCode* const file : zygote.patches->files()) {
      const auto* const calls = request.code_files->calls_of(*file, code::CodeFiles::kTrapsWorthSearch);
      zygote.patches->replace_calls(memory, *file, *calls);
    }
  }
  return &(zygotes_[key] = std::move(zygote));
}

LaunchedProcess Zygotes::launch(const LaunchRequest& request) {
  const std::optional<std::string> key = key_of(request);
  if (!key) return supervisor::launch(request);
  auto found = zygotes_.find(*key);
  if (found != zygotes_.end() && found->second.identities != identities_of(found->second, request)) {
    end(found->second);
    zygotes_.erase(found);
    found = zygotes_.end();
  }
  Zygote* const zygote = found != zygotes_.end() ? &found->second : make(*key, request);
  if (zygote == nullptr) return supervisor::launch(request);
  // Loops in which an earlier copy has waited trap in this one from the start.
  ProcessMemory memory(zygote->pid);
  zygote->patches->trap_waiting_jumps(memory);
  protocol::ThreadSlot& slot = zygote->region->slot(0);
  if (!passage_.put(dup(request.region_fd))) return supervisor::launch(request);
  if (protocol::hand_over(slot.go)) syscall(SYS_futex, &slot.go, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  const bool answered = is_ready(*zygote);
  if (!answered || slot.result <= 0) {
    passage_.clear();
    end(*zygote);
    zygotes_.erase(*key);
    return supervisor::launch(request);
  }
  ++copies_;
  LaunchedProcess launched;
  launched.pid = static_cast<pid_t>(slot.result);
  for (int fd = 0; fd < 2; ++fd) launched.early_output[fd] = zygote->early_output[fd];
  launched.auxiliary_vector = zygote->auxiliary_vector;
  *request.patches = *zygote->patches;
  request.code_files->note_asked({zygote->code_files.begin(), zygote->code_files.end()});
  return launched;
}

}  // namespace verbatim::supervisor
