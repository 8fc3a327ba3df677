// The recording of a run: one compact file from which reports, ladders and traces for Perfetto are made.
//
// A line of text, "verbatim-recording 1\n", then one zstd frame with a checksum. What it holds is a row of entries; numbers are
// LEB128, those with a sign in zigzag order. An entry begins with a number:
//   0  the end; what comes without it was cut off
//   1  a string: length, bytes. Strings are numbered from 0
//   2  a slot: numbers of the strings of its component and its kind, how many values its entries have, 1 if they have bytes.
//      Slots are numbered from 0
//   3  a line of text as it is: of which file (RecordedLine), length, bytes
//   4  a file of the run as it is: length of the name, name, length, content
//   8+n  an entry of slot n: time in ps less that of the entry before of any slot; each value less the slot's last one,
//      modulo 2^64, signed; if the slot has bytes, their number, and as many
// Another number before the frame is another version. Entries that nothing describes are damage, and so is what follows the end.
//
// The file of a run that did not end is cut off: it is read as far as it goes. A damaged one is not used at all.
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
  // `file` outlives the writer and is not closed.
  explicit RecordingWriter(std::FILE* file);
  ~RecordingWriter();

  static constexpr std::size_t kMostValues = 4;
  // The number of a string or slot; made when it is asked for first.
  std::uint32_t string(std::string_view text);
  std::uint32_t slot(std::string_view component, std::string_view kind, std::uint32_t values, bool has_bytes = false);

  // At most kMostValues values, as many as the slot has.
  void entry(std::uint32_t slot, std::int64_t time_ps, std::span<const std::uint64_t> values,
             std::span<const std::byte> bytes = {});
  void line(RecordedLine of, std::string_view text);
  void file(std::string_view name, std::string_view content);
  // Nothing may follow. False: something could not be written.
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

// Functions that get the content of a recording, in its order. Views are valid until the function returns. If it returns false,
// reading ends.
struct RecordingVisitor {
  std::function<bool(const RecordedEntry& entry, const std::vector<std::string>& strings)> on_entry;
  std::function<bool(RecordedLine of, std::string_view text)> on_line;
  std::function<bool(std::string_view name, std::string_view content)> on_file;
};

struct RecordingResult {
  enum class Kind { kWhole, kCutOff, kUnusable };
  Kind kind = Kind::kWhole;
  std::string sentence;  // the end of one that begins with the file's name; empty: kWhole
};

// Whether a file begins like this does that of a recording, of any version.
bool is_recording(std::string_view beginning);
inline constexpr std::size_t kRecordingMark = 19;  // bytes that is_recording() looks at

// Bytes that a recording of so many bytes in the file may have without compression. Runs that repeat themselves are compressed
// to a thousandth and less, short ones most of all: the limit is a constant, and a factor that long runs stay below.
constexpr std::size_t most_recorded_bytes(std::size_t file_bytes) { return (std::size_t{256} << 20) + 256 * file_bytes; }

// The content of a file. kUnusable: nothing was visited, or what was is not to be used.
RecordingResult read_recording(std::string_view file, const RecordingVisitor& visitor);
// The entries as they are before compression; `is_cut_off`: more would have followed.
RecordingResult read_entries(std::string_view entries, bool is_cut_off, const RecordingVisitor& visitor);

}  // namespace verbatim::observe
