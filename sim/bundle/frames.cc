#include "sim/bundle/frames.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "sim/bundle/descriptor_io.h"
#include "sim/core/check.h"

namespace verbatim::bundle {

namespace {
constexpr int kLevel = 6;  // 100 MB a second; higher levels save 4 % and take twice the time
// Limit of a frame's window, and so of the memory that expanding takes.
constexpr int kMostWindowLog = 27;
}  // namespace

std::string compressed_frame(std::string_view bytes) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), kLevel);
  CHECK(!ZSTD_isError(size));
  frame.resize(size);
  return frame;
}

bool expand_frame(std::string_view frame, std::uint64_t bytes, std::string* to) {
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != bytes) return false;
  to->resize(bytes);
  return ZSTD_decompress(to->data(), bytes, frame.data(), frame.size()) == bytes;
}

void FrameWriter::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

FrameWriter::FrameWriter(int descriptor)
    : descriptor_(descriptor), context_(ZSTD_createCCtx()), out_(ZSTD_CStreamOutSize(), '\0') {
  CHECK(context_ != nullptr);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
}

FrameWriter::~FrameWriter() = default;

int FrameWriter::write(std::string_view bytes, bool is_end) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (bool is_done = false; !is_done;) {
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const std::size_t left =
        ZSTD_compressStream2(context_.get(), &out, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) return ENOMEM;
    if (const int error = write_all(descriptor_, {out_.data(), out.pos}); error != 0) return error;
    frame_bytes_ += out.pos;
    if (checksum_) checksum_->add({out_.data(), out.pos});
    is_done = is_end ? left == 0 : in.pos == in.size;
  }
  return 0;
}

void FrameReader::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

FrameReader::FrameReader()
    : context_(ZSTD_createDCtx()), in_(ZSTD_DStreamInSize(), '\0'), out_(ZSTD_DStreamOutSize(), '\0') {
  CHECK(context_ != nullptr);
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMostWindowLog);
}

FrameReader::~FrameReader() = default;

std::string FrameReader::read(int descriptor, std::uint64_t offset, std::uint64_t compressed,
                              std::uint64_t bytes, const Taker& take, Checksum* frame) {
  ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
  std::uint64_t expanded = 0;
  bool has_ended = false;
  RunningChecksum checksum;
  for (std::uint64_t taken = 0; taken < compressed;) {
    const std::size_t wanted = std::min<std::uint64_t>(in_.size(), compressed - taken);
    const ssize_t got = read_at(descriptor, in_.data(), wanted, offset + taken);
    if (got < 0) return std::string("cannot be read: ") + std::strerror(errno);
    if (static_cast<std::size_t>(got) != wanted) return "is cut off";
    taken += wanted;
    checksum.add({in_.data(), wanted});
    ZSTD_inBuffer in{in_.data(), wanted, 0};
    for (bool has_more = true; has_more;) {
      if (has_ended && in.pos == in.size) break;
      if (has_ended) return "is damaged: bytes follow its end";
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      const std::size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
      if (ZSTD_isError(left)) return std::string("is damaged: ") + ZSTD_getErrorName(left);
      expanded += out.pos;
      if (expanded > bytes) return "is damaged: it has more bytes than the index says";
      if (out.pos != 0 && !take({out_.data(), out.pos})) return "stopped";
      has_ended = left == 0;
      has_more = in.pos < in.size || out.pos == out.size;
    }
  }
  *frame = checksum.value();
  if (!has_ended) return "is damaged: it has no end";
  return expanded == bytes ? "" : "is damaged: it has fewer bytes than the index says";
}

}  // namespace verbatim::bundle
