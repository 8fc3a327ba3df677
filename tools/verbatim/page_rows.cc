#include "tools/verbatim/page_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "tools/verbatim/page_block.h"
#include "tools/verbatim/page_texts.h"

namespace verbatim::cli {

namespace {

using Json = nlohmann::ordered_json;

std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

// Returns the difference of a value to the previous one with the same key.
class Differences {
 public:
  std::int64_t to(std::uint64_t key, std::uint64_t value) {
    std::uint64_t& last = last_[key];
    return static_cast<std::int64_t>(value - std::exchange(last, value));
  }

 private:
  std::map<std::uint64_t, std::uint64_t> last_;
};

// Numbers of texts, as one column of a block.
class NumberColumn {
 public:
  void put(PageBlock& block, std::size_t column, std::uint32_t text, const std::vector<std::uint64_t>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      block.put_signed(column, last_.to(std::uint64_t{text} << 16 | i, numbers[i]));
  }

 private:
  Differences last_;
};

class RowsWriter {
 public:
  RowsWriter(const RunPicture& picture, const std::vector<int>& places) : picture_(picture), places_(places) {}

  PageBlocks write() {
    Json starts = Json::array(), special = Json::array(), meets = Json::array();
    std::string elements;
    for (std::size_t from = 0; from < picture_.rows.size(); from += kBlockRows) {
      const std::size_t to = std::min(from + kBlockRows, picture_.rows.size());
      starts.push_back(picture_.rows[from].time_ps);
      const std::span block(picture_.rows.data() + from, to - from);
      special.push_back(std::ranges::count_if(block, [](const RunPicture::Row& row) { return row.flags != 0; }));
      elements += block_element("rows", from / kBlockRows, block_of(from, to));
    }
    for (const auto& [a, b] : meets_) meets.push_back({a, b});
    Json texts = Json::array();
    for (const auto& pieces : texts_.pieces()) texts.push_back(pieces);
    return {{{"count", picture_.rows.size()},
             {"block", kBlockRows},
             {"starts", std::move(starts)},
             {"special", std::move(special)},
             {"meets", std::move(meets)},
             {"texts", std::move(texts)}},
            std::move(elements)};
  }

 private:
  enum Column : std::size_t { kTime, kFrom, kTo, kTook, kFlags, kBytes, kPsn, kText, kNote, kNumbers, kRequest, kColumns };

  std::uint64_t place(int column) const { return static_cast<std::uint64_t>(places_[static_cast<std::size_t>(column)]); }

  PageBlock block_of(std::size_t from, std::size_t to) {
    PageBlock block(kColumns);
    Differences psns, requests;
    NumberColumn numbers;
    std::int64_t before = 0;
    for (std::size_t i = from; i < to; ++i) {
      const RunPicture::Row& row = picture_.rows[i];
      const std::uint64_t sender = place(row.from);
      block.put_signed(kTime, row.time_ps - std::exchange(before, row.time_ps));
      block.put(kFrom, sender);
      block.put(kTo, row.to < 0 ? 0 : place(row.to) + 1);
      block.put(kTook, row.end_ps < row.time_ps ? 0 : static_cast<std::uint64_t>(row.end_ps - row.time_ps) + 1);
      block.put(kFlags, row.flags);
      block.put(kBytes, row.bytes);
      block.put_signed(kPsn, row.bytes == 0 ? 0 : psns.to(sender, row.psn));
      put_text(block, kText, numbers, picture_.strings[row.text]);
      put_text(block, kNote, numbers, picture_.strings[row.note]);
      block.put(kRequest, row.request < 0 ? 0 : zigzag(requests.to(sender, static_cast<std::uint64_t>(row.request))) + 1);
      if (row.to >= 0 && row.from != row.to) meets_.insert(std::minmax(sender, place(row.to)));
    }
    return block;
  }

  void put_text(PageBlock& block, std::size_t column, NumberColumn& numbers, const std::string& words) {
    found_.clear();
    const std::uint32_t text = texts_.number_of(words, &found_);
    block.put(column, text);
    numbers.put(block, kNumbers, text, found_);
  }

