#include "sim/config/profile_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace verbatim::config {

namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string_view plural_of(FileKind kind) {
  return kind == FileKind::kHcaProfile ? "adapter profiles" : kind == FileKind::kSwitchProfile ? "switch profiles" : "processor profiles";
}

}  // namespace

bool is_there(const std::string& path, const LoadOptions& options) {
  if (options.files != nullptr && options.files->texts.contains(path)) return true;
  if (options.files != nullptr && options.files->are_all) return false;
  return is_file(path);
}

void apply_change(Json& profile, const Json& change) {
  // {"value": …, "source": …} is one value.
  const bool is_value = profile.is_object() && profile.contains("value") && !(change.is_object() && change.contains("value"));
  if (is_value || !profile.is_object() || !change.is_object()) {
    profile = change;
    return;
  }
  for (const auto& [key, value] : change.items()) {
    if (profile.contains(key)) apply_change(profile[key], value);
    else profile[key] = value;
  }
}

void ProfileReader::add_findings(const Diagnostics& of_change, const std::string& reference) {
  for (const Finding& finding : of_change.findings())
    diagnostics_.add(file_, join_pointer("/profile_changes", reference) + finding.pointer, finding.text, finding.hint);
}

void ProfileReader::check_changes() {
  for (const auto& [reference, change] : changes_.items()) {
    if (used_.contains(reference)) continue;
    const std::vector<std::string> names(used_.begin(), used_.end());
    const std::string near = nearest(reference, names);
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    diagnostics_.add(file_, join_pointer("/profile_changes", reference), "nothing here has the profile " + in_quotes(reference),
                     near.empty() ? "the profiles of this topology are " + list : "did you mean \"" + near + "\"?");
  }
}

std::string ProfileReader::find(const std::string& reference, FileKind kind, const std::string& pointer) {
  std::vector<std::string> candidates = {beside(file_, reference), beside(file_, reference + ".json"),
                                         beside(file_, "profiles/" + reference + ".json")};
  if (reference.find('/') == std::string::npos) {
    for (const std::string& folder : options_.profile_folders) {
      candidates.push_back(folder + "/" + reference);
      candidates.push_back(folder + "/" + reference + ".json");
    }
  }
  for (const std::string& candidate : candidates) {
    if (is_there(candidate, options_)) return candidate;
  }
  if (missing_.emplace(kind, reference).second)
    diagnostics_.add(file_, pointer, "there is no profile " + in_quotes(reference), hint(reference, kind));
  return "";
}

std::optional<Json> ProfileReader::json_of(const std::string& path, const std::string& reference, FileKind kind,
                                           const std::string& pointer) {
  const auto text = load_text(path, options_, diagnostics_);
  if (!text) return std::nullopt;
  auto json = parse_json(*text, path, diagnostics_);
  if (!json) return std::nullopt;
  const auto found = kind_of(*json);
  if (!found || found == kind) return json;
  diagnostics_.add(file_, pointer, in_quotes(reference) + " is " + std::string(phrase_of(*found)) + ", not " + std::string(phrase_of(kind)),
                   hint(reference, kind));
  return std::nullopt;
}

std::vector<std::string> ProfileReader::known(FileKind kind) const {
  std::vector<std::string> folders = options_.profile_folders, names;
  folders.push_back(beside(file_, "profiles"));
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() != ".json") continue;
      Diagnostics ignored;
      const auto json = read_json(entry.path(), ignored);
      if (json && kind_of(*json) == kind) names.push_back(entry.path().stem());
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string ProfileReader::hint(const std::string& reference, FileKind kind) const {
  const std::vector<std::string> names = known(kind);
  if (names.empty()) return "name the file of " + std::string(phrase_of(kind)) + ", relative to this file";
  const std::string near = nearest(reference, names);
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return (near.empty() || near == reference ? "" : "did you mean \"" + near + "\"? ") + "the " + std::string(plural_of(kind)) + " are " +
         list + "; or name a file, relative to this one";
}

}  // namespace verbatim::config
