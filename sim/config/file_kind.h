// Recognises the kind of a file by its content: one of this project's kinds, or another that is often given
// by mistake.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"
#include "sim/config/json_text.h"

namespace verbatim::config {

enum class FileKind { kTopology, kScenario, kHcaProfile, kSwitchProfile, kCpuProfile };
std::string_view name_of(FileKind kind);     // "topology", …
std::string_view phrase_of(FileKind kind);   // "a topology", …

// A profile names its kind; a scenario has programs; a topology has hosts, switches, links or a generator.
std::optional<FileKind> kind_of(const Json& json);

// The kind of file that a command needs; kAny: any kind of this project.
enum class WantedFile { kTopology, kScenario, kAny };

struct FileRequest {
  WantedFile wanted = WantedFile::kAny;
  std::string verb = "check";  // of the command line, used in hints
};

// Adds a finding and returns true if the text is a program, a script, a recording, a capture, or other text
// that is not JSON.
bool refuse_foreign_text(const std::string& path, std::string_view text, const FileRequest& request, Diagnostics& diagnostics);
// Adds a finding and returns true if the JSON is of another kind than wanted, or of none.
bool refuse_other_kind(const std::string& path, const Json& json, const FileRequest& request, Diagnostics& diagnostics);

// The arguments that start a program on a simulated host: "--topology TOPOLOGY.json HOST='./app'".
std::string program_arguments(const std::string& command, const std::string& topology = "TOPOLOGY.json",
                              const std::string& host = "HOST");
// `word`, quoted for a shell where needed.
std::string shell_word(const std::string& word);

}  // namespace verbatim::config
