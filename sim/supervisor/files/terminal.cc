#include "sim/supervisor/files/terminal.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace verbatim::supervisor {

namespace {

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

std::shared_ptr<TerminalFile> Terminal::open() { return std::make_shared<TerminalFile>(shared_from_this()); }

std::shared_ptr<TerminalMaster> Terminal::make_master() { return std::make_shared<TerminalMaster>(shared_from_this()); }

void Terminal::changed() {
  const std::vector<TerminalFile*> files = files_;
  for (TerminalFile* file : files) file->changed();
  if (master_ != nullptr) master_->changed();
}

void Terminal::show(std::string_view text) {
  if (text.empty()) return;
  if (screen_) return screen_(text);
  if (master_ != nullptr) for_master_ += text;
}

void Terminal::type(std::string_view keys) {
  if (is_hung_up_) return;
  const LineDiscipline::Effects effects = discipline_.type(keys);
  show(effects.echo);
  for (const int signal : effects.signals) {
    this->signal(foreground, signal);
  }
  changed();
}

void Terminal::hang_up(bool leader_has_ended) {
  if (std::exchange(is_hung_up_, true)) return;
  const std::uint32_t group = leader_has_ended ? foreground : session;
  session = foreground = 0;
  signal(group, SIGHUP);
  signal(group, SIGCONT);
  changed();
}

void Terminal::resize(const winsize& size) {
  if (std::memcmp(&size, &size_, sizeof size) == 0) return;
  size_ = size;
  signal(foreground, SIGWINCH);
}

void Terminal::set(const TerminalSettings& settings) {
  discipline_.set(settings);
  changed();
}

void Terminal::stop_output(bool on) {
  discipline_.stop(on);
  changed();
}

IoResult Terminal::write(std::span<const std::byte> bytes) {
  if (is_hung_up_) return -EIO;
  if (bytes.empty()) return 0;
  if (discipline_.is_stopped()) return std::nullopt;
  if (!has_screen()) {
    if (for_master_.size() >= kMostForMaster) return std::nullopt;
    bytes = bytes.first(std::min(bytes.size(), kMostForMaster - for_master_.size()));
  }
  show(discipline_.to_screen(text_of(bytes)));
  if (!has_screen()) changed();
  return static_cast<std::int64_t>(bytes.size());
}

TerminalFile::TerminalFile(std::shared_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {
  terminal_->files_.push_back(this);
  ++terminal_->opened_;
  ++terminal_->opened_ever_;
  set_device(terminal_->device());
}

TerminalFile::~TerminalFile() { on_last_close(); }

std::string TerminalFile::link_text() const {
  return major(device()) == Terminal::kMajor ? terminal_->path() : "/dev/tty";
}
std::uint32_t TerminalFile::mode() const { return S_IFCHR | 0620; }

std::uint32_t TerminalFile::readiness() const {
  if (terminal_->is_hung_up_) return POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLHUP | POLLERR;
  std::uint32_t events = 0;
  if (terminal_->discipline_.is_readable()) events |= POLLIN | POLLRDNORM;
  const bool is_full = !terminal_->has_screen() && terminal_->for_master_.size() >= Terminal::kMostForMaster;
  if (!terminal_->discipline_.is_stopped() && !is_full) events |= POLLOUT | POLLWRNORM;
  return events;
}

void TerminalFile::on_last_close() {
  if (std::exchange(is_closed_, true)) return;
  std::erase(terminal_->files_, this);
  if (--terminal_->opened_ == 0) terminal_->changed();  // the master reads end of file
}

TerminalMaster::TerminalMaster(std::shared_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {
  terminal_->master_ = this;
  set_device(makedev(5, 2));
}

TerminalMaster::~TerminalMaster() { on_last_close(); }

std::uint32_t TerminalMaster::mode() const { return S_IFCHR | 0666; }

std::uint32_t TerminalMaster::readiness() const {
  std::uint32_t events = POLLOUT | POLLWRNORM;
  if (!terminal_->for_master_.empty()) events |= POLLIN | POLLRDNORM;
  if (terminal_->is_over()) events |= POLLHUP;
  return events;
}

IoResult TerminalMaster::read(std::size_t limit, std::vector<std::byte>& bytes) {
  std::string& text = terminal_->for_master_;
  if (limit == 0) return 0;
  if (text.empty()) return terminal_->is_over() ? IoResult(-EIO) : std::nullopt;
  const std::size_t n = std::min(limit, text.size());
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), begin, begin + n);
  text.erase(0, n);
  terminal_->changed();
  return static_cast<std::int64_t>(n);
}

IoResult TerminalMaster::write(std::span<const std::byte> bytes) {
  terminal_->type(text_of(bytes));
  return static_cast<std::int64_t>(bytes.size());
}

void TerminalMaster::on_last_close() {
  if (std::exchange(is_closed_, true)) return;
  terminal_->master_ = nullptr;
  terminal_->hang_up();
}

}  // namespace verbatim::supervisor
