#include "tools/verbatim/page_block.h"

#include <zlib.h>

#include "sim/core/check.h"
#include "sim/core/words.h"

namespace verbatim::cli {

namespace {

void put_number(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

std::string deflated(std::string& bytes) {
  constexpr int kLevel = 6, kRaw = -15, kMemory = 9;
  z_stream stream{};
  CHECK(deflateInit2(&stream, kLevel, Z_DEFLATED, kRaw, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) {
      return at < bytes.size() ? std::uint32_t{static_cast<unsigned char>(bytes[at])} : 0;
    };
    const std::uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (std::size_t k = 0; k < 4; ++k) text.push_back(i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63]);
  }
  return text;
}

}  // namespace

void PageBlock::put(std::size_t column, std::uint64_t value) { put_number(columns_[column], value); }

std::string PageBlock::text() const {
  std::string bytes;
  for (const std::string& column : columns_) {
    put_number(bytes, column.size());
    bytes += column;
  }
  return base64(deflated(bytes));
}

std::string block_element(std::string_view name, std::size_t number, const PageBlock& block) {
  return join("<script type=\"text/plain\" id=\"", name, "-", number, "\">", block.text(), "</script>\n");
}

}  // namespace verbatim::cli