  const RunPicture& picture_;
  const std::vector<int>& places_;
  PageTexts texts_;
  std::vector<std::uint64_t> found_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> meets_;  // pairs of columns between which a packet was sent
};

}  // namespace

PageBlocks rows_blocks(const RunPicture& picture, const std::vector<int>& places) { return RowsWriter(picture, places).write(); }

PageBlocks requests_blocks(const RunPicture& picture, const std::vector<int>& places) {
  enum : std::size_t { kColumn, kIdHigh, kIdLow, kPlace, kNumbers, kBytes, kFirst, kLast, kTimes };
  constexpr std::size_t kStatus = kTimes + 8, kColumns = kStatus + 1;
  constexpr std::uint64_t kBillion = 1'000'000'000;
  PageBlocks blocks;
  PageTexts texts;
  for (std::size_t from = 0; from < picture.requests.size(); from += kBlockRows) {
    PageBlock block(kColumns);
    Differences psns, ids, posts;
    NumberColumn numbers;
    for (std::size_t i = from; i < std::min(from + kBlockRows, picture.requests.size()); ++i) {
      const RunPicture::Request& r = picture.requests[i];
      const auto column = static_cast<std::uint64_t>(places[static_cast<std::size_t>(r.column)]);
      block.put(kColumn, column);
      block.put(kIdHigh, r.wr_id ? *r.wr_id / kBillion + 1 : 0);
      block.put_signed(kIdLow, r.wr_id ? ids.to(column, *r.wr_id % kBillion) : 0);
      std::vector<std::uint64_t> found;
      const std::uint32_t text = texts.number_of(picture.strings[r.place], &found);
      block.put(kPlace, text);
      numbers.put(block, kNumbers, text, found);
      block.put(kBytes, r.bytes);
      block.put_signed(kFirst, psns.to(column, r.first_psn));
      block.put(kLast, (r.last_psn - r.first_psn) & 0xffffff);
      const std::array times{r.posted, r.rung, r.fetched, r.first_left, r.last_left, r.last_came, r.acknowledged, r.completed};
      bool is_first = true;
      std::int64_t before = 0;
      for (std::size_t k = 0; k < times.size(); ++k) {
        if (times[k] < 0) {
          block.put(kTimes + k, 0);
          continue;
        }
        const std::int64_t step = is_first ? posts.to(0, static_cast<std::uint64_t>(times[k])) : times[k] - before;
        block.put(kTimes + k, zigzag(step) + 1);
        is_first = false;
        before = times[k];
      }
      block.put(kStatus, r.status);
    }
    blocks.elements += block_element("requests", from / kBlockRows, block);
  }
  blocks.index = {{"count", picture.requests.size()}, {"block", kBlockRows}, {"texts", texts.pieces()}};
  return blocks;
}

PageBlocks sides_blocks(const RunSides& sides, const std::vector<int>& places) {
  PageBlocks blocks;
  PageBlock writes(7), waits(6);
  std::int64_t before = 0;
  for (const RunSides::Write& write : sides.writes) {
    const std::uint64_t start = write.region < 0 ? 0 : sides.regions[static_cast<std::size_t>(write.region)].va;
    writes.put_signed(0, write.from_ps - std::exchange(before, write.from_ps));
    writes.put(1, static_cast<std::uint64_t>(write.to_ps - write.from_ps));
    writes.put(2, static_cast<std::uint64_t>(write.region + 1));
    writes.put(3, write.va - start);
    writes.put(4, write.length);
    writes.put(5, write.column < 0 ? 0 : static_cast<std::uint64_t>(places[static_cast<std::size_t>(write.column)]) + 1);
    writes.put(6, write.is_response ? 1 : 0);
  }
  std::map<std::string, std::size_t> numbers;
  std::map<std::uint32_t, std::int64_t> ends;
  Json words = Json::array();
  for (const RunSides::Wait& wait : sides.waits) {
    const auto [known, is_new] = numbers.try_emplace(wait.what, words.size());
    if (is_new) words.push_back(wait.what);
    waits.put(0, wait.thread);
    waits.put_signed(1, wait.from_ps - std::exchange(ends[wait.thread], wait.to_ps));
    waits.put_signed(2, wait.to_ps - wait.from_ps);
    waits.put_signed(3, wait.waited_ps);
    waits.put(4, wait.count);
    waits.put(5, known->second);
  }
  blocks.elements = block_element("writes", 0, writes) + block_element("waits", 0, waits);
  blocks.index = {{"writes", sides.writes.size()}, {"waits", sides.waits.size()}, {"waits_for", std::move(words)}};
  return blocks;
}

}  // namespace verbatim::cli
