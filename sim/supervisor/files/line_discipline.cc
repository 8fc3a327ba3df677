#include "sim/supervisor/files/line_discipline.h"

#include <algorithm>
#include <csignal>

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kTab = 8;

bool is_control(std::uint8_t byte) { return byte < 32 || byte == 127; }
// A continuation byte of UTF-8.
bool continues(std::uint8_t byte) { return (byte & 0xc0) == 0x80; }

bool is_of_word(std::uint8_t byte) {
  const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte >= 128;
  return is_letter || byte == '_' || (byte >= '0' && byte <= '9');
}

}  // namespace

bool LineDiscipline::is(std::uint8_t byte, int character) const {
  return settings_.characters[character] != _POSIX_VDISABLE && byte == settings_.characters[character];
}

LineDiscipline::Effects LineDiscipline::type(std::string_view keys) {
  Effects effects;
  for (const char key : keys) take(static_cast<std::uint8_t>(key), effects);
  return effects;
}

void LineDiscipline::take(std::uint8_t byte, Effects& effects) {
  if ((settings_.input & ISTRIP) != 0) byte &= 0x7f;
  if (next_is_literal_) {
    next_is_literal_ = false;
    return add(byte, effects);
  }
  if (take_flow(byte) || take_signal(byte, effects)) return;
  if (byte == '\r') {
    if ((settings_.input & IGNCR) != 0) return;
    if ((settings_.input & ICRNL) != 0) byte = '\n';
  } else if (byte == '\n' && (settings_.input & INLCR) != 0) {
    byte = '\r';
  }
  if (settings_.is_canonical() && take_editing(byte, effects)) return;
  add(byte, effects);
}

bool LineDiscipline::take_flow(std::uint8_t byte) {
  if ((settings_.input & IXON) == 0) return false;
  if (is(byte, VSTOP)) {
    is_stopped_ = true;
  } else if (is(byte, VSTART)) {
    is_stopped_ = false;
  } else {
    if ((settings_.input & IXANY) != 0) is_stopped_ = false;
    return false;
  }
  return true;
}

bool LineDiscipline::take_signal(std::uint8_t byte, Effects& effects) {
  if ((settings_.local & ISIG) == 0) return false;
  const int signal = is(byte, VINTR) ? SIGINT : is(byte, VQUIT) ? SIGQUIT : is(byte, VSUSP) ? SIGTSTP : 0;
  if (signal == 0) return false;
  if ((settings_.input & IXON) != 0) is_stopped_ = false;
  if ((settings_.local & NOFLSH) == 0) flush_input();
  if (echoes()) echo(byte, effects);
  effects.signals.push_back(signal);
  return true;
}

bool LineDiscipline::take_editing(std::uint8_t byte, Effects& effects) {
  if (is(byte, VERASE) || is(byte, VKILL)) {
    erase(effects, is(byte, VERASE) ? VERASE : VKILL);
    return true;
  }
  if (extended(byte, VWERASE)) {
    erase(effects, VWERASE);
    return true;
  }
  if (extended(byte, VLNEXT)) {
    next_is_literal_ = true;
    if (echoes() && (settings_.local & ECHOCTL) != 0) show("^\b", effects);
    return true;
  }
  if (extended(byte, VREPRINT) && echoes()) {
    echo(byte, effects);
    show("\n", effects);
    line_column_ = column_;
    for (std::size_t i = complete_; i < cells_.size(); ++i) echo(cells_[i].byte, effects);
    return true;
  }
  if (is(byte, VEOF)) {
    end_line(true, byte);
    return true;
  }
  if (byte == '\n') {
    if ((settings_.local & (ECHO | ECHONL)) != 0) show("\n", effects);
    end_line(false, byte);
    return true;
  }
  if (is(byte, VEOL) || extended(byte, VEOL2)) {
    if (echoes()) echo(byte, effects);
    end_line(false, byte);
    return true;
  }
  return false;
}

void LineDiscipline::end_line(bool is_end, std::uint8_t byte) {
  cells_.push_back({byte, true, is_end});
  complete_ = cells_.size();
  line_column_ = column_;
}

void LineDiscipline::add(std::uint8_t byte, Effects& effects) {
  if (cells_.size() >= kMostBytes) {
    if ((settings_.input & IMAXBEL) != 0) effects.echo += '\a';
    return;
  }
  if (cells_.size() == complete_) line_column_ = column_;
  cells_.push_back({byte});
  if (echoes()) byte == '\n' ? show("\n", effects) : echo(byte, effects);
}

void LineDiscipline::echo(std::uint8_t byte, Effects& effects) {
  if ((settings_.local & ECHOCTL) != 0 && is_control(byte) && byte != '\t') {
    const char shown[2] = {'^', static_cast<char>(byte ^ 0100)};
    return show({shown, 2}, effects);
  }
  const char shown = static_cast<char>(byte);
  show({&shown, 1}, effects);
}

// The column at the end of the line being edited, computed from its bytes.
std::size_t LineDiscipline::column_behind_line() const {
  std::size_t column = line_column_;
  for (std::size_t i = complete_; i < cells_.size(); ++i) {
    const std::uint8_t byte = cells_[i].byte;
    if (byte == '\t') {
      column = (column / kTab + 1) * kTab;
    } else if (is_control(byte)) {
      column += (settings_.local & ECHOCTL) != 0 ? 2 : 0;
    } else if ((settings_.input & IUTF8) == 0 || !continues(byte)) {
      ++column;
    }
  }
  return column;
}

