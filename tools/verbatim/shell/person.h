// A person at the caller's terminal, which is in raw mode during the run, and at attached terminals.
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

// Sets the terminal of descriptor 0 to raw mode; restores it on destruction, or when a handled signal ends
// the process.
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
  // Whether its size has changed since the previous call. Call after SIGWINCH.
  bool take_size_change();
  // Text written to it before its settings are restored, at most 64 bytes.
  static void set_farewell(std::string_view text);

 private:
  Size known_;
};

class Person final : public SessionUser {
 public:
  // `keeps_pace`: see TerminalUser. `hosts`: names by number; `own`: host numbers of the terminals, at least
  // one. `has_status`: the last row is a status line, and not part of the terminals.
  Person(bool keeps_pace, SessionWriter* writer, std::vector<std::string> hosts, std::vector<std::size_t> own, bool has_status);
  // Lets clients attach. Returns "" on success, else a sentence.
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
  // Returns whether there was input.
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
  Instant status_time_{};  // time shown in the status line
  std::chrono::steady_clock::time_point status_shown_{};
  std::deque<supervisor::TerminalInput> typed_;
  bool is_gone_ = false;
  AttachmentServer server_;
  std::vector<std::string> hosts_;  // by index; empty: it runs no programs
  std::vector<std::size_t> own_;
  std::deque<std::size_t> opening_;                     // clients whose terminals are about to be opened
  std::map<std::size_t, std::size_t> clients_;          // by terminal
  std::map<std::size_t, std::size_t> terminals_of_;     // by client
  std::set<std::size_t> left_;                          // clients that left before their terminals were opened
};

}  // namespace verbatim::cli
