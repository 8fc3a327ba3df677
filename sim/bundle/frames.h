// zstd frames of a bundle, compressed and expanded in parts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/bundle/checksum.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace verbatim::bundle {

// Compresses `bytes` to one frame.
std::string compressed_frame(std::string_view bytes);
// The inverse for a frame that expands to exactly `bytes` bytes. Returns false if it does not, or is damaged.
bool expand_frame(std::string_view frame, std::uint64_t bytes, std::string* to);

class FrameWriter {
 public:
  explicit FrameWriter(int descriptor);
  ~FrameWriter();

  // Call order for each frame: begin(), add() …, end(). add() and end() return 0 or an errno.
  int add(std::string_view bytes) { return write(bytes, false); }
  int end() { return write({}, true); }
  // Bytes written to the descriptor since begin(), and their checksum.
  std::uint64_t frame_bytes() const { return frame_bytes_; }
  Checksum frame_checksum() const { return checksum_->value(); }
  // Resets frame_bytes() and frame_checksum().
  void begin() {
    frame_bytes_ = 0;
    checksum_.emplace();
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  int write(std::string_view bytes, bool is_end);

  int descriptor_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::string out_;
  std::uint64_t frame_bytes_ = 0;
  std::optional<RunningChecksum> checksum_;
};

class FrameReader {
 public:
  FrameReader();
  ~FrameReader();

  // Receives the next part of the expanded content; returns false to end reading.
  using Taker = std::function<bool(std::string_view part)>;
  // Expands the frame of `compressed` bytes at `offset` of a file; its content must have exactly `bytes`
  // bytes. Stores the frame's checksum in `frame`. Returns "", the end of a sentence ("is cut off"), or
  // "stopped" if `take` returned false.
  std::string read(int descriptor, std::uint64_t offset, std::uint64_t compressed, std::uint64_t bytes,
                   const Taker& take, Checksum* frame);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::string in_, out_;
};

}  // namespace verbatim::bundle
