#include "sim/observe/recording.h"

#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace verbatim::observe {

namespace {

constexpr std::size_t kFlushBytes = 256 * 1024;
constexpr std::size_t kMostBytes = std::size_t{16} << 30;  // of a recording without compression
constexpr std::size_t kMostNumberBytes = 10;
enum Tag : std::uint64_t { kEnd = 0, kString = 1, kSlot = 2, kLine = 3, kFile = 4, kFirstSlot = 8 };

// The number as LEB128 at `to`, where there is room for kMostNumberBytes; its end.
char* write_number(char* to, std::uint64_t number) {
  while (number >= 0x80) {
    *to++ = static_cast<char>(number | 0x80);
    number >>= 7;
  }
  *to++ = static_cast<char>(number);
  return to;
}

// As zigzag numbers: 0, -1, 1, -2 …
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
  // Of each record there is one, so its numbers are put together before the buffer grows.
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

// Takes numbers and texts from a file's bytes; has failed once something is not there.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  bool has_failed() const { return has_failed_; }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    has_failed_ = true;
    return 0;
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  std::string_view text() {
    const std::uint64_t length = number();
    if (length > rest_.size()) has_failed_ = true;
    if (has_failed_) return {};
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

 private:
  std::string_view rest_;
  bool has_failed_ = false;
};

constexpr char kUnknown[] = "is not a recording of this version of verbatim";
constexpr char kCutOff[] = "is cut off: the run that wrote it did not come to its end";

struct ReadSlot {
  std::uint32_t component, kind, values;
  bool has_bytes;
  std::uint64_t last[RecordingWriter::kMostValues] = {};
};

// As far as there is anything; the sentence says why there is no more.
std::string decompressed(std::string_view bytes, std::string* content) {
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  std::vector<char> block(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::size_t left = 1;
  std::string failure;
  while (failure.empty() && left != 0) {
    ZSTD_outBuffer out{block.data(), block.size(), 0};
    left = ZSTD_decompressStream(context, &out, &in);
    if (ZSTD_isError(left)) {
      failure = std::string("is damaged: ") + ZSTD_getErrorName(left);
    } else {
      content->append(block.data(), out.pos);
      if (left != 0 && in.pos == in.size && out.pos < block.size()) failure = kCutOff;
      if (content->size() > kMostBytes) failure = "holds more than 16 GiB";
    }
  }
  ZSTD_freeDCtx(context);
  return failure;
}

std::string visit(std::string_view content, const RecordingVisitor& visitor) {
  Cursor cursor(content);
  std::vector<std::string> strings;
  std::vector<ReadSlot> slots;
  std::int64_t time = 0;
  while (true) {
    const std::uint64_t tag = cursor.number();
    if (cursor.has_failed()) return kCutOff;
    if (tag == kEnd) return "";
    if (tag == kString) {
      strings.emplace_back(cursor.text());
    } else if (tag == kSlot) {
      ReadSlot slot{static_cast<std::uint32_t>(cursor.number()), static_cast<std::uint32_t>(cursor.number()),
                    static_cast<std::uint32_t>(cursor.number()), cursor.number() != 0};
      const bool is_known = slot.component < strings.size() && slot.kind < strings.size();
      if (!is_known || slot.values > RecordingWriter::kMostValues) return kUnknown;
      slots.push_back(slot);
    } else if (tag == kLine) {
      const std::uint64_t of = cursor.number();
      const std::string_view text = cursor.text();
      if (of > static_cast<std::uint64_t>(RecordedLine::kFacts)) return kUnknown;
      if (!cursor.has_failed() && visitor.on_line) visitor.on_line(static_cast<RecordedLine>(of), text);
    } else if (tag == kFile) {
      const std::string_view name = cursor.text(), text = cursor.text();
      if (!cursor.has_failed() && visitor.on_file) visitor.on_file(name, text);
    } else if (tag >= kFirstSlot && tag - kFirstSlot < slots.size()) {
      ReadSlot& slot = slots[tag - kFirstSlot];
      time += cursor.signed_number();
      for (std::uint32_t i = 0; i < slot.values; ++i) slot.last[i] += static_cast<std::uint64_t>(cursor.signed_number());
      const std::string_view bytes = slot.has_bytes ? cursor.text() : std::string_view();
      if (!cursor.has_failed() && visitor.on_entry)
        visitor.on_entry({strings[slot.component], strings[slot.kind], time, {slot.last, slot.values}, bytes}, strings);
    } else {
      return kUnknown;
    }
  }
}

}  // namespace

bool is_recording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  constexpr std::string_view kAnyVersion = "verbatim-recording ";
  char begin[kAnyVersion.size()] = {};
  return file.read(begin, sizeof begin) && std::string_view(begin, sizeof begin) == kAnyVersion;
}

std::string read_recording(const std::string& path, const RecordingVisitor& visitor) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return path + " cannot be read: " + std::strerror(errno);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!bytes.starts_with(kRecordingBegin)) return path + " " + kUnknown;
  std::string content;
  const std::string damage = decompressed(std::string_view(bytes).substr(kRecordingBegin.size()), &content);
  const std::string failure = visit(content, visitor);
  if (!damage.empty()) return path + " " + damage;
  return failure.empty() ? "" : path + " " + failure;
}

}  // namespace verbatim::observe
