// Terminal users other than a person: keys from a file, and a replayed session. The base class, also of a
// person, has the screen and the session's record.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/spec/terminal_user.h"
#include "tools/verbatim/shell/screen.h"
#include "tools/verbatim/shell/session_file.h"

namespace verbatim::cli {

inline constexpr char kNextTerminal = 0x1d;  // Ctrl-]

class SessionUser : public supervisor::TerminalUser {
 public:
  // `terminals`: number at the start. `writer`: nullptr: no record.
  SessionUser(std::size_t terminals, bool repaints, SessionWriter* writer)
      : screen_(1, repaints), terminals_(terminals), open_(terminals), writer_(writer) {}

  bool keeps_pace() const override { return false; }
  const Next* next() override { return nullptr; }
  void take_next() override {}
  bool hangs_up_at_end() const override { return true; }
  std::optional<supervisor::TerminalInput> typed(std::int64_t) override { return std::nullopt; }
  bool is_person() const override { return false; }

  void on_input(Instant when, const supervisor::TerminalInput& input) override;
  void on_screen(Instant when, std::size_t terminal, std::string_view text) override;
  void on_end(Instant when, std::size_t terminal) override;

  Screen& screen() { return screen_; }

 protected:
  // Among terminals shown on the caller's own: the next after `terminal` whose shell has not ended.
  std::size_t next_behind(std::size_t terminal) const;
  void show(std::size_t terminal);
  // Called when all shells have ended.
  virtual void on_last_end() {}

  Screen screen_;
  std::size_t terminals_;
  std::size_t open_;
  std::vector<bool> has_ended_ = std::vector<bool>(terminals_);
  Instant now_{};  // of the last notification
  SessionWriter* writer_;
};

// Types a line when a program waits for input, and keys that interrupt (Ctrl-C, Ctrl-Z, Ctrl-\) some time
// after the previous input. At the end of the file it types Ctrl-D until all shells have ended.
class KeysFromFile final : public SessionUser {
 public:
  KeysFromFile(std::string keys, std::size_t terminals, SessionWriter* writer);
  const Next* next() override;
  void take_next() override;

 private:
  std::string keys_;
  std::size_t at_ = 0;
  Next next_;
  bool is_ready_ = false;
  std::size_t typed_at_ = 0;  // terminal that gets the keys
  int ends_ = 0;
};

// The terminals that a replayed session shows.
struct SessionView {
  enum class Kind { kAsSeen, kOne, kAll, kNone };
  Kind kind = Kind::kAsSeen;
  std::size_t terminal = 0;  // with kOne
};

// Repeats the input of a session at its recorded times.
class RecordedKeys final : public SessionUser {
 public:
  RecordedKeys(const Session& session, std::size_t terminals, SessionView view);
  // Output of each terminal; with kNone only.
  const std::vector<std::string>& texts() const { return texts_; }
  const Next* next() override;
  void take_next() override { ++at_; }
  bool hangs_up_at_end() const override { return false; }  // a hang-up would be in the record
  std::optional<Instant> interrupted_at() const override;
  void on_screen(Instant when, std::size_t terminal, std::string_view text) override;
  void on_end(Instant when, std::size_t terminal) override;

 private:
  void show_due();

  const SessionView view_;
  std::vector<std::string> texts_;
  const Session& session_;
  std::size_t at_ = 0, shows_at_ = 0;
  Next next_;
};

}  // namespace verbatim::cli
