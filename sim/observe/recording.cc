#include "sim/observe/recording.h"

#include <zstd.h>

#include <memory>

#include "sim/core/time.h"

namespace verbatim::observe {

namespace {

constexpr std::size_t kFlushBytes = 256 * 1024;
constexpr std::size_t kMostNumberBytes = 10;
enum Tag : std::uint64_t { kEnd = 0, kString = 1, kSlot = 2, kLine = 3, kFile = 4, kFirstSlot = 8 };

// Writes the number as LEB128 to `to`, which needs kMostNumberBytes, and returns the end.
char* write_number(char* to, std::uint64_t number) {
  while (number >= 0x80) {
    *to++ = static_cast<char>(number | 0x80);
    number >>= 7;
  }
  *to++ = static_cast<char>(number);
  return to;
}

// Zigzag encoding: 0, -1, 1, -2 …
std::uint64_t unsigned_of(std::int64_t number) {
  return static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
}

}  // namespace

struct RecordingWriter::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  Compressor() {
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(context); }
};

RecordingWriter::RecordingWriter(std::FILE* file)
    : file_(file), compressor_(std::make_unique<Compressor>()), compressed_(ZSTD_CStreamOutSize()) {
  buffer_.reserve(kFlushBytes + 4096);
  good_ = std::fwrite(kRecordingBegin.data(), 1, kRecordingBegin.size(), file_) == kRecordingBegin.size();
}

RecordingWriter::~RecordingWriter() = default;

void RecordingWriter::put(std::uint64_t number) {
  char bytes[kMostNumberBytes];
  buffer_.insert(buffer_.end(), bytes, write_number(bytes, number));
}

void RecordingWriter::put_text(std::string_view text) {
  put(text.size());
  buffer_.insert(buffer_.end(), text.begin(), text.end());
  flush_if_full();
}

void RecordingWriter::flush_if_full() {
  if (buffer_.size() >= kFlushBytes) flush(false);
}

