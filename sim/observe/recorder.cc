#include "sim/observe/recorder.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/observe/text_trace_sink.h"

namespace verbatim::observe {

Recorder::Recorder(int fd)
    : fd_(fd), order_([this](const LogEntry& entry) {
        buffer_.push_back(entry);
        if (buffer_.size() == kBufferedEntries) write_buffer();
      }) {
  buffer_.reserve(kBufferedEntries);
}

void Recorder::on_record(const TraceRecord& record, std::span<const std::byte> bytes) {
  LogEntry entry;
  entry.record = record;
  if (!bytes.empty()) {
    entry.bytes_hash = XXH3_64bits(bytes.data(), bytes.size());
    entry.bytes_length = bytes.size();
    std::memcpy(entry.head, bytes.data(), std::min(bytes.size(), sizeof entry.head));
  }
  order_.add(record, entry);
}

int Recorder::flush() {
  order_.flush();
  write_buffer();
  return error_;
}

void Recorder::write_buffer() {
  const char* from = reinterpret_cast<const char*>(buffer_.data());
  std::size_t left = buffer_.size() * sizeof(LogEntry);
  while (left > 0 && error_ == 0) {
    const ssize_t n = ::write(fd_, from, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      error_ = n < 0 ? errno : ENOSPC;
      break;
    }
    from += n;
    left -= static_cast<std::size_t>(n);
  }
  buffer_.clear();
}

namespace {

// Reads a log in pieces at explicit offsets, independent of the descriptor's position.
class LogReader {
 public:
  explicit LogReader(int fd) : fd_(fd), entries_(4096) {}

  const LogEntry* next() {
    if (at_ == count_) {
      std::size_t got = 0;
      const std::size_t wanted = entries_.size() * sizeof(LogEntry);
      while (got < wanted) {
        const ssize_t n = ::pread(fd_, reinterpret_cast<char*>(entries_.data()) + got, wanted - got, offset_);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        got += static_cast<std::size_t>(n);
        offset_ += n;
      }
      at_ = 0;
      count_ = got / sizeof(LogEntry);
      if (count_ == 0) return nullptr;
    }
    return &entries_[at_++];
  }

 private:
  int fd_;
  off_t offset_ = 0;
  std::vector<LogEntry> entries_;
  std::size_t at_ = 0, count_ = 0;
};

std::string side(const std::optional<LogEntry>& entry, const ComponentTable& components) {
  if (!entry) return "(this run had ended)";
  std::string text = to_text(entry->record, {}, components);
  if (entry->bytes_length > 0) {
    text += " bytes=" + std::to_string(entry->bytes_length) + ":\"";
    for (std::size_t i = 0; i < std::min<std::uint64_t>(entry->bytes_length, sizeof entry->head); ++i) {
      const auto c = static_cast<unsigned char>(entry->head[i]);
      if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
        text += static_cast<char>(c);
      } else {
        constexpr char kHex[] = "0123456789abcdef";
        text += std::string("\\x") + kHex[c >> 4] + kHex[c & 15];
      }
    }
    text += entry->bytes_length > sizeof entry->head ? "…\"" : "\"";
  }
  return text;
}

}  // namespace

std::optional<Divergence> compare(int first_fd, int second_fd) {
  LogReader first(first_fd), second(second_fd);
  for (std::uint64_t index = 0;; ++index) {
    const LogEntry* a = first.next();
    const LogEntry* b = second.next();
    if (a == nullptr && b == nullptr) return std::nullopt;
    if (a != nullptr && b != nullptr && *a == *b) continue;
    Divergence divergence{index, std::nullopt, std::nullopt};
    if (a != nullptr) divergence.first = *a;
    if (b != nullptr) divergence.second = *b;
    return divergence;
  }
}

std::string to_text(const Divergence& divergence, const ComponentTable& components) {
  std::string text = "the runs differ first in record " + std::to_string(divergence.index) + ":\n";
  text += "  first run:  " + side(divergence.first, components) + "\n";
  text += "  second run: " + side(divergence.second, components) + "\n";
  if (divergence.first && divergence.second && divergence.first->record == divergence.second->record) {
    text += "  the records agree; the bytes that belong to them do not\n";
  }
  return text;
}

}  // namespace verbatim::observe
