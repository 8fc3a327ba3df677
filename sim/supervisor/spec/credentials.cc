#include "sim/supervisor/spec/credentials.h"

#include <fmt/format.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace verbatim::supervisor {

namespace {

// CAP_FS_SET: capabilities for files, which follow the file-system user id.
constexpr CapabilitySet kFileCapabilities = 1ull << 0 | 1ull << 1 | 1ull << 2 | 1ull << 3 | 1ull << 4 | 1ull << 9 |
                                            1ull << 27 | 1ull << 32;

bool is_capability(std::uint64_t number) { return number <= kLastCapability; }

// setresuid and setresgid.
int set_three(Ids& ids, bool privileged, UserId real, UserId effective, UserId saved) {
  for (const UserId id : {real, effective, saved}) {
    if (id != kNoUser && !privileged && !ids.has(id)) return -EPERM;
  }
  if (real != kNoUser) ids.real = real;
  if (effective != kNoUser) ids.effective = effective;
  if (saved != kNoUser) ids.saved = saved;
  ids.file_system = ids.effective;
  return 0;
}

// setreuid and setregid.
int set_two(Ids& ids, bool privileged, UserId real, UserId effective) {
  if (real != kNoUser && !privileged && real != ids.real && real != ids.effective) return -EPERM;
  if (effective != kNoUser && !privileged && !ids.has(effective)) return -EPERM;
  const UserId real_before = ids.real;
  if (real != kNoUser) ids.real = real;
  if (effective != kNoUser) ids.effective = effective;
  if (real != kNoUser || (effective != kNoUser && effective != real_before)) ids.saved = ids.effective;
  ids.file_system = ids.effective;
  return 0;
}

// setuid and setgid.
int set_one(Ids& ids, bool privileged, UserId id) {
  if (id == kNoUser) return -EINVAL;
  if (privileged) {
    ids.real = ids.saved = id;
  } else if (id != ids.real && id != ids.saved) {
    return -EPERM;
  }
  ids.effective = ids.file_system = id;
  return 0;
}

UserId set_of_files(Ids& ids, bool privileged, UserId id) {
  const UserId before = ids.file_system;
  if (id != kNoUser && (privileged || ids.has(id) || id == before)) ids.file_system = id;
  return before;
}

}  // namespace

bool Credentials::is_in_group(UserId group) const {
  return group == groups_.file_system ||
         std::find(supplementary_.begin(), supplementary_.end(), group) != supplementary_.end();
}

bool Credentials::acts_as(const Credentials& other) const {
  const auto same = [](const Ids& a, const Ids& b) { return a.effective == b.effective && a.file_system == b.file_system; };
  return same(users_, other.users_) && same(groups_, other.groups_);
}

Credentials Credentials::of_real_user() const {
  Credentials real = *this;
  real.users_.file_system = users_.real;
  real.groups_.file_system = groups_.real;
  if (fixes_up()) real.effective_ = users_.real == kRoot ? permitted_ : 0;
  return real;
}

// As generic_permission() of Linux.
bool Credentials::may_use(UserId owner, UserId owning_group, std::uint32_t mode, int wanted) const {
  const unsigned shift = owner == users_.file_system ? 6 : is_in_group(owning_group) ? 3 : 0;
  if ((static_cast<unsigned>(wanted) & ~(mode >> shift) & 7) == 0) return true;
  const bool is_folder = S_ISDIR(mode);
  constexpr std::uint32_t kAnyExecutes = S_IXUSR | S_IXGRP | S_IXOTH;
  if (may(kCapDacOverride) && (is_folder || (wanted & X_OK) == 0 || (mode & kAnyExecutes) != 0)) return true;
  return may(kCapDacReadSearch) && (is_folder ? (wanted & W_OK) == 0 : wanted == R_OK);
}

bool Credentials::fixes_up() const { return (secure_bits_ & SECBIT_NO_SETUID_FIXUP) == 0; }

