// Terminals of simulated hosts (pty(7)): /dev/pts/N with its line discipline. The other side is a person's
// screen, or a pseudoterminal master that a program has opened.
#pragma once

#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/supervisor/files/line_discipline.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class TerminalFile;
class TerminalMaster;

class Terminal : public std::enable_shared_from_this<Terminal> {
 public:
  static constexpr unsigned kMajor = 136;  // UNIX98_PTY_SLAVE_MAJOR

  // Writes text to a person's screen.
  using Screen = std::function<void(std::string_view)>;
  // Signals all processes of the group.
  using Signal = std::function<void(Terminal&, std::uint32_t group, int signal)>;

  Terminal(unsigned number, Signal signal) : number_(number), signal_(std::move(signal)) {}

  unsigned number() const { return number_; }
  std::string path() const { return "/dev/pts/" + std::to_string(number_); }
  std::uint64_t device() const { return makedev(kMajor, number_); }
  void set_screen(Screen screen) { screen_ = std::move(screen); }
  // Whether the other side is a person's screen, not a master.
  bool has_screen() const { return screen_ != nullptr; }

  // Opens the terminal: a new open file with its own flags.
  std::shared_ptr<TerminalFile> open();
  std::shared_ptr<TerminalMaster> make_master();

  // Input from the other side; its signal characters signal the foreground group.
  void type(std::string_view keys);
  // The other side was closed, or the session leader has ended: reads and writes end. SIGHUP and SIGCONT go
  // to the session leader's group, or to the foreground group if the leader has ended.
  void hang_up(bool leader_has_ended = false);
  bool is_hung_up() const { return is_hung_up_; }
  // Signals SIGWINCH to the foreground group if the size changes.
  void resize(const winsize& size);
  const winsize& size() const { return size_; }

  // `session` 0: not a controlling terminal; `foreground`: its foreground process group.
  std::uint32_t session = 0, foreground = 0;
  bool is_locked = false;   // until unlockpt()
  std::uint64_t waits = 0;  // number of waits for it that threads have begun

  LineDiscipline& discipline() { return discipline_; }
  const LineDiscipline& discipline() const { return discipline_; }
  void set(const TerminalSettings& settings);
  bool stops_background_output() const { return (discipline_.settings().local & TOSTOP) != 0; }
  // Stops output, or restarts it (tcflow(3)).
  void stop_output(bool on);
  void signal(std::uint32_t group, int which) {
    if (group != 0) signal_(*this, group, which);
  }

  // Number of bytes taken; nullopt: the write must wait.
  IoResult write(std::span<const std::byte> bytes);
  // Wakes all waiters of both sides.
  void changed();

 private:
  friend class TerminalFile;
  friend class TerminalMaster;
  static constexpr std::size_t kMostForMaster = 65536;

  void show(std::string_view text);
  bool is_over() const { return is_hung_up_ || (opened_ == 0 && opened_ever_ > 0); }

  const unsigned number_;
  Signal signal_;
  Screen screen_;
  LineDiscipline discipline_;
  winsize size_{24, 80, 0, 0};
  bool is_hung_up_ = false;
  std::string for_master_;
  std::vector<TerminalFile*> files_;
  TerminalMaster* master_ = nullptr;
  std::size_t opened_ = 0, opened_ever_ = 0;  // slave ends
};

// An open file of a terminal. read_terminal() of the kernel reads, because VTIME needs virtual time.
class TerminalFile final : public VirtualFile {
 public:
  explicit TerminalFile(std::shared_ptr<Terminal> terminal);
  ~TerminalFile() override;

  Terminal& terminal() const { return *terminal_; }
  TerminalFile* as_terminal() override { return this; }
  std::string link_text() const override;
  std::uint32_t readiness() const override;
  std::string describe() const override { return "terminal " + terminal_->path(); }
  IoResult write(std::span<const std::byte> bytes) override { return terminal_->write(bytes); }
  // A person sees output at once, and access from the background stops processes.
  bool reaches_beyond_host() const override { return true; }
  // For a read that waits VTIME after the last byte: number of bytes when the wait began.
  std::size_t bytes_seen = 0;
  std::uint32_t mode() const override;
  int access_mode() const override { return access_mode_; }
  void set_access_mode(int mode) { access_mode_ = mode; }
  void changed() { notify(); }

 protected:
  void on_last_close() override;

 private:
  std::shared_ptr<Terminal> terminal_;
  int access_mode_ = 2;  // O_RDWR
  bool is_closed_ = false;
};

// The pseudoterminal master that opening /dev/ptmx returns.
class TerminalMaster final : public VirtualFile {
 public:
  explicit TerminalMaster(std::shared_ptr<Terminal> terminal);
  ~TerminalMaster() override;

  Terminal& terminal() const { return *terminal_; }
  TerminalMaster* as_terminal_master() override { return this; }
  std::string link_text() const override { return "/dev/ptmx"; }
  std::uint32_t readiness() const override;
  std::string describe() const override { return "master of terminal " + terminal_->path(); }
  bool reaches_beyond_host() const override { return true; }  // a key may cause a signal
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  IoResult write(std::span<const std::byte> bytes) override;
  std::uint32_t mode() const override;
  std::size_t readable_bytes() const { return terminal_->for_master_.size(); }
  void changed() { notify(); }

 protected:
  void on_last_close() override;

 private:
  std::shared_ptr<Terminal> terminal_;
  bool is_closed_ = false;
};

}  // namespace verbatim::supervisor