// Erases the last character, from the line and on the screen.
void LineDiscipline::erase_one(Effects& effects) {
  std::uint8_t byte = cells_.back().byte;
  cells_.pop_back();
  while ((settings_.input & IUTF8) != 0 && continues(byte) && cells_.size() > complete_) {
    byte = cells_.back().byte;
    cells_.pop_back();
  }
  if (!echoes()) return;
  if ((settings_.local & ECHOE) == 0) return echo(settings_.characters[VERASE], effects);
  std::size_t width = is_control(byte) ? ((settings_.local & ECHOCTL) != 0 ? 2 : 0) : 1;
  if (byte == '\t') {
    const std::size_t begins = column_behind_line();
    for (std::size_t n = kTab - begins % kTab; n > 0; --n) show("\b", effects);
    return;
  }
  for (; width > 0; --width) show("\b \b", effects);
}

void LineDiscipline::erase(Effects& effects, int by) {
  const auto is_empty = [&] { return cells_.size() == complete_; };
  if (is_empty()) return;
  if (by == VERASE) return erase_one(effects);
  if (by == VKILL) {
    if (!echoes() || (settings_.local & (ECHOE | ECHOK | ECHOKE)) != (ECHOE | ECHOK | ECHOKE)) {
      cells_.resize(complete_);
      if (!echoes()) return;
      echo(settings_.characters[VKILL], effects);
      if ((settings_.local & ECHOK) != 0) show("\n", effects);
      line_column_ = column_;
      return;
    }
    while (!is_empty()) erase_one(effects);
    return;
  }
  // Erases the non-word characters at the end, then the word.
  while (!is_empty() && !is_of_word(cells_.back().byte)) erase_one(effects);
  while (!is_empty() && is_of_word(cells_.back().byte)) erase_one(effects);
}

std::string LineDiscipline::to_screen(std::string_view text) {
  std::string shown;
  const bool translates = (settings_.output & OPOST) != 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (translates && c == '\n' && (settings_.output & ONLCR) != 0) {
      shown += "\r\n";
      column_ = 0;
      continue;
    }
    if (translates && c == '\r') {
      if ((settings_.output & ONOCR) != 0 && column_ == 0) continue;
      if ((settings_.output & OCRNL) != 0) {
        shown += '\n';
        if ((settings_.output & ONLRET) != 0) column_ = 0;
        continue;
      }
    }
    if (translates && c == '\t' && (settings_.output & TABDLY) == TAB3) {
      const std::size_t n = kTab - column_ % kTab;
      shown.append(n, ' ');
      column_ += n;
      continue;
    }
    shown += c;
    if (c == '\r' || (c == '\n' && (settings_.output & ONLRET) != 0)) {
      column_ = 0;
    } else if (c == '\b') {
      column_ -= column_ > 0 ? 1 : 0;
    } else if (c == '\t') {
      column_ = (column_ / kTab + 1) * kTab;
    } else if (!is_control(byte) && ((settings_.input & IUTF8) == 0 || !continues(byte))) {
      ++column_;
    }
  }
  return shown;
}

std::optional<std::string> LineDiscipline::read(std::size_t limit) {
  std::string bytes;
  if (!settings_.is_canonical()) {
    if (cells_.empty()) return std::nullopt;
    while (bytes.size() < limit && !cells_.empty()) {
      bytes += static_cast<char>(cells_.front().byte);
      cells_.pop_front();
    }
    complete_ = cells_.size();
    return bytes;
  }
  if (complete_ == 0) return std::nullopt;
  while (complete_ > 0 && (bytes.size() < limit || cells_.front().is_end)) {
    const Cell cell = cells_.front();
    if (cell.is_end && bytes.empty() && limit == 0) break;
    cells_.pop_front();
    --complete_;
    if (!cell.is_end) bytes += static_cast<char>(cell.byte);
    if (cell.ends_line) break;
  }
  return bytes;
}

bool LineDiscipline::is_readable() const {
  if (settings_.is_canonical()) return complete_ > 0;
  const Patience wait = patience();
  return cells_.size() >= std::max<std::size_t>(wait.time == Duration::zero() ? wait.minimum : 1, 1);
}

std::size_t LineDiscipline::readable_bytes() const {
  if (!settings_.is_canonical()) return cells_.size();
  const auto end = cells_.begin() + static_cast<std::ptrdiff_t>(complete_);
  return static_cast<std::size_t>(std::count_if(cells_.begin(), end, [](const Cell& cell) { return !cell.is_end; }));
}

LineDiscipline::Patience LineDiscipline::patience() const {
  constexpr std::int64_t kTenthPs = 100'000'000'000;
  return {settings_.characters[VMIN], Duration(settings_.characters[VTIME] * kTenthPs)};
}

void LineDiscipline::set(const TerminalSettings& settings) {
  const bool changes_mode = settings.is_canonical() != settings_.is_canonical();
  if ((settings_.input & IXON) != 0 && (settings.input & IXON) == 0) is_stopped_ = false;
  settings_ = settings;
  if (!changes_mode) return;
  next_is_literal_ = false;
  for (Cell& cell : cells_) cell.ends_line = cell.is_end = false;
  if (!cells_.empty()) cells_.back().ends_line = true;
  complete_ = cells_.size();
}

void LineDiscipline::flush_input() {
  cells_.clear();
  complete_ = 0;
  next_is_literal_ = false;
}

}  // namespace verbatim::supervisor
