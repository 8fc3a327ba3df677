// Recordings: an input that begins like a file is read as one, otherwise as uncompressed entries. Readable
// content is shown as by the commands.
#include <zstd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/show_run.h"

namespace {

using namespace verbatim;
using Kind = observe::RecordingResult::Kind;

// Readers say why exactly when there is a reason.
void expect_consistent(const observe::RecordingResult& result) {
  CHECK((result.kind == Kind::kWhole) == result.sentence.empty());
}

std::string file_of(std::string_view entries) {
  static ZSTD_CCtx* const context = ZSTD_createCCtx();
  std::string frame(ZSTD_compressBound(entries.size()), '\0');
  const std::size_t size = ZSTD_compressCCtx(context, frame.data(), frame.size(), entries.data(), entries.size(), 1);
  CHECK(!ZSTD_isError(size));
  return std::string(observe::kRecordingBegin) + frame.substr(0, size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  cli::RecordedRun run;
  observe::RecordingResult result;
  if (observe::is_recording(bytes)) {
    std::size_t expanded = 0;
    observe::RecordingVisitor visitor;
    visitor.on_entry = [&](const observe::RecordedEntry& entry, const auto&) {
      expanded += 2 + entry.bytes.size();
      return true;
    };
    expect_consistent(observe::read_recording(bytes, visitor));
    CHECK(expanded <= observe::most_recorded_bytes(size));
    result = cli::read_run_recording(bytes, &run);
  } else {
    result = cli::read_run_entries(bytes, &run);
    // Compressed they are the same, and bytes behind the frame are refused. Not every time: a context takes long to make.
    if (size % 16 == 0) {
      const std::string file = file_of(bytes);
      cli::RecordedRun again;
      const observe::RecordingResult of_file = cli::read_run_recording(file, &again);
      CHECK(of_file.kind == result.kind && of_file.sentence == result.sentence && again.lines == run.lines);
      CHECK(observe::read_recording(file + "x", {}).kind == Kind::kUnusable);
    }
    expect_consistent(observe::read_entries(bytes.substr(0, size / 2), true, {}));
  }
  expect_consistent(result);
  if (result.kind == Kind::kUnusable) return 0;
  fuzz::show_run(run);
  return 0;
}
