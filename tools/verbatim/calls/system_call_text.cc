#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/verbatim/calls/call_text.h"
#include "tools/verbatim/calls/flag_names.h"
#include "verbs_shim/protocol/remote_shell.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::cli {

namespace {

constexpr std::size_t kMostBytes = 32;  // of a buffer, as in strace
constexpr std::size_t kMostPath = 4096;
constexpr std::int64_t kMostEntries = 8;  // of an array
constexpr std::int64_t kLastError = -4095;

// Format letters of the arguments; see system_call_table.h.
const char* letters_of(std::uint32_t number, const std::int64_t (&a)[6]) {
  if (number == SYS_futex) {
    const auto operation = static_cast<int>(a[1]) & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
    if (operation == FUTEX_WAKE) return "xUu";
    if (operation == FUTEX_WAIT) return "xUut";
    if (operation == FUTEX_WAIT_BITSET) return "xUutxx";
    return "xUuxxx";
  }
  // The mode argument exists only if the call can create a file.
  if (number == SYS_open && (a[1] & O_CREAT) == 0) return "po";
  if (number == SYS_openat && (a[2] & O_CREAT) == 0) return "fpo";
  if (number == VERBATIM_START_REMOTE_SHELL) return "xu";
  return protocol::system_call(number).letters;
}

std::string escaped(std::span<const std::byte> bytes, bool is_cut) {
  std::string text = "\"";
  for (const std::byte byte : bytes) {
    const auto c = std::to_integer<unsigned char>(byte);
    constexpr std::string_view kSpecial = "\n\t\r\v\f\"\\", kLetters = "ntrvf\"\\";
    if (const std::size_t at = kSpecial.find(static_cast<char>(c)); at != std::string_view::npos) {
      text += '\\';
      text += kLetters[at];
    } else if (c >= ' ' && c <= '~') {
      text += static_cast<char>(c);
    } else {
      constexpr const char* kDigits = "0123456789abcdef";
      text += {'\\', 'x', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return text + (is_cut ? "\"..." : "\"");
}

std::string bytes_text(const ReadMemory& read, std::uint64_t address, std::uint64_t length) {
  std::array<std::byte, kMostBytes> bytes;
  const std::size_t wanted = std::min<std::uint64_t>(length, bytes.size());
  if (wanted == 0) return length == 0 && address != 0 ? "\"\"" : in_hex(address);
  const auto part = std::span(bytes).first(wanted);
  return read(address, part) == wanted ? escaped(part, length > wanted) : in_hex(address);
}

std::string string_text(const ReadMemory& read, std::uint64_t address) {
  if (address == 0) return "NULL";
  std::vector<std::byte> bytes(kMostPath);
  bytes.resize(read(address, bytes));
  const auto end = std::ranges::find(bytes, std::byte{});
  if (end == bytes.end() && bytes.size() < kMostPath) return in_hex(address);
  return escaped(std::span(bytes.begin(), end), end == bytes.end());
}

std::string list_text(std::int64_t count, std::uint64_t address,
                      const std::function<std::string(std::int64_t)>& one) {
  std::string text = "[";
  for (std::int64_t i = 0; i < std::min(count, kMostEntries); ++i) {
    const std::string entry = one(i);
    if (entry.empty()) return in_hex(address);
    text += (i == 0 ? "" : ", ") + entry;
  }
  return text + (count > kMostEntries ? ", ...]" : "]");
}

std::string strings_text(const ReadMemory& read, std::uint64_t address) {
  std::int64_t count = 0;
  while (count <= kMostEntries) {
    const auto string = value_at<std::uint64_t>(read, address + 8 * static_cast<std::uint64_t>(count));
    if (!string) return in_hex(address);
    if (*string == 0) break;
    ++count;
  }
  return list_text(count, address, [&](std::int64_t i) {
    const auto string = value_at<std::uint64_t>(read, address + 8 * static_cast<std::uint64_t>(i));
    return string ? string_text(read, *string) : "";
  });
}

// `left` is the total number of bytes that may be shown.
std::string vector_text(const ReadMemory& read, std::uint64_t address, std::int64_t count,
                        std::uint64_t left) {
  return list_text(count, address, [&](std::int64_t i) -> std::string {
    const auto part = value_at<iovec>(read, address + static_cast<std::uint64_t>(i) * sizeof(iovec));
    if (!part) return "";
    const std::uint64_t length = std::min<std::uint64_t>(part->iov_len, left);
    left -= length;
    return "{" + bytes_text(read, reinterpret_cast<std::uint64_t>(part->iov_base), length) + ", " +
           std::to_string(part->iov_len) + "}";
  });
}

std::string address_text(const ReadMemory& read, std::uint64_t address, std::uint64_t length) {
  sockaddr_storage storage{};
  if (address == 0) return "NULL";
  length = std::min<std::uint64_t>(length, sizeof storage);
  const auto bytes = std::as_writable_bytes(std::span(&storage, 1)).first(length);
  if (length < sizeof(sa_family_t) || read(address, bytes) != length) return in_hex(address);
  char text[INET6_ADDRSTRLEN] = "";
  const std::string family = "{" + constant_text(storage.ss_family, kFamilies);
  switch (storage.ss_family) {
    case AF_INET: {
      const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
      return family + ", " + inet_ntop(AF_INET, &in.sin_addr, text, sizeof text) + ":" +
             std::to_string(ntohs(in.sin_port)) + "}";
    }
    case AF_INET6: {
      const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
      return family + ", [" + inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text) +
             "]:" + std::to_string(ntohs(in.sin6_port)) + "}";
    }
    case AF_UNIX: {  // abstract names begin with a zero
      const auto path = bytes.subspan(std::min<std::size_t>(offsetof(sockaddr_un, sun_path), bytes.size()));
      const bool is_abstract = !path.empty() && path.front() == std::byte{};
      const auto end = is_abstract ? path.end() : std::ranges::find(path, std::byte{});
      return family + ", " + escaped(std::span(path.begin(), end), false) + "}";
    }
    default:
      return family + "}";
  }
}

std::string time_text(const ReadMemory& read, std::uint64_t address, const char* unit) {
  if (address == 0) return "NULL";
  const auto time = value_at<timespec>(read, address);
  return time ? "{" + std::to_string(time->tv_sec) + " s, " + std::to_string(time->tv_nsec) + unit + "}"
              : in_hex(address);
}

std::string event_text(const ReadMemory& read, std::uint64_t address) {
  const auto event = value_at<epoll_event>(read, address);
  return event ? "{" + flag_text(event->events, kEpollEvents) + ", " + in_hex(event->data.u64) + "}" : "";
}

std::string polled_text(const ReadMemory& read, std::uint64_t address, std::int64_t count, bool has_ended) {
  return list_text(count, address, [&](std::int64_t i) -> std::string {
    const auto polled = value_at<pollfd>(read, address + static_cast<std::uint64_t>(i) * sizeof(pollfd));
    if (!polled) return "";
    std::string text = "{" + std::to_string(polled->fd) + ", " +
                       flag_text(static_cast<std::uint16_t>(polled->events), kPollEvents);
    if (has_ended && polled->revents != 0)
      text += " => " + flag_text(static_cast<std::uint16_t>(polled->revents), kPollEvents);
    return text + "}";
  });
}

std::string signals_text(const ReadMemory& read, std::uint64_t address) {
  if (address == 0) return "NULL";
  const auto set = value_at<std::uint64_t>(read, address);
  if (!set) return in_hex(address);
  std::string text;
  for (int signal = 1; signal <= 64; ++signal) {
    if ((*set >> (signal - 1) & 1) == 0) continue;
    if (*set == ~std::uint64_t{0} || text.size() > 40) return "[" + in_hex(*set) + "]";
    text += (text.empty() ? "" : " ") + signal_text(signal).substr(signal < 32 ? 3 : 0);
  }
  return "[" + text + "]";
}

std::string octal(std::uint64_t value) {
  std::string text;
  for (; value != 0; value /= 8) text.insert(text.begin(), static_cast<char>('0' + value % 8));
  return "0" + text;
}

std::string constant(char letter, std::int64_t value) {
  const auto word = static_cast<std::uint32_t>(value);
  switch (letter) {
    case 'd':
      return std::to_string(static_cast<std::int32_t>(value));
    case 'D':
      return std::to_string(value);
    case 'u':
      return std::to_string(static_cast<std::uint64_t>(value));
    case 'f':
      return static_cast<std::int32_t>(value) == AT_FDCWD ? "AT_FDCWD"
                                                          : std::to_string(static_cast<std::int32_t>(value));
    case 'o':
      return open_flags_text(word);
    case 'O':
      return octal(word);
    case 'r':
      return flag_text(word, kProtections, "PROT_NONE");
    case 'm':
      return map_flags_text(word);
    case 'M':
      return constant_text(static_cast<std::int32_t>(value), kAdvices);
    case 'w':
      return constant_text(static_cast<std::int32_t>(value), kWhences);
    case 'F':
      return constant_text(static_cast<std::int32_t>(value), kFamilies);
    case 'S':
      return socket_type_text(word);
    case 'q':
      return flag_text(word, kMessageFlags);
    case 'U':
      return futex_operation_text(word);
    case 'C':
      return constant_text(static_cast<std::int32_t>(value), kEpollOperations);
    case 'c':
      return clone_flags_text(static_cast<std::uint64_t>(value));
    case 'g':
      return signal_text(static_cast<std::int32_t>(value));
    case 'K':
      return constant_text(static_cast<std::int32_t>(value), kClocks);
    case 'k':
      return constant_text(static_cast<std::int32_t>(value), kMaskChanges);
    case 'l':
      return constant_text(static_cast<std::int32_t>(value), kFileCommands);
    case 'R':
      return flag_text(word, kAccessModes, "F_OK");
    default:
      return value == 0 ? "0" : in_hex(static_cast<std::uint64_t>(value));
  }
}

// `result` is set if the call has succeeded.
std::string argument(char letter, std::size_t i, const std::int64_t (&a)[6], const ReadMemory& read,
                     std::optional<std::int64_t> result) {
  const auto address = static_cast<std::uint64_t>(a[i]);
  const std::int64_t next = i < 5 ? a[i + 1] : 0;
  const auto elsewhere = [&] { return address == 0 ? std::string("NULL") : in_hex(address); };
  switch (letter) {
    case 'p':
    case 's':
      return string_text(read, address);
    case 'B':
      return bytes_text(read, address, static_cast<std::uint64_t>(next));
    case 'b':
      return result ? bytes_text(read, address, static_cast<std::uint64_t>(*result)) : elsewhere();
    case 'V':
      return vector_text(read, address, next, ~std::uint64_t{0});
    case 'v':
      return result ? vector_text(read, address, next, static_cast<std::uint64_t>(*result)) : elsewhere();
    case 'A':
      return address_text(read, address, static_cast<std::uint32_t>(next));
    case 'a': {
      const auto length = value_at<std::uint32_t>(read, static_cast<std::uint64_t>(next));
      return result && length && address != 0 ? address_text(read, address, *length) : elsewhere();
    }
    case 'i': {
      const auto both = value_at<std::array<std::int32_t, 2>>(read, address);
      return result && both ? "[" + std::to_string((*both)[0]) + ", " + std::to_string((*both)[1]) + "]"
                            : elsewhere();
    }
    case 'I': {
      const auto value = value_at<std::int32_t>(read, address);
      return result && *result >= 0 && value ? "[" + std::to_string(*value) + "]" : elsewhere();
    }
    case 't':
      return time_text(read, address, " ns");
    case 'T':
      return result ? time_text(read, address, i == 0 ? " us" : " ns") : elsewhere();
    case 'G':
      return strings_text(read, address);
    case 'E': {
      const std::string text = event_text(read, address);
      return text.empty() ? elsewhere() : text;
    }
    case 'e':
      if (!result) return elsewhere();
      return list_text(*result, address, [&](std::int64_t n) {
        return event_text(read, address + static_cast<std::uint64_t>(n) * sizeof(epoll_event));
      });
    case 'P':
      return polled_text(read, address, static_cast<std::uint32_t>(next), result.has_value());
    case 'N':
      return signals_text(read, address);
    case 'x':
      return address == 0 ? "0" : in_hex(address);
    default:
      return constant(letter, a[i]);
  }
}

bool is_written(char letter) { return std::string_view("bvaiITeP").find(letter) != std::string_view::npos; }

bool returns_address(std::uint32_t number) {
  return number == SYS_mmap || number == SYS_brk || number == SYS_mremap || number == SYS_shmat;
}

}  // namespace

CallText text_of_system_call(const protocol::ReportedCall& call, const ReadMemory& read) {
  CallText text;
  const char* const name = protocol::system_call(call.number).name;
  text.name = call.number == VERBATIM_START_REMOTE_SHELL ? "start_remote_shell"
              : name != nullptr                          ? name
                                                         : "system_call_" + std::to_string(call.number);
  const char* const letters = letters_of(call.number, call.arguments);
  for (std::size_t i = 0; letters[i] != 0; ++i) {
    text.arguments.push_back(argument(letters[i], i, call.arguments, read, std::nullopt));
  }
  return text;
}

void add_result_of_system_call(CallText& text, const protocol::ReportedCall& call, const ReadMemory& read) {
  if (call.step == protocol::ReportedCallStep::kIsMadeAgain) {
    text.result = " = ? ERESTARTSYS (to be made again)";
    return;
  }
  if (protocol::system_call(call.number).has(protocol::CallTraits::kOnlyAsks)) text.subject = "calls of " + text.name;
  if (call.result < 0 && call.result >= kLastError) {
    text.result = " = -1 " + error_text(-call.result);
    return;
  }
  const char* const letters = letters_of(call.number, call.arguments);
  for (std::size_t i = 0; letters[i] != 0 && i < text.arguments.size(); ++i) {
    if (is_written(letters[i]))
      text.arguments[i] = argument(letters[i], i, call.arguments, read, call.result);
  }
  text.result = " = " + (returns_address(call.number) ? in_hex(static_cast<std::uint64_t>(call.result))
                                                      : std::to_string(call.result));
}

}  // namespace verbatim::cli