void RecordingWriter::flush(bool is_end) {
  ZSTD_inBuffer in{buffer_.data(), buffer_.size(), 0};
  for (bool is_done = false; !is_done && good_;) {
    ZSTD_outBuffer out{compressed_.data(), compressed_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(compressor_->context, &out, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
    good_ = !ZSTD_isError(left) && std::fwrite(compressed_.data(), 1, out.pos, file_) == out.pos;
    is_done = is_end ? left == 0 : in.pos == in.size;
  }
  buffer_.clear();
}

std::uint32_t RecordingWriter::string(std::string_view text) {
  if (const auto known = strings_.find(text); known != strings_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(strings_.size());
  strings_.emplace(text, number);
  put(kString);
  put_text(text);
  return number;
}

std::uint32_t RecordingWriter::slot(std::string_view component, std::string_view kind, std::uint32_t values, bool has_bytes) {
  const std::uint32_t of = string(component), what = string(kind);
  const auto [known, is_new] = numbers_.try_emplace({of, what}, static_cast<std::uint32_t>(slots_.size()));
  if (!is_new) return known->second;
  slots_.push_back({values, has_bytes, {}});
  put(kSlot);
  put(of);
  put(what);
  put(values);
  put(has_bytes ? 1 : 0);
  return known->second;
}

void RecordingWriter::entry(std::uint32_t number, std::int64_t time_ps, std::span<const std::uint64_t> values,
                            std::span<const std::byte> bytes) {
  Slot& slot = slots_[number];
  // There is an entry for each record, so its numbers are encoded on the stack before the buffer grows.
  char row[(2 + kMostValues) * kMostNumberBytes];
  char* end = write_number(row, kFirstSlot + number);
  end = write_number(end, unsigned_of(time_ps - last_time_));
  last_time_ = time_ps;
  for (std::uint32_t i = 0; i < slot.values; ++i) {
    end = write_number(end, unsigned_of(static_cast<std::int64_t>(values[i] - slot.last[i])));
    slot.last[i] = values[i];
  }
  buffer_.insert(buffer_.end(), row, end);
  if (slot.has_bytes) put_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  flush_if_full();
}

void RecordingWriter::line(RecordedLine of, std::string_view text) {
  put(kLine);
  put(static_cast<std::uint64_t>(of));
  put_text(text);
}

void RecordingWriter::file(std::string_view name, std::string_view content) {
  put(kFile);
  put_text(name);
  put_text(content);
}

bool RecordingWriter::finish() {
  put(kEnd);
  flush(true);
  return good_ && std::fflush(file_) == 0;
}

namespace {

using enum RecordingResult::Kind;

// Reads numbers and texts from a file's bytes.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  // The bytes ended within a number or text. Values returned after that are not from the file.
  bool is_at_end() const { return is_at_end_; }
  // A number has more than 64 bits.
  bool is_damaged() const { return is_damaged_; }
  bool has_failed() const { return is_at_end_ || is_damaged_; }
  std::size_t left() const { return rest_.size(); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (shift == 63 && byte > 1) break;
      if (byte < 0x80) return value;
    }
    (rest_.empty() ? is_at_end_ : is_damaged_) = true;
    return 0;
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  std::string_view text() {
    const std::uint64_t length = number();
    if (length > rest_.size()) is_at_end_ = true;
    if (has_failed()) return {};
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

 private:
  std::string_view rest_;
  bool is_at_end_ = false, is_damaged_ = false;
};

RecordingResult unusable(std::string why) { return {kUnusable, std::move(why)}; }
RecordingResult damaged(const std::string& why) { return unusable("is damaged: " + why); }
RecordingResult cut_off() { return {kCutOff, "is cut off: the run that wrote it has not finished"}; }
RecordingResult foreign() { return unusable("is not a recording of this version of verbatim"); }

struct ReadSlot {
  std::uint32_t component, kind, values;
  bool has_bytes;
  std::uint64_t last[RecordingWriter::kMostValues] = {};
};

// Decompresses the frame, up to the point where it is truncated.
RecordingResult decompress(std::string_view frame, std::size_t most, std::string* content) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  const std::size_t block_size = ZSTD_DStreamOutSize();
  const auto block = std::make_unique_for_overwrite<char[]>(block_size);
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  for (std::size_t left = 1; left != 0;) {
    ZSTD_outBuffer out{block.get(), block_size, 0};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) return damaged(ZSTD_getErrorName(left));
    content->append(block.get(), out.pos);
    if (content->size() > most)
      return unusable("expands to more than " + std::to_string(most >> 20) + " MiB, which is too much for a recording of its size");
    if (left != 0 && in.pos == in.size && out.pos < block_size) return cut_off();
  }
  return in.pos == in.size ? RecordingResult{} : damaged("bytes follow its end");
}

// Reads entries in order.
class EntryReader {
 public:
  EntryReader(std::string_view entries, const RecordingVisitor& visitor) : cursor_(entries), visitor_(visitor) {}

  // Returns "" at the end, or a sentence. Sets `is_cut_off` if the bytes end before that.
  std::string read(bool* is_cut_off) {
    while (true) {
      const std::uint64_t tag = cursor_.number();
      std::string problem = cursor_.has_failed() ? "" : take(tag);
      if (cursor_.is_damaged()) return "a number in it is too large";
      if (cursor_.is_at_end()) {
        *is_cut_off = true;
        return "it has no end";
      }
      if (!problem.empty()) return problem;
      if (tag == kEnd) return cursor_.left() == 0 ? "" : "entries follow its end";
    }
  }

 private:
  // Returns a sentence if the entry is invalid; ignored if the cursor has failed.
  std::string take(std::uint64_t tag) {
    if (tag == kEnd) return "";
    if (tag == kString) {
      strings_.emplace_back(cursor_.text());
      return strings_.size() > kMostNames ? "it has too many names" : "";
    }
    if (tag == kSlot) return take_slot();
    if (tag == kLine) return take_line();
    if (tag == kFile) {
      const std::string_view name = cursor_.text(), text = cursor_.text();
      const bool goes_on = cursor_.has_failed() || !visitor_.on_file || visitor_.on_file(name, text);
      return goes_on ? "" : kStopped;
    }
    if (tag >= kFirstSlot && tag - kFirstSlot < slots_.size()) return take_entry(slots_[tag - kFirstSlot]);
    return "it has an entry of an unknown kind";
  }

  std::string take_slot() {
    const std::uint64_t component = cursor_.number(), kind = cursor_.number(), values = cursor_.number();
    const bool has_bytes = cursor_.number() != 0;
    if (component >= strings_.size() || kind >= strings_.size()) return "it uses a name before it has it";
    if (values > RecordingWriter::kMostValues) return "it has entries with too many values";
    slots_.push_back({static_cast<std::uint32_t>(component), static_cast<std::uint32_t>(kind),
                      static_cast<std::uint32_t>(values), has_bytes});
    return slots_.size() > kMostNames ? "it has too many names" : "";
  }

  std::string take_line() {
    const std::uint64_t of = cursor_.number();
    const std::string_view text = cursor_.text();
    if (of > static_cast<std::uint64_t>(RecordedLine::kFacts)) return "it has a line of an unknown kind";
    const bool goes_on = cursor_.has_failed() || !visitor_.on_line || visitor_.on_line(static_cast<RecordedLine>(of), text);
    return goes_on ? "" : kStopped;
  }

  std::string take_entry(ReadSlot& slot) {
    const bool has_time = !__builtin_add_overflow(time_ps_, cursor_.signed_number(), &time_ps_);
    if (!has_time || time_ps_ < 0 || time_ps_ > kLastTime) return "it has a time that is outside of virtual time";
    for (std::uint32_t i = 0; i < slot.values; ++i) slot.last[i] += static_cast<std::uint64_t>(cursor_.signed_number());
    const std::string_view bytes = slot.has_bytes ? cursor_.text() : std::string_view();
    const bool goes_on =
        cursor_.has_failed() || !visitor_.on_entry ||
        visitor_.on_entry({strings_[slot.component], strings_[slot.kind], time_ps_, {slot.last, slot.values}, bytes}, strings_);
    return goes_on ? "" : kStopped;
  }

  static constexpr std::size_t kMostNames = std::size_t{4} << 20;  // of strings, and of slots
  static constexpr const char* kStopped = "it was not read to its end";
  // A run that reaches the end of virtual time ends 1 ps later.
  static constexpr std::int64_t kLastTime = to_ps(kEndOfTime) + 1;

  Cursor cursor_;
  const RecordingVisitor& visitor_;
  std::vector<std::string> strings_;
  std::vector<ReadSlot> slots_;
  std::int64_t time_ps_ = 0;
};

}  // namespace

bool is_recording(std::string_view beginning) {
  static_assert(kRecordingMark < kRecordingBegin.size());
  return beginning.starts_with(kRecordingBegin.substr(0, kRecordingMark));
}

RecordingResult read_entries(std::string_view entries, bool is_cut_off, const RecordingVisitor& visitor) {
  bool ends_early = false;
  const std::string problem = EntryReader(entries, visitor).read(&ends_early);
  if (is_cut_off && (ends_early || problem.empty())) return cut_off();
  return problem.empty() ? RecordingResult{} : damaged(problem);
}

RecordingResult read_recording(std::string_view file, const RecordingVisitor& visitor) {
  if (!file.starts_with(kRecordingBegin)) return foreign();
  std::string content;
  const RecordingResult frame = decompress(file.substr(kRecordingBegin.size()), most_recorded_bytes(file.size()), &content);
  if (frame.kind == kUnusable) return frame;
  return read_entries(content, frame.kind == kCutOff, visitor);
}

}  // namespace verbatim::observe
