// The recording of a run: one compact file from which reports, ladders and traces for Perfetto are made.
//
// The file is a line of text, "verbatim-recording 1\n", and one zstd frame with a checksum, which contains entries.
// Numbers are LEB128, signed ones in zigzag encoding. An entry begins with a number:
//   0  the end; a file without it is truncated
//   1  a string: length, bytes. Strings are numbered from 0
//   2  a slot: string numbers of its component and its kind, number of values of its entries, 1 if they have bytes.
//      Slots are numbered from 0
//   3  a line of text: its file (RecordedLine), length, bytes
//   4  a file of the run: length of the name, name, length, content
//   8+n  an entry of slot n: time in ps minus that of the previous entry of any slot; each value minus the previous
//      value of the slot, modulo 2^64, signed; if the slot has bytes, their number, and the bytes
// The number in the first line is the version. Unknown entries, and entries after the end, are damage.
//
// The file of a run that did not end is truncated and is read up to that point. A damaged file is not used at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace verbatim::observe {

inline constexpr std::string_view kRecordingBegin = "verbatim-recording 1\n";

enum class RecordedLine : std::uint8_t { kTrace, kCalls, kFacts };

class RecordingWriter {
 public:
  // `file` must outlive the writer, which does not close it.
  explicit RecordingWriter(std::FILE* file);
  ~RecordingWriter();

  static constexpr std::size_t kMostValues = 4;
  // Return the number of a string or slot; the first use writes it.
  std::uint32_t string(std::string_view text);
  std::uint32_t slot(std::string_view component, std::string_view kind, std::uint32_t values, bool has_bytes = false);

  // `values` has as many values as the slot, at most kMostValues.
  void entry(std::uint32_t slot, std::int64_t time_ps, std::span<const std::uint64_t> values,
             std::span<const std::byte> bytes = {});
  // Adds a line of text, and a file of the run.
  void line(RecordedLine of, std::string_view text);
  void file(std::string_view name, std::string_view content);
  // Ends the recording. Returns false if something could not be written.
  bool finish();

 private:
  struct Slot {
    std::uint32_t values = 0;
    bool has_bytes = false;
    std::uint64_t last[kMostValues] = {};
  };
  struct Compressor;

  void put(std::uint64_t number);
  void put_text(std::string_view text);
  void flush_if_full();
  void flush(bool is_end);

  std::FILE* file_;
  std::unique_ptr<Compressor> compressor_;
  std::vector<char> buffer_, compressed_;
  std::int64_t last_time_ = 0;
  std::vector<Slot> slots_;
  std::map<std::string, std::uint32_t, std::less<>> strings_;
  std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  bool good_ = true;
};

struct RecordedEntry {
  std::string_view component, kind;
  std::int64_t time_ps = 0;
  std::span<const std::uint64_t> values;
  std::string_view bytes;
};

// Functions that get the content of a recording in order. Views are valid until the function returns. Return
// false to stop reading.
struct RecordingVisitor {
  std::function<bool(const RecordedEntry& entry, const std::vector<std::string>& strings)> on_entry;
  std::function<bool(RecordedLine of, std::string_view text)> on_line;
  std::function<bool(std::string_view name, std::string_view content)> on_file;
};

struct RecordingResult {
  enum class Kind { kWhole, kCutOff, kUnusable };
  Kind kind = Kind::kWhole;
  std::string sentence;  // follows the file's name in a message; empty: kWhole
};

// Whether a file with this beginning is a recording, of any version.
bool is_recording(std::string_view beginning);
inline constexpr std::size_t kRecordingMark = 19;  // bytes that is_recording() needs

// Limit in bytes of the uncompressed size of a recording of `file_bytes`. Repetitive runs, especially short
// ones, are compressed to a thousandth and less: the constant permits short runs, and long ones do not reach
// the factor.
constexpr std::size_t most_recorded_bytes(std::size_t file_bytes) { return (std::size_t{256} << 20) + 256 * file_bytes; }

// Reads the content `file`. With kUnusable the visitor may have been called, and its data must not be used.
RecordingResult read_recording(std::string_view file, const RecordingVisitor& visitor);
// Reads uncompressed entries. `is_cut_off`: the rest is missing.
RecordingResult read_entries(std::string_view entries, bool is_cut_off, const RecordingVisitor& visitor);

}  // namespace verbatim::observe
