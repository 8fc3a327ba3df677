// Terminals of simulated hosts (pty(7)): /dev/pts/N, the line discipline behind it, and either a person's screen or the master
// of a program that has asked for one.
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
  static constexpr unsigned kMajor = 136;  // as Linux's devices.txt has it

  // What a person's screen shows.
  using Screen = std::function<void(std::string_view)>;
  // Signals for all processes of the group.
  using Signal = std::function<void(Terminal&, std::uint32_t group, int signal)>;

  Terminal(unsigned number, Signal signal) : number_(number), signal_(std::move(signal)) {}

  unsigned number() const { return number_; }
  std::string path() const { return "/dev/pts/" + std::to_string(number_); }
  std::uint64_t device() const { return makedev(kMajor, number_); }
  void set_screen(Screen screen) { screen_ = std::move(screen); }
  bool is_persons() const { return screen_ != nullptr; }

  // Another descriptor's file, each with flags of its own.
  std::shared_ptr<TerminalFile> open();
  std::shared_ptr<TerminalMaster> make_master();

  // Keys come; the foreground gets the signals that they are.
  void type(std::string_view keys);
  // The other side is gone, or the session's leader has ended: nothing can be read or written any more. The leader is told, or
  // then the foreground.
  void hang_up(bool leader_has_ended = false);
  bool is_hung_up() const { return is_hung_up_; }
  // SIGWINCH to the foreground when it is another one.
  void resize(const winsize& size);
  const winsize& size() const { return size_; }

  // 0: nobody's controlling terminal; its foreground group.
  std::uint32_t session = 0, foreground = 0;
  bool is_locked = false;  // until unlockpt()
  std::uint64_t waits = 0;  // how often somebody has begun to wait for it

  LineDiscipline& discipline() { return discipline_; }
  const LineDiscipline& discipline() const { return discipline_; }
  void set(const TerminalSettings& settings);
  bool stops_background_output() const { return (discipline_.settings().local & TOSTOP) != 0; }
  void stop(bool on);
  void signal(std::uint32_t group, int which) {
    if (group != 0) signal_(*this, group, which);
  }

  // How many bytes were taken; nullopt: wait.
  IoResult write(std::span<const std::byte> bytes);
  // Who waits looks again.
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

// What a program has open of a terminal. Kernel::read_terminal() reads, for how long a read waits depends on time.
class TerminalFile final : public VirtualFile {
 public:
  explicit TerminalFile(std::shared_ptr<Terminal> terminal);
  ~TerminalFile() override;

  Terminal& terminal() const { return *terminal_; }
  std::uint32_t readiness() const override;
  std::string describe() const override { return "terminal " + terminal_->path(); }
  IoResult write(std::span<const std::byte> bytes) override { return terminal_->write(bytes); }
  // A person sees at once what is written, and who may not read is stopped.
  bool reaches_beyond_host() const override { return true; }
  // Of a read that waits for a byte after the last one: how many there were when it began to.
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

// What opening /dev/ptmx gives: the other side of a new terminal.
class TerminalMaster final : public VirtualFile {
 public:
  explicit TerminalMaster(std::shared_ptr<Terminal> terminal);
  ~TerminalMaster() override;

  Terminal& terminal() const { return *terminal_; }
  std::uint32_t readiness() const override;
  std::string describe() const override { return "master of terminal " + terminal_->path(); }
  bool reaches_beyond_host() const override { return true; }  // a key may be a signal
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
