// Credentials (credentials(7)) and capabilities (capabilities(7)) of a thread. First programs have the
// same ones whatever the simulator's caller has. The program's calls change them as on Linux, without
// effect on the machine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace verbatim::supervisor {

using UserId = std::uint32_t;
using CapabilitySet = std::uint64_t;  // bit n for capability n

inline constexpr UserId kRoot = 0;
inline constexpr UserId kNoUser = ~0u;  // -1: "leave it"

// linux/capability.h. The default set of containers (containers-common) plus CAP_NET_RAW, which verbs
// programs need for Ethernet frames. Other capabilities would permit only calls that the simulator refuses.
inline constexpr int kCapChown = 0, kCapDacOverride = 1, kCapDacReadSearch = 2, kCapFowner = 3, kCapFsetId = 4, kCapKill = 5,
                     kCapSetGid = 6, kCapSetUid = 7, kCapSetPCap = 8, kCapNetBindService = 10,
                     kCapNetRaw = 13, kLastCapability = 40;
inline constexpr CapabilitySet kDefaultCapabilities = 0x800405fb | CapabilitySet{1} << kCapNetRaw;

// User or group ids: real, effective, saved, file system.
struct Ids {
  UserId real = kRoot, effective = kRoot, saved = kRoot, file_system = kRoot;
  bool has(UserId id) const { return id == real || id == effective || id == saved; }
};

class Credentials {
 public:
  const Ids& users() const { return users_; }
  const Ids& groups() const { return groups_; }
  const std::vector<UserId>& supplementary() const { return supplementary_; }
  bool may(int capability) const { return (effective_ >> capability & 1) != 0; }
  bool is_in_group(UserId group) const;
  // Whether both have the same effective and file system ids.
  bool acts_as(const Credentials& other) const;
  // Credentials by which access(2) decides: those of the real user and group.
  Credentials of_real_user() const;
  // Whether a file of that owner, group and mode (st_mode) may be used as `wanted` says: R_OK | W_OK | X_OK.
  bool may_use(UserId owner, UserId owning_group, std::uint32_t mode, int wanted) const;

  // Each returns 0 or -errno, as the system call does.
  int set_user(UserId user);
  int set_group(UserId group);
  int set_real_effective_user(UserId real, UserId effective);
  int set_real_effective_group(UserId real, UserId effective);
  int set_users(UserId real, UserId effective, UserId saved);
  int set_groups(UserId real, UserId effective, UserId saved);
  int set_supplementary(std::vector<UserId> groups);
  // Each returns the previous id, whether or not it changed.
  UserId set_file_system_user(UserId user);
  UserId set_file_system_group(UserId group);

  struct Capabilities {
    CapabilitySet effective, permitted, inheritable;
  };
  Capabilities capabilities() const { return {effective_, permitted_, inheritable_}; }
  int set_capabilities(const Capabilities& wanted);
  // prctl(2); nullopt: `option` does not concern credentials.
  std::optional<int> control(int option, std::uint64_t argument, std::uint64_t second);

  // Changes at exec, without gain of privilege (no_new_privs).
  void execute();

  // Whether a signal to `other` is permitted.
  bool may_signal(const Credentials& other) const;
  // Whether chown(2) to `user` and `group` (kNoUser: unchanged) is permitted for a file of these owners.
  bool may_give(UserId owner, UserId owning_group, UserId user, UserId group) const;

  // Lines Uid, Gid, Groups and lines Cap* of /proc/PID/status.
  std::string id_lines() const;
  std::string capability_lines() const;

 private:
  bool fixes_up() const;
  void changed_users(const Ids& before);
  int control_ambient(std::uint64_t what, std::uint64_t capability);

  Ids users_, groups_;
  std::vector<UserId> supplementary_;
  CapabilitySet effective_ = kDefaultCapabilities, permitted_ = kDefaultCapabilities, inheritable_ = 0,
                bounding_ = kDefaultCapabilities, ambient_ = 0;
  unsigned secure_bits_ = 0;
};

}  // namespace verbatim::supervisor
