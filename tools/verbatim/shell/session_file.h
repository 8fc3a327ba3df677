// A session at the terminals of a run as a file: JSON, one object a line. The first describes the run, the
// last its end, and those between are input with its virtual time. It is written during the session, so the
// input is available however the session ends.
#pragma once

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/load.h"
#include "sim/supervisor/spec/terminal_user.h"
#include "tools/verbatim/replay_file.h"

namespace verbatim::cli {

struct Session {
  static constexpr int kFormat = 1;

  // The run, in fields of a replay file: words, folders, files, version.
  ReplayFile replay;
  std::map<std::string, std::string> environment;  // of the shells
  std::uint16_t rows = 24, columns = 80;
  bool repaints = false;  // when another terminal is shown; else a line names it

  // Input, or a switch to another terminal after `shown` bytes of output.
  struct Event {
    std::int64_t time_ps = 0;
    supervisor::TerminalInput input;
    std::optional<std::size_t> shows;
    std::uint64_t shown = 0;
  };
  std::vector<Event> events;

  // How the session ended. Without it the file is incomplete, and changed programs cannot be detected.
  struct End {
    std::int64_t time_ps = 0;
    std::string outcome;
    KeptDigest digest;
    std::vector<ReplayFile::Content> contents;
  };
  std::optional<End> end;
};

// Whether the file begins like a session.
bool is_session(const std::string& path);
// nullopt, with a sentence that begins with `path`, if the file cannot be used.
std::optional<Session> read_session(const std::string& path, std::string* failure);
// Parses the file's content; `path` is its name in sentences.
std::optional<Session> parse_session(std::string_view text, const std::string& path, std::string* failure);

class SessionWriter {
 public:
  SessionWriter() = default;
  ~SessionWriter();
  SessionWriter(const SessionWriter&) = delete;
  SessionWriter& operator=(const SessionWriter&) = delete;

  // Returns "" on success, else a sentence. An existing file is not changed.
  std::string open(const std::string& path, const Session& session);
  void write(const Session::Event& event);
  void write(const Session::End& end);
  // Returns a sentence if something could not be written, else "".
  std::string close();

 private:
  void write_line(const std::string& line);

  std::string path_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

}  // namespace verbatim::cli
