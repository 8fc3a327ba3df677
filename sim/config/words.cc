#include "sim/config/words.h"

#include <csignal>

namespace verbatim::config {

std::optional<std::vector<std::string>> split_words(std::string_view text, std::string* problem) {
  constexpr std::string_view kSpecial = "$`*?[|&;<>()";
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  const auto refuse = [&](char c) {
    *problem =
        std::string("the character ") + c + " has a meaning only to a shell, and commands run without one";
    return std::nullopt;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') {
      *problem = "the command contains a zero character";
      return std::nullopt;
    }
    if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    if ((c == '~' || c == '#') && !in_word) return refuse(c);
    in_word = true;
    if (c == '\\') {
      if (++i == text.size()) {
        *problem = "the command ends in a backslash";
        return std::nullopt;
      }
      if (text[i] != '\n') word += text[i];
    } else if (c == '\'') {
      const std::size_t end = text.find('\'', i + 1);
      if (end == std::string_view::npos) {
        *problem = "the command has a single quote that is never closed";
        return std::nullopt;
      }
      word += text.substr(i + 1, end - i - 1);
      i = end;
    } else if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '$' || text[i] == '`') return refuse(text[i]);
        if (text[i] == '\\' && i + 1 < text.size() &&
            std::string_view("\\\"$`\n").find(text[i + 1]) != std::string_view::npos) {
          ++i;
          if (text[i] == '\n') continue;
        }
        word += text[i];
      }
      if (i == text.size()) {
        *problem = "the command has a double quote that is never closed";
        return std::nullopt;
      }
    } else if (kSpecial.find(c) != std::string_view::npos) {
      return refuse(c);
    } else {
      word += c;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+=./:,@%") == std::string::npos;
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (text.empty() || text.front() != '.') return std::nullopt;
      text.remove_prefix(1);
    }
    std::size_t n = 0;
    std::uint32_t value = 0;
    while (n < text.size() && n < 4 && text[n] >= '0' && text[n] <= '9')
      value = value * 10 + (text[n++] - '0');
    if (n == 0 || n > 3 || value > 255 || (n > 1 && text.front() == '0')) return std::nullopt;
    address = address << 8 | value;
    text.remove_prefix(n);
  }
  if (!text.empty()) return std::nullopt;
  return address;
}

std::optional<Ipv4WithPrefix> parse_ipv4_with_prefix(std::string_view text, std::uint32_t usual_bits) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ipv4(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string_view::npos) return Ipv4WithPrefix{*address, usual_bits};
  const std::string_view digits = text.substr(slash + 1);
  const bool is_number = !digits.empty() && digits.size() <= 2 && digits.front() != '0' &&
                         digits.find_first_not_of("0123456789") == std::string_view::npos;
  std::uint32_t bits = 0;
  for (const char digit : is_number ? digits : "") bits = bits * 10 + static_cast<std::uint32_t>(digit - '0');
  if (bits < 8 || bits > 31) return std::nullopt;
  return Ipv4WithPrefix{*address, bits};
}

std::string format_ipv4(std::uint32_t address) {
  return std::to_string(address >> 24) + "." + std::to_string(address >> 16 & 255) + "." +
         std::to_string(address >> 8 & 255) + "." + std::to_string(address & 255);
}

namespace {
struct NamedSignal {
  int number;
  std::string_view name;
};
constexpr NamedSignal kSignals[] = {
    {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
    {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
    {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
    {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
};
}  // namespace

int signal_number(std::string_view name) {
  for (const NamedSignal& s : kSignals) {
    if (s.name == name) return s.number;
  }
  return 0;
}

std::string signal_name(int number) {
  for (const NamedSignal& s : kSignals) {
    if (s.number == number) return std::string(s.name);
  }
  return "signal " + std::to_string(number);
}

}  // namespace verbatim::config
