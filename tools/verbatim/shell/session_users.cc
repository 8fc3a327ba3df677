#include "tools/verbatim/shell/session_users.h"

#include <algorithm>

namespace verbatim::cli {

using supervisor::TerminalInput;

namespace {

constexpr char kEndOfFile = 4, kInterrupt = 3, kSuspend = 26, kQuit = 28;

bool interrupts(char key) { return key == kInterrupt || key == kSuspend || key == kQuit; }

}  // namespace

void SessionUser::on_input(Instant when, const TerminalInput& input) {
  now_ = when;
  if (writer_ != nullptr) writer_->write(Session::Event{.time_ps = to_ps(when), .input = input, .shows = {}});
  if (input.kind != TerminalInput::Kind::kOpen) return;
  has_ended_.push_back(false);
  ++open_;
}

void SessionUser::on_screen(Instant when, std::size_t terminal, std::string_view text) {
  now_ = when;
  screen_.write(terminal, text);
}

void SessionUser::on_end(Instant when, std::size_t terminal) {
  now_ = when;
  has_ended_.at(terminal) = true;
  if (--open_ == 0) return on_last_end();
  if (terminal == screen_.shown()) show(next_behind(terminal));
}

void SessionUser::show(std::size_t terminal) {
  if (terminal == screen_.shown()) return;
  if (writer_ != nullptr)
    writer_->write(Session::Event{.time_ps = to_ps(now_), .input = {}, .shows = terminal, .shown = screen_.bytes()});
  screen_.show(terminal);
}

std::size_t SessionUser::next_behind(std::size_t terminal) const {
  for (std::size_t i = 1; i <= terminals_; ++i) {
    const std::size_t candidate = (terminal + i) % terminals_;
    if (!has_ended_[candidate]) return candidate;
  }
  return terminal;
}

KeysFromFile::KeysFromFile(std::string keys, std::size_t terminals, SessionWriter* writer)
    : SessionUser(terminals, false, writer), keys_(std::move(keys)) {}

const supervisor::TerminalUser::Next* KeysFromFile::next() {
  if (is_ready_) {
    if (has_ended_.at(typed_at_)) next_.input.terminal = typed_at_ = screen_.shown();
    return &next_;
  }
  while (at_ < keys_.size() && keys_[at_] == kNextTerminal) {
    ++at_;
    typed_at_ = next_behind(typed_at_);
  }
  if (has_ended_.at(typed_at_)) typed_at_ = screen_.shown();
  constexpr int kMostEnds = 20;  // of programs that read standard input, one after the other
  const bool is_end = at_ == keys_.size();
  if (is_end && ends_++ == kMostEnds) return nullptr;
  std::string keys(1, kEndOfFile);
  if (!is_end) {
    std::size_t end = at_;
    while (end < keys_.size()) {
      const char key = keys_[end];
      if (end > at_ && (interrupts(key) || key == kNextTerminal)) break;
      ++end;
      if (key == '\n' || key == '\r' || key == kEndOfFile || interrupts(key)) break;
    }
    keys = keys_.substr(at_, end - at_);
    at_ = end;
  }
  next_ = {};
  next_.input.terminal = typed_at_;
  next_.waits_for_reader = is_end || !interrupts(keys.front());
  next_.ends_session = is_end;
  std::ranges::replace(keys, '\n', '\r');  // as sent by the key
  next_.input.keys = std::move(keys);
  is_ready_ = true;
  return &next_;
}

void KeysFromFile::take_next() {
  is_ready_ = false;
  show(typed_at_);
}

RecordedKeys::RecordedKeys(const Session& session, std::size_t terminals, SessionView view)
    : SessionUser(terminals, session.repaints && view.kind == SessionView::Kind::kAsSeen, nullptr),
      view_(view),
      session_(session) {
  if (view_.kind == SessionView::Kind::kAsSeen) show_due();
}

const supervisor::TerminalUser::Next* RecordedKeys::next() {
  while (at_ < session_.events.size() && session_.events[at_].shows) ++at_;
  if (at_ == session_.events.size()) return nullptr;
  next_ = {};
  next_.input = session_.events[at_].input;
  next_.at = instant_from_ps(session_.events[at_].time_ps);
  next_.waits_for_reader = false;
  return &next_;
}

std::optional<Instant> RecordedKeys::interrupted_at() const {
  if (!session_.end) return kEndOfTime;
  if (session_.end->outcome != "interrupted") return std::nullopt;
  return instant_from_ps(session_.end->time_ps);
}

// Shows the terminal that the session showed after this amount of output.
void RecordedKeys::show_due() {
  for (; shows_at_ < session_.events.size(); ++shows_at_) {
    const Session::Event& event = session_.events[shows_at_];
    if (!event.shows) continue;
    if (event.shown > screen_.bytes()) return;
    screen_.show(*event.shows);
  }
}

void RecordedKeys::on_screen(Instant when, std::size_t terminal, std::string_view text) {
  switch (view_.kind) {
    case SessionView::Kind::kAsSeen:
      SessionUser::on_screen(when, terminal, text);
      return show_due();
    case SessionView::Kind::kOne:
      // The screen's only terminal has index 0.
      if (terminal == view_.terminal) SessionUser::on_screen(when, 0, text);
      return;
    case SessionView::Kind::kAll:
      screen_.show(terminal);
      return SessionUser::on_screen(when, terminal, text);
    case SessionView::Kind::kNone:
      if (texts_.size() <= terminal) texts_.resize(terminal + 1);
      texts_[terminal] += text;
  }
}

void RecordedKeys::on_end(Instant when, std::size_t terminal) {
  if (view_.kind == SessionView::Kind::kAsSeen) SessionUser::on_end(when, terminal);
}

}  // namespace verbatim::cli
