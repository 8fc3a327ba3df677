// A person at the caller's own terminal, which is in raw mode as long as the run lasts, and at others that have been attached.
#pragma once

#include <termios.h>

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/shell/attachment.h"
#include "tools/verbatim/shell/session_users.h"
#include "tools/verbatim/shell/status_line.h"

namespace verbatim::cli {

// The terminal behind descriptor 0 in raw mode; as it was when this goes, or the process ends by a signal that says so.
class RawTerminal {
 public:
  RawTerminal();
  ~RawTerminal() { restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  void restore();

  struct Size {
    std::uint16_t rows = 24, columns = 80;
    bool operator==(const Size&) const = default;
  };
  static Size size();
  // Whether it has another size than at the last call, or than the first one. SIGWINCH says when to ask.
  bool take_size_change();
  // What is written to it as it gets its settings back, at most 64 bytes.
  static void set_farewell(std::string_view text);

 private:
  Size known_;
};

class Person final : public SessionUser {
 public:
  // `keeps_pace`: see TerminalUser. `hosts`: names, by number; `own`: numbers of the hosts of the terminals, at least one.
  // `has_status`: a status line is in the last row, which is not the terminals'.
  Person(bool keeps_pace, SessionWriter* writer, std::vector<std::string> hosts, std::vector<std::size_t> own, bool has_status);
  // Others may be attached. Empty on success, else a sentence.
  std::string listen(const std::string& session_file) { return server_.listen(session_file); }

  bool is_person() const override { return true; }
  bool keeps_pace() const override { return keeps_pace_; }
  void on_wait(Instant now) override { status_time_ = now; }
  std::optional<supervisor::TerminalInput> typed(std::int64_t wait_ms) override;
  void on_input(Instant when, const supervisor::TerminalInput& input) override;
  void on_screen(Instant when, std::size_t terminal, std::string_view text) override;
  void on_end(Instant when, std::size_t terminal) override;

 protected:
  void on_last_end() override { raw_.restore(); }
  void on_run_end() override { raw_.restore(); }

 private:
  void take_keys();
  void take_size();
  // Whether there was something to read.
  bool wait(int timeout_ms);
  void show_status(bool is_idle);
  void take(const AttachmentServer::Event& event);
  void open_for(const AttachmentServer::Event& event);
  supervisor::TerminalInput& add(supervisor::TerminalInput::Kind kind, std::size_t terminal, std::string keys = "");

  RawTerminal raw_;
  supervisor::Waiting waiting_;
  const bool keeps_pace_;
  RawTerminal::Size size_;
  std::optional<StatusLine> status_;
  Instant status_time_{};  // that it shows
  std::chrono::steady_clock::time_point status_shown_{};
  std::deque<supervisor::TerminalInput> typed_;
  bool is_gone_ = false;
  AttachmentServer server_;
  std::vector<std::string> hosts_;  // by index; empty: it runs no programs
  std::vector<std::size_t> own_;
  std::deque<std::size_t> opening_;                     // clients whose terminals are about to be opened
  std::map<std::size_t, std::size_t> clients_;          // by terminal
  std::map<std::size_t, std::size_t> terminals_of_;     // by client
  std::set<std::size_t> left_;                          // clients that went before their terminals were opened
};

}  // namespace verbatim::cli
