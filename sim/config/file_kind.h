// The kind of a file by its content: one of this project's, or another that is often given by mistake.
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

// A profile says what it is, a scenario has programs, a topology has hosts, switches, links or a generator.
std::optional<FileKind> kind_of(const Json& json);

// The kind that a command needs. kAny: any file of this project.
enum class WantedFile { kTopology, kScenario, kAny };

struct FileRequest {
  WantedFile wanted = WantedFile::kAny;
  std::string verb = "check";  // of the command line, for hints
};

// Adds a finding for a program, a script, a recording, a capture or other text that is not JSON of ours. False: it is none of
// these.
bool refuse_foreign_text(const std::string& path, std::string_view text, const FileRequest& request, Diagnostics& diagnostics);
// The same for JSON of another kind than wanted, or of no kind.
bool refuse_other_kind(const std::string& path, const Json& json, const FileRequest& request, Diagnostics& diagnostics);

// The option and argument that start a program on a simulated host: "--topology TOPOLOGY.json HOST='./app'".
std::string program_arguments(const std::string& command, const std::string& topology = "TOPOLOGY.json",
                              const std::string& host = "HOST");
// A word as a shell takes it.
std::string shell_word(const std::string& word);

}  // namespace verbatim::config
