// Finds profiles by the references of topologies: a file beside the topology, or a name in the profile
// folders.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "sim/config/fields.h"
#include "sim/config/load.h"
#include "sim/config/resolve_congestion.h"

namespace verbatim::config {

// Parses lists of lanes, and checks that every lane of a port can send.
void resolve_arbitration(fabric::ArbitrationTables& tables, std::uint32_t lanes, const std::string& file,
                       Diagnostics& diagnostics);

// Converts ranges of DSCP values to numbers; each value may have one priority only.
void resolve_dscp_mappings(std::vector<fabric::DscpMapping>& mappings, const std::string& file, Diagnostics& diagnostics);

// Adds findings for values of the key `congestion_control` that do not go together.
void check_congestion_control(const hca::CongestionControl& control, const std::string& file, Diagnostics& diagnostics);

// If `change` of an adapter profile has another controller than the profile, removes the profile's parameters of the
// controller, which then has its own. base_round_trip and those of notifications belong to no controller, and stay.
void leave_out_other_controller(Json& profile, const Json& change);

// Reads a profile from JSON: checks the table first, then what involves several values.
template <class Profile>
void read_profile(const Json& json, const Object& table, const std::string& path, Profile* profile, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  check_object(json, table, profile, path, "", diagnostics);
  if constexpr (requires { profile->congestion_control; }) {
    check_congestion_control(profile->congestion_control, path, diagnostics);
  }
  if constexpr (requires { profile->arbitration; }) {
    if (diagnostics.findings().size() != before) return;
    resolve_arbitration(profile->arbitration, profile->virtual_lanes, path, diagnostics);
    resolve_dscp_mappings(profile->dscp_to_priority, path, diagnostics);
  }
  if constexpr (requires { profile->marking; }) {
    resolve_marking(profile->marking, path, diagnostics);
  }
}

// Whether the file exists, among the kept files or on the machine.
bool is_there(const std::string& path, const LoadOptions& options);

// Sets the values of `change` in a profile: objects are merged, all other values replaced with their sources.
void apply_change(Json& profile, const Json& change);

// Reads each profile once, also if many hosts name it; so its findings, or that it is missing, are reported
// once. Applies the changes that the topology makes to it (profile_changes).
class ProfileReader {
 public:
  // `changes`: an object of objects by reference, as text; or empty.
  ProfileReader(const LoadOptions& options, const std::string& file, const std::string& changes, Diagnostics& diagnostics)
      : options_(options),
        file_(file),
        diagnostics_(diagnostics),
        changes_(changes.empty() ? Json::object() : Json::parse(changes)) {}

  // `pointer` is the place of the reference in the topology's file.
  template <class Profile>
  void resolve(const std::string& reference, const Object& table, FileKind kind, const std::string& pointer, Profile* target) {
    const std::string path = find(reference, kind, pointer);
    if (path.empty()) return;
    used_.insert(reference);
    const bool is_changed = changes_.contains(reference);
    auto [entry, is_new] = cache_.try_emplace({kind, is_changed ? path + "\n" + reference : path});
    if (is_new) {
      auto profile = std::make_shared<Profile>();
      auto json = json_of(path, reference, kind, pointer);
      const std::size_t before = diagnostics_.findings().size();
      if (json) read_profile(*json, table, path, profile.get(), diagnostics_);
      if (json && is_changed && diagnostics_.findings().size() == before) {
        Diagnostics of_change;
        leave_out_other_controller(*json, changes_[reference]);
        apply_change(*json, changes_[reference]);
        profile = std::make_shared<Profile>();
        read_profile(*json, table, file_, profile.get(), of_change);
        add_findings(of_change, reference);
      }
      entry->second = profile;
    }
    *target = *std::static_pointer_cast<Profile>(entry->second);
  }

  // After all resolve(): adds a finding for each change of a profile that nothing has.
  void check_changes();

 private:
  // Adds the findings about the values that the topology changes. Unchanged values of the profile have none.
  void add_findings(const Diagnostics& of_change, const std::string& reference);
  // The path; "" with a finding if there is none.
  std::string find(const std::string& reference, FileKind kind, const std::string& pointer);
  std::optional<Json> json_of(const std::string& path, const std::string& reference, FileKind kind, const std::string& pointer);
  // Names of all profiles of a kind that can be referenced, sorted.
  std::vector<std::string> known(FileKind kind) const;
  std::string hint(const std::string& reference, FileKind kind) const;

  const LoadOptions& options_;
  const std::string& file_;
  Diagnostics& diagnostics_;
  const Json changes_;
  std::set<std::string> used_;  // references
  std::map<std::pair<FileKind, std::string>, std::shared_ptr<void>> cache_;  // by path, with changes also by reference
  std::set<std::pair<FileKind, std::string>> missing_;                       // by reference
};

}  // namespace verbatim::config
