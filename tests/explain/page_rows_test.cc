// Rows and requests are decoded from the blocks of a page unchanged, for any texts and numbers.
#include "tools/verbatim/page_rows.h"

#include <gtest/gtest.h>

#include "tests/explain/page_data.h"

namespace verbatim::cli {
namespace {

using Json = nlohmann::json;

std::uint32_t add_text(RunPicture& picture, const std::string& words) {
  picture.strings.push_back(words);
  return static_cast<std::uint32_t>(picture.strings.size() - 1);
}

Json read(const PageBlocks& rows, const PageBlocks& requests) {
  const nlohmann::ordered_json head = {{"rows", rows.index}, {"requests", requests.index}, {"sides", nlohmann::ordered_json::object()}};
  return support::page_data("<script type=\"application/json\" id=\"head\">" + head.dump() + "</script>" + rows.elements + requests.elements);
}

TEST(PageRows, texts_with_numbers_of_all_lengths) {
  RunPicture picture;
  picture.columns = {{"a", 0}, {"b", 7}};
  const std::string texts[] = {"", "7", "wr_id 18446744073709551615 of 007", "10.0.0.1 00", "99999999999999999999999999999999999 x", "a\"<\\b 0"};
  for (std::size_t i = 0; i < 2 * kBlockRows + 3; ++i) {
    RunPicture::Row& row = picture.rows.emplace_back();
    row.time_ps = static_cast<std::int64_t>(i * i);
    row.end_ps = i % 3 == 0 ? -1 : row.time_ps + static_cast<std::int64_t>(i);
    row.from = static_cast<int>(i % 2);
    row.to = i % 3 == 0 ? -1 : 1 - row.from;
    row.bytes = i % 3 == 0 ? 0 : 4096;
    row.psn = i % 3 == 0 ? 0 : (0xfffff0 + i) & 0xffffff;
    row.flags = i == 5 ? 1 : 0;
    row.request = i % 5 == 0 ? -1 : static_cast<std::int32_t>(i * 7 % 11);
    row.text = add_text(picture, i % 2 == 0 ? texts[i % 6] : "number " + std::to_string(i * 977 % 1000));
    row.note = add_text(picture, texts[(i + 1) % 6]);
  }
  const PageBlocks blocks = rows_blocks(picture, {0, 1});
  const Json rows = read(blocks, requests_blocks(picture, {0, 1}))["rows"];
  ASSERT_EQ(rows["time"].size(), picture.rows.size());
  for (std::size_t i = 0; i < picture.rows.size(); ++i) {
    const RunPicture::Row& row = picture.rows[i];
    EXPECT_EQ(rows["time"][i], row.time_ps);
    EXPECT_EQ(rows["took"][i], row.end_ps < 0 ? -1 : row.end_ps - row.time_ps);
    EXPECT_EQ(rows["to"][i], row.to);
    EXPECT_EQ(rows["psn"][i], row.psn);
    EXPECT_EQ(rows["request"][i], row.request);
    ASSERT_EQ(rows["text"][i], picture.strings[row.text]);
    ASSERT_EQ(rows["note"][i], picture.strings[row.note]);
  }
  EXPECT_EQ(blocks.index["special"], nlohmann::ordered_json::parse("[1, 0, 0]"));
  EXPECT_EQ(blocks.index["starts"][1], static_cast<std::int64_t>(kBlockRows * kBlockRows));
  EXPECT_EQ(blocks.index["meets"], nlohmann::ordered_json::parse("[[0, 1]]"));
  // Texts that differ only in numbers share one entry.
  EXPECT_LT(blocks.index["texts"].size(), 10u);
}

TEST(PageRows, requests_with_every_wr_id) {
  RunPicture picture;
  picture.columns = {{"a", 1}};
  const std::uint64_t ids[] = {0, 1, 999'999'999, 1'000'000'000, ~std::uint64_t{0}, std::uint64_t{1} << 63};
  for (const std::uint64_t id : ids) {
    RunPicture::Request& request = picture.requests.emplace_back();
    request.wr_id = id;
    request.first_psn = 0xffffff;
    request.last_psn = 2;
    request.rung = 100;
    request.acknowledged = 90;
    request.completed = 500;
  }
  picture.requests.emplace_back();
  const Json requests = read(rows_blocks(picture, {0}), requests_blocks(picture, {0}))["requests"];
  ASSERT_EQ(requests.size(), 7u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(requests[i][1], ids[i]);
    EXPECT_EQ(requests[i][4], 0xffffff);
    EXPECT_EQ(requests[i][5], 2);
    Json times = Json::array();
    for (std::size_t k = 6; k < 14; ++k) times.push_back(requests[i][k]);
    EXPECT_EQ(times, Json::parse("[-1, 100, -1, -1, -1, -1, 90, 500]"));
  }
  EXPECT_TRUE(requests[6][1].is_null());
}

}  // namespace
}  // namespace verbatim::cli