// As cap_task_fix_setuid() of Linux: a process that is no longer root loses its capabilities.
void Credentials::changed_users(const Ids& before) {
  if (!fixes_up()) return;
  const bool was_root = before.has(kRoot), is_root = users_.has(kRoot);
  if (was_root && !is_root) {
    if ((secure_bits_ & SECBIT_KEEP_CAPS) == 0) permitted_ = effective_ = 0;
    ambient_ = 0;
  }
  if (before.effective == kRoot && users_.effective != kRoot) effective_ = 0;
  if (before.effective != kRoot && users_.effective == kRoot) effective_ = permitted_;
}

int Credentials::set_user(UserId user) {
  const Ids before = users_;
  const int error = set_one(users_, may(kCapSetUid), user);
  if (error == 0) changed_users(before);
  return error;
}

int Credentials::set_real_effective_user(UserId real, UserId effective) {
  const Ids before = users_;
  const int error = set_two(users_, may(kCapSetUid), real, effective);
  if (error == 0) changed_users(before);
  return error;
}

int Credentials::set_users(UserId real, UserId effective, UserId saved) {
  const Ids before = users_;
  const int error = set_three(users_, may(kCapSetUid), real, effective, saved);
  if (error == 0) changed_users(before);
  return error;
}

int Credentials::set_group(UserId group) { return set_one(groups_, may(kCapSetGid), group); }

int Credentials::set_real_effective_group(UserId real, UserId effective) {
  return set_two(groups_, may(kCapSetGid), real, effective);
}

int Credentials::set_groups(UserId real, UserId effective, UserId saved) {
  return set_three(groups_, may(kCapSetGid), real, effective, saved);
}

int Credentials::set_supplementary(std::vector<UserId> groups) {
  if (!may(kCapSetGid)) return -EPERM;
  if (std::find(groups.begin(), groups.end(), kNoUser) != groups.end()) return -EINVAL;
  supplementary_ = std::move(groups);
  std::sort(supplementary_.begin(), supplementary_.end());  // the kernel sorts them too
  return 0;
}

UserId Credentials::set_file_system_user(UserId user) {
  const UserId before = set_of_files(users_, may(kCapSetUid), user), now = users_.file_system;
  if (!fixes_up()) return before;
  if (before == kRoot && now != kRoot) effective_ &= ~kFileCapabilities;
  if (before != kRoot && now == kRoot) effective_ |= permitted_ & kFileCapabilities;
  return before;
}

UserId Credentials::set_file_system_group(UserId group) { return set_of_files(groups_, may(kCapSetGid), group); }

int Credentials::set_capabilities(const Capabilities& wanted) {
  const CapabilitySet may_inherit = inheritable_ | (may(kCapSetPCap) ? bounding_ : permitted_);
  if ((wanted.inheritable & ~may_inherit) != 0 || (wanted.inheritable & ~(inheritable_ | bounding_)) != 0 ||
      (wanted.permitted & ~permitted_) != 0 || (wanted.effective & ~wanted.permitted) != 0) {
    return -EPERM;
  }
  effective_ = wanted.effective;
  permitted_ = wanted.permitted;
  inheritable_ = wanted.inheritable;
  ambient_ &= permitted_ & inheritable_;
  return 0;
}

int Credentials::control_ambient(std::uint64_t what, std::uint64_t capability) {
  if (what == PR_CAP_AMBIENT_CLEAR_ALL) {
    if (capability != 0) return -EINVAL;
    ambient_ = 0;
    return 0;
  }
  if (!is_capability(capability)) return -EINVAL;
  const CapabilitySet bit = 1ull << capability;
  switch (what) {
    case PR_CAP_AMBIENT_IS_SET:
      return (ambient_ & bit) != 0 ? 1 : 0;
    case PR_CAP_AMBIENT_RAISE:
      if ((permitted_ & inheritable_ & bit) == 0 || (secure_bits_ & SECBIT_NO_CAP_AMBIENT_RAISE) != 0) return -EPERM;
      ambient_ |= bit;
      return 0;
    case PR_CAP_AMBIENT_LOWER:
      ambient_ &= ~bit;
      return 0;
    default:
      return -EINVAL;
  }
}

