#include "sim/supervisor/machine/confinement.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/core/open_file.h"

namespace verbatim::supervisor {

namespace {

// Layout of linux/landlock.h since Linux 6.12; older kernels are given the size that they know.
struct RulesetAttributes {
  std::uint64_t files, network, scopes;
};

constexpr std::uint64_t kTruncate = 1ull << 14;            // LANDLOCK_ACCESS_FS_TRUNCATE
constexpr std::uint64_t kBindAndConnect = 3;               // LANDLOCK_ACCESS_NET_BIND_TCP, _CONNECT_TCP
constexpr std::uint64_t kAbstractSocketsAndSignals = 3;    // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, _SIGNAL
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr std::uint64_t kOfFolders = LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;

// Real devices that programs may write to; they are the same on every machine.
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/full"};

// Version of the kernel's Landlock; less than 1: none, errno gives the reason.
long version() { return syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION); }

std::uint64_t files_of(long version) {
  return LANDLOCK_ACCESS_FS_WRITE_FILE | (kOfFolders & (version < 2 ? ~std::uint64_t{LANDLOCK_ACCESS_FS_REFER} : ~0ull)) |
         (version < 3 ? 0 : kTruncate);
}

std::size_t size_of(long version) {
  return sizeof(std::uint64_t) * (version < 4 ? 1 : version < 6 ? 2 : 3);
}

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

std::string Confinement::reason_of_lack() {
  if (version() >= 1) return {};
  switch (errno) {
    case ENOSYS:
      return "its kernel has no Landlock, which came with Linux 5.13";
    case EOPNOTSUPP:
      return "its kernel was started without Landlock (lsm=landlock)";
    default:
      return std::string("Landlock is refused: ") + std::strerror(errno);
  }
}

Confinement::Confinement(std::vector<std::string> folders) {
  const long known = version();
  const RulesetAttributes attributes{files_of(known), kBindAndConnect, kAbstractSocketsAndSignals};
  ruleset_ = static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size_of(known), 0));
  if (ruleset_ < 0) fail("landlock_create_ruleset");
  const auto add = [&](const std::string& path, std::uint64_t accesses) {
    const int at = open_file(path, O_PATH | O_CLOEXEC);
    if (at < 0) return false;
    const landlock_path_beneath_attr rule{.allowed_access = accesses & files_of(known), .parent_fd = at};
    const long added = syscall(SYS_landlock_add_rule, ruleset_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    const int error = errno;
    close(at);
    errno = error;
    if (added != 0) fail("landlock_add_rule for " + path);
    return true;
  };
  try {
    for (const std::string& folder : folders) {
      std::error_code error;
      const std::string real = std::filesystem::canonical(folder, error).string();
      if (!error && add(real, kOfFiles | kOfFolders)) folders_.push_back(real);
    }
    for (const char* const device : kDevices) add(device, kOfFiles);
  } catch (...) {
    close(ruleset_);
    throw;
  }
}

Confinement::~Confinement() { close(ruleset_); }

bool Confinement::allows(const std::string& path) const {
  std::error_code error;
  const std::string folder = std::filesystem::canonical(std::filesystem::path(path).parent_path(), error).string();
  return !error && std::ranges::any_of(folders_, [&](const std::string& allowed) {
    return folder.starts_with(allowed) && (allowed == "/" || folder.size() == allowed.size() || folder[allowed.size()] == '/');
  });
}

}  // namespace verbatim::supervisor
