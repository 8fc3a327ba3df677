// A session at the terminals of a run as a file: JSON, an object a line. The first says what is run, the last how it ended, those
// between are what came from outside, each with its virtual time. Written as the session goes on, so that what was typed is
// there however it ends.
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

  // What is run; of `replay`: words, folders, files, version.
  ReplayFile replay;
  std::map<std::string, std::string> environment;  // of the shells
  std::uint16_t rows = 24, columns = 80;
  bool repaints = false;  // the screen, when another terminal is shown; else a line says which

  // What came from outside, or another terminal's being shown after `shown` bytes.
  struct Event {
    std::int64_t time_ps = 0;
    supervisor::TerminalInput input;
    std::optional<std::size_t> shows;
    std::uint64_t shown = 0;
  };
  std::vector<Event> events;

  // How it ended; without it the file is not whole, and nothing tells whether a program has changed since.
  struct End {
    std::int64_t time_ps = 0;
    std::string outcome;
    KeptDigest digest;
    std::vector<ReplayFile::Content> contents;
  };
  std::optional<End> end;
};

// Whether the file begins as one of a session does.
bool is_session(const std::string& path);
// nullopt: it cannot be used, and a sentence that begins with `path` says why.
std::optional<Session> read_session(const std::string& path, std::string* failure);
// The same of the file's content; `path` is its name in sentences.
std::optional<Session> parse_session(std::string_view text, const std::string& path, std::string* failure);

class SessionWriter {
 public:
  SessionWriter() = default;
  ~SessionWriter();
  SessionWriter(const SessionWriter&) = delete;
  SessionWriter& operator=(const SessionWriter&) = delete;

  // Empty on success, else a sentence. A file that is there already is not touched.
  std::string open(const std::string& path, const Session& session);
  void write(const Session::Event& event);
  void write(const Session::End& end);
  // A sentence when something could not be written.
  std::string close();

 private:
  void write_line(const std::string& line);

  std::string path_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

}  // namespace verbatim::cli
