#include "tools/verbatim/shell/person.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "tools/verbatim/interrupted.h"

namespace verbatim::cli {

using supervisor::TerminalInput;

namespace {

termios settings_before;
volatile std::sig_atomic_t is_raw = 0;
char farewell[64];
volatile std::sig_atomic_t farewell_size = 0;

// Also called in signal handlers.
void restore_settings() {
  if (is_raw == 0) return;
  is_raw = 0;
  if (farewell_size > 0 && ::write(1, farewell, static_cast<std::size_t>(farewell_size)) < 0) farewell_size = 0;
  tcsetattr(0, TCSANOW, &settings_before);
}

void on_fatal_signal(int signal) {
  restore_settings();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

RawTerminal::RawTerminal() : known_(size()) {
  if (tcgetattr(0, &settings_before) != 0) return;
  termios raw = settings_before;
  cfmakeraw(&raw);
  std::atexit(restore_settings);
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGQUIT}) ::signal(signal, on_fatal_signal);
  at_interrupted_end(restore_settings);
  is_raw = 1;
  tcsetattr(0, TCSADRAIN, &raw);
}

void RawTerminal::restore() { restore_settings(); }

RawTerminal::Size RawTerminal::size() {
  winsize size{};
  if (ioctl(0, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

bool RawTerminal::take_size_change() {
  return std::exchange(known_, size()) != known_;
}

void RawTerminal::set_farewell(std::string_view text) {
  farewell_size = 0;
  farewell_size = static_cast<std::sig_atomic_t>(text.copy(farewell, sizeof farewell));
}

Person::Person(bool keeps_pace, SessionWriter* writer, std::vector<std::string> hosts, std::vector<std::size_t> own,
               bool has_status)
    : SessionUser(own.size(), true, writer),
      waiting_(SIGWINCH),
      keeps_pace_(keeps_pace),
      size_(RawTerminal::size()),
      hosts_(std::move(hosts)),
      own_(std::move(own)) {
  if (!has_status) return;
  status_.emplace(size_.rows, size_.columns);
  screen_.put(status_->begin());
  RawTerminal::set_farewell(status_->end());
  --size_.rows;
}

TerminalInput& Person::add(TerminalInput::Kind kind, std::size_t terminal, std::string keys) {
  TerminalInput input;
  input.kind = kind;
  input.terminal = terminal;
  input.keys = std::move(keys);
  input.rows = size_.rows;
  input.columns = size_.columns;
  typed_.push_back(std::move(input));
  return typed_.back();
}

void Person::take_size() {
  if (!raw_.take_size_change()) return;
  size_ = RawTerminal::size();
  if (status_ && size_.rows > 1) {
    status_->resize(size_.rows, size_.columns);
    RawTerminal::set_farewell(status_->end());
    --size_.rows;
  }
  for (std::size_t i = 0; i < terminals_; ++i) {
    if (!has_ended_[i]) add(TerminalInput::Kind::kResize, i);
  }
}

void Person::take_keys() {
  char bytes[4096];
  const ssize_t n = ::read(0, bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    is_gone_ = true;
    for (std::size_t i = 0; i < terminals_; ++i) add(TerminalInput::Kind::kHangUp, i);
    return;
  }
  std::string_view rest(bytes, static_cast<std::size_t>(n));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kNextTerminal), rest.size());
    if (end > 0) add(TerminalInput::Kind::kKeys, screen_.shown(), std::string(rest.substr(0, end)));
    if (end < rest.size()) show(next_behind(screen_.shown()));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void Person::open_for(const AttachmentServer::Event& event) {
  const auto host = std::ranges::find(hosts_, event.text.empty() ? hosts_[own_.front()] : event.text);
  if (host == hosts_.end()) {
    server_.write(event.client, "the topology has no host " + event.text + " that runs programs\r\n");
    return server_.close(event.client);
  }
  TerminalInput& input = add(TerminalInput::Kind::kOpen, 0);
  input.host = static_cast<std::size_t>(host - hosts_.begin());
  input.rows = event.size.rows;
  input.columns = event.size.columns;
  opening_.push_back(event.client);
}

void Person::take(const AttachmentServer::Event& event) {
  const auto terminal = terminals_of_.find(event.client);
  const bool is_open = terminal != terminals_of_.end();
  if (event.has_gone) {
    is_open ? void(add(TerminalInput::Kind::kHangUp, terminal->second)) : void(left_.insert(event.client));
  } else if (event.kind == AttachmentFrame::kHello) {
    if (!is_open) open_for(event);
  } else if (is_open && event.kind == AttachmentFrame::kKeys) {
    add(TerminalInput::Kind::kKeys, terminal->second, event.text);
  } else if (is_open) {
    TerminalInput& input = add(TerminalInput::Kind::kResize, terminal->second);
    input.rows = event.size.rows;
    input.columns = event.size.columns;
  }
}

void Person::on_input(Instant when, const TerminalInput& input) {
  SessionUser::on_input(when, input);
  if (input.kind != TerminalInput::Kind::kOpen || opening_.empty()) return;
  const std::size_t terminal = has_ended_.size() - 1, client = opening_.front();
  opening_.pop_front();
  clients_[terminal] = client;
  terminals_of_[client] = terminal;
  if (left_.contains(client)) add(TerminalInput::Kind::kHangUp, terminal);
}

void Person::on_screen(Instant when, std::size_t terminal, std::string_view text) {
  SessionUser::on_screen(when, terminal, text);
  if (status_ && terminal == screen_.shown()) status_->follow(text);
  if (const auto client = clients_.find(terminal); client != clients_.end()) server_.write(client->second, text);
}

void Person::on_end(Instant when, std::size_t terminal) {
  if (const auto client = clients_.find(terminal); client != clients_.end()) server_.close(client->second);
  SessionUser::on_end(when, terminal);
}

bool Person::wait(int timeout_ms) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<int> descriptors = server_.descriptors();
  if (!is_gone_) descriptors.push_back(STDIN_FILENO);
  const std::vector<int> ready = waiting_.wait(descriptors, timeout_ms);
  if (std::ranges::count(ready, STDIN_FILENO) != 0) take_keys();
  if (!ready.empty()) {
    for (const AttachmentServer::Event& event : server_.take()) take(event);
  }
  take_size();
  // A signal counts as input.
  return !ready.empty() || timeout_ms < 0 || std::chrono::steady_clock::now() - began < std::chrono::milliseconds(timeout_ms);
}

void Person::show_status(bool is_idle) {
  constexpr auto kBetween = std::chrono::milliseconds(100);
  const auto wall = std::chrono::steady_clock::now();
  if (!status_ || is_gone_ || open_ == 0 || (!is_idle && wall - status_shown_ < kBetween)) return;
  status_shown_ = wall;
  const std::size_t shown = screen_.shown();
  std::string words = join(" ", hosts_[own_[shown]]);
  if (own_.size() > 1) words += join(" | terminal ", shown + 1, " of ", own_.size());
  words += join(" | virtual time ", time_text(status_time_), " | exit: leave", own_.size() > 1 ? " | Ctrl-]: next terminal" : "");
  screen_.put(status_->draw(words));
}

std::optional<TerminalInput> Person::typed(std::int64_t wait_ms) {
  if (typed_.empty()) {
    show_status(wait_ms != 0);
    // If virtual time follows real time, the status line must be updated.
    constexpr int kStepMs = 500;
    bool is_over = false;  // input or a signal arrived
    for (; status_ && wait_ms > kStepMs && !is_over; wait_ms -= kStepMs) {
      is_over = wait(kStepMs) || !typed_.empty();
      status_time_ += std::chrono::milliseconds(kStepMs);
      show_status(true);
    }
    if (!is_over) wait(static_cast<int>(std::min<std::int64_t>(wait_ms, 1 << 30)));
  }
  if (typed_.empty()) return std::nullopt;
  TerminalInput first = std::move(typed_.front());
  typed_.pop_front();
  return first;
}

}  // namespace verbatim::cli
