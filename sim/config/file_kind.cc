#include "sim/config/file_kind.h"

#include <algorithm>

#include "sim/config/load.h"
#include "sim/config/words.h"
#include "sim/core/check.h"

namespace verbatim::config {

namespace {

constexpr std::string_view kNone =
    "a topology has \"hosts\" and \"links\", or \"generate\"; a scenario has \"topology\" and \"programs\"; a profile has "
    "\"profile\": \"hca\", \"switch\" or \"cpu\"";

std::string_view phrase_of(WantedFile wanted) {
  return wanted == WantedFile::kTopology ? "a topology" : wanted == WantedFile::kScenario ? "a scenario" : "a topology, scenario or profile";
}

bool is_for_programs(const FileRequest& request) { return request.verb == "run" || request.verb == "explore"; }

void add(const std::string& path, std::string_view what, const FileRequest& request, std::string hint, Diagnostics& diagnostics) {
  diagnostics.add(path, "", "this is " + std::string(what) + ", not " + std::string(phrase_of(request.wanted)), std::move(hint));
}

// "12.000 us  client  …"
bool is_trace(std::string_view text) {
  const std::size_t number = text.find_first_not_of("0123456789.");
  return number != text.npos && number > 0 && text.substr(number).starts_with(" us  ");
}

std::string string_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// Some host of a topology's file, for examples in hints.
std::string host_of(const Json& json) {
  if (const auto hosts = json.find("hosts"); hosts != json.end() && hosts->is_array() && !hosts->empty() && hosts->front().is_object()) {
    if (const std::string name = string_at(hosts->front(), "name"); !name.empty()) return name;
  }
  const auto generate = json.find("generate");
  if (generate == json.end() || !generate->is_object()) return "HOST";
  const std::string prefix = string_at(*generate, "host_prefix");
  return (prefix.empty() ? "h" : prefix) + "0";
}

std::string hint_for(const std::string& path, const Json& json, FileKind kind, const FileRequest& request) {
  const std::string file = shell_word(path);
  switch (kind) {
    case FileKind::kTopology:
      return "write `verbatim " + request.verb + " " + program_arguments("COMMAND", file, host_of(json)) + "`";
    case FileKind::kScenario: {
      const std::string reference = string_at(json, "topology");
      const std::string topology = reference.empty() ? "TOPOLOGY.json" : shell_word(beside(path, reference));
      if (!is_for_programs(request)) return "its topology is another file: `verbatim " + request.verb + " " + topology + "`";
      return "write `verbatim " + request.verb + " " + file + "` without --topology, or name its topology: --topology " + topology;
    }
    case FileKind::kHcaProfile:
    case FileKind::kSwitchProfile:
    case FileKind::kCpuProfile:
      return "profiles are named by the hosts and switches of a topology; `verbatim check " + file + "` checks one";
  }
  CHECK(false);
}

}  // namespace

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::kTopology:
      return "topology";
    case FileKind::kScenario:
      return "scenario";
    case FileKind::kHcaProfile:
      return "hca profile";
    case FileKind::kSwitchProfile:
      return "switch profile";
    case FileKind::kCpuProfile:
      return "cpu profile";
  }
  CHECK(false);
}

std::string_view phrase_of(FileKind kind) {
  switch (kind) {
    case FileKind::kTopology:
      return "a topology";
    case FileKind::kScenario:
      return "a scenario";
    case FileKind::kHcaProfile:
      return "an adapter profile";
    case FileKind::kSwitchProfile:
      return "a switch profile";
    case FileKind::kCpuProfile:
      return "a processor profile";
  }
  CHECK(false);
}

std::optional<FileKind> kind_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  if (const auto profile = json.find("profile"); profile != json.end() && profile->is_string()) {
    if (*profile == "hca") return FileKind::kHcaProfile;
    if (*profile == "switch") return FileKind::kSwitchProfile;
    if (*profile == "cpu") return FileKind::kCpuProfile;
    return std::nullopt;
  }
  if (json.contains("programs") || json.contains("topology")) return FileKind::kScenario;
  if (json.contains("hosts") || json.contains("switches") || json.contains("links") || json.contains("generate"))
    return FileKind::kTopology;
  return std::nullopt;
}

bool refuse_foreign_text(const std::string& path, std::string_view text, const FileRequest& request, Diagnostics& diagnostics) {
  const std::string file = shell_word(path);
  const bool is_program = text.starts_with("\x7f" "ELF");
  if (is_program || text.starts_with("#!")) {
    const std::string command = path.find('/') == path.npos ? "./" + path : path;
    add(path, is_program ? "a program" : "a script", request,
        "to run it on a simulated host, write `verbatim " + std::string(request.verb == "explore" ? "explore" : "run") + " " +
            program_arguments(join_words({command})) + "`",
        diagnostics);
  } else if (text.starts_with("verbatim-recording ")) {
    add(path, "the recording of a run", request, "`verbatim explain " + file + "` and `verbatim report " + file + "` show it", diagnostics);
  } else if (text.starts_with("\x0a\x0d\x0d\x0a")) {
    add(path, "a capture of packets (pcapng)", request, "Wireshark and tshark show it", diagnostics);
  } else if (text.starts_with("<!DOCTYPE") || text.starts_with("<html")) {
    add(path, "a page for a browser", request, "check the path", diagnostics);
  } else if (is_trace(text)) {
    add(path, "the trace of a run", request, "`verbatim ladder " + file + "` and `verbatim explain " + file + "` show it", diagnostics);
  } else if (text.starts_with("{\"session\"")) {
    add(path, "a session of `verbatim shell`", request, "`verbatim replay " + file + "` shows it", diagnostics);
  } else {
    return false;
  }
  return true;
}

bool refuse_other_kind(const std::string& path, const Json& json, const FileRequest& request, Diagnostics& diagnostics) {
  const std::string file = shell_word(path);
  const auto has = [&](const char* key) { return json.is_object() && json.contains(key); };
  if (has("replay") && has("decisions")) {
    add(path, "a replay file", request, "`verbatim replay " + file + "` runs it again", diagnostics);
    return true;
  }
  if (has("digest") && has("virtual_time_ps")) {
    add(path, "the report of a run", request, "`verbatim explain " + file + "` says how it ended", diagnostics);
    return true;
  }
  const auto kind = kind_of(json);
  if (!kind) {
    diagnostics.add(path, "", "this is neither a topology, nor a scenario, nor a profile", std::string(kNone));
    return true;
  }
  const FileKind wanted = request.wanted == WantedFile::kTopology ? FileKind::kTopology : FileKind::kScenario;
  const bool fits = request.wanted == WantedFile::kAny || kind == wanted;
  if (!fits) add(path, phrase_of(*kind), request, hint_for(path, json, *kind, request), diagnostics);
  return !fits;
}

std::string shell_word(const std::string& word) { return join_words({word}); }

std::string program_arguments(const std::string& command, const std::string& topology, const std::string& host) {
  const bool is_plain = command.find('\'') == command.npos, fits_double = command.find_first_of("\"$`\\!") == command.npos;
  return "--topology " + topology + " " + host + "=" +
         (is_plain ? "'" + command + "'" : fits_double ? "\"" + command + "\"" : shell_word(command));
}

}  // namespace verbatim::config