std::optional<int> Credentials::control(int option, std::uint64_t argument, std::uint64_t second) {
  switch (option) {
    case PR_CAPBSET_READ:
      return !is_capability(argument) ? -EINVAL : static_cast<int>(bounding_ >> argument & 1);
    case PR_CAPBSET_DROP:
      if (!is_capability(argument)) return -EINVAL;
      if (!may(kCapSetPCap)) return -EPERM;
      bounding_ &= ~(1ull << argument);
      return 0;
    case PR_CAP_AMBIENT:
      return control_ambient(argument, second);
    case PR_GET_SECUREBITS:
      return static_cast<int>(secure_bits_);
    case PR_SET_SECUREBITS: {
      const auto wanted = static_cast<unsigned>(argument);
      const unsigned locks = (secure_bits_ & SECURE_ALL_LOCKS) >> 1;
      if ((argument & ~static_cast<std::uint64_t>(SECURE_ALL_LOCKS | SECURE_ALL_BITS)) != 0 ||
          (locks & (secure_bits_ ^ wanted)) != 0 || (secure_bits_ & SECURE_ALL_LOCKS & ~wanted) != 0 || !may(kCapSetPCap)) {
        return -EPERM;
      }
      secure_bits_ = wanted;
      return 0;
    }
    case PR_GET_KEEPCAPS:
      return (secure_bits_ & SECBIT_KEEP_CAPS) != 0 ? 1 : 0;
    case PR_SET_KEEPCAPS:
      if (argument > 1) return -EINVAL;
      if ((secure_bits_ & SECBIT_KEEP_CAPS_LOCKED) != 0) return -EPERM;
      secure_bits_ = argument != 0 ? secure_bits_ | SECBIT_KEEP_CAPS : secure_bits_ & ~SECBIT_KEEP_CAPS;
      return 0;
    default:
      return std::nullopt;
  }
}

void Credentials::execute() {
  const bool root_counts = (secure_bits_ & SECBIT_NOROOT) == 0;
  const CapabilitySet before = permitted_;
  if (root_counts && (users_.effective == kRoot || users_.real == kRoot)) {
    permitted_ = (inheritable_ | bounding_) & before;
    effective_ = users_.effective == kRoot ? permitted_ : ambient_;
  } else {
    permitted_ = effective_ = ambient_;
  }
  ambient_ &= permitted_;
  users_.saved = users_.file_system = users_.effective;
  groups_.saved = groups_.file_system = groups_.effective;
  secure_bits_ &= ~static_cast<unsigned>(SECBIT_KEEP_CAPS);
}

bool Credentials::may_signal(const Credentials& other) const {
  const auto is_other = [&](UserId user) { return user == other.users_.saved || user == other.users_.real; };
  return is_other(users_.effective) || is_other(users_.real) || may(kCapKill);
}

bool Credentials::may_give(UserId owner, UserId owning_group, UserId user, UserId group) const {
  if (may(kCapChown)) return true;
  if (user != kNoUser && user != owner) return false;
  const bool keeps_group = group == kNoUser || group == owning_group;
  return owner == users_.file_system ? keeps_group || is_in_group(group)
                                     : user == kNoUser && group == kNoUser;
}

std::string Credentials::id_lines() const {
  std::string text;
  for (const auto& [name, ids] : {std::pair{"Uid", users_}, std::pair{"Gid", groups_}})
    text += fmt::format("{}:\t{}\t{}\t{}\t{}\n", name, ids.real, ids.effective, ids.saved, ids.file_system);
  text += "FDSize:\t64\nGroups:\t";
  for (const UserId group : supplementary_) text += fmt::format("{} ", group);
  return text + "\n";
}

std::string Credentials::capability_lines() const {
  return fmt::format("CapInh:\t{:016x}\nCapPrm:\t{:016x}\nCapEff:\t{:016x}\nCapBnd:\t{:016x}\nCapAmb:\t{:016x}\n",
                     inheritable_, permitted_, effective_, bounding_, ambient_);
}

}  // namespace verbatim::supervisor
