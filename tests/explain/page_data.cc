#include "tests/explain/page_data.h"

#include <zlib.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace verbatim::support {

namespace {

using Json = nlohmann::json;
using Columns = std::vector<std::vector<std::uint64_t>>;

std::string content_of(const std::string& html, const std::string& begin) {
  const std::size_t at = html.find(begin);
  if (at == html.npos) return "";
  const std::size_t from = at + begin.size();
  return html.substr(from, html.find("</script>", from) - from);
}

std::string bytes_of_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return bytes;
}

std::string inflated(std::string bytes) {
  z_stream stream{};
  std::string out;
  if (inflateInit2(&stream, -15) != Z_OK) return out;
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  for (int state = Z_OK; state == Z_OK;) {
    char block[65536];
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(block, sizeof block - stream.avail_out);
  }
  inflateEnd(&stream);
  return out;
}

std::uint64_t take_number(std::string_view& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

std::int64_t unfolded(std::uint64_t value) { return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1)); }
std::int64_t less_one(std::uint64_t value) { return static_cast<std::int64_t>(value) - 1; }

// Decodes the texts of a block: numbers in a text are differences to the previous text's numbers at the same
// place.
class Texts {
 public:
  Texts(const Json& pieces, const std::vector<std::uint64_t>& numbers) : pieces_(pieces), numbers_(numbers) {}
  std::string take(std::uint64_t text) {
    const Json& pieces = pieces_[text];
    std::string words = pieces[0];
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      std::uint64_t& last = last_[{text, i}];
      last += static_cast<std::uint64_t>(unfolded(numbers_.at(at_++)));
      words += std::to_string(last) + pieces[i].get<std::string>();
    }
    return words;
  }

 private:
  const Json& pieces_;
  const std::vector<std::uint64_t>& numbers_;
  std::size_t at_ = 0;
  std::map<std::pair<std::uint64_t, std::size_t>, std::uint64_t> last_;
};

Json rows_of(const std::string& html, const Json& index) {
  Json rows = Json::object();
  for (const char* name : {"time", "from", "to", "took", "flags", "bytes", "psn", "text", "note", "request"}) rows[name] = Json::array();
  for (std::size_t b = 0; b < index["starts"].size(); ++b) {
    const Columns columns = page_block(html, "rows-" + std::to_string(b));
    if (columns.size() != 11) return Json::object();
    Texts texts(index["texts"], columns[9]);
    std::int64_t time = 0;
    std::map<std::uint64_t, std::int64_t> psns, requests;
    for (std::size_t i = 0; i < columns[0].size(); ++i) {
      const std::uint64_t from = columns[1][i], coded = columns[10][i];
      time += unfolded(columns[0][i]);
      rows["time"].push_back(time);
      rows["from"].push_back(from);
      rows["to"].push_back(less_one(columns[2][i]));
      rows["took"].push_back(less_one(columns[3][i]));
      rows["flags"].push_back(columns[4][i]);
      rows["bytes"].push_back(columns[5][i]);
      rows["psn"].push_back(columns[5][i] == 0 ? 0 : psns[from] += unfolded(columns[6][i]));
      rows["text"].push_back(texts.take(columns[7][i]));
      rows["note"].push_back(texts.take(columns[8][i]));
      rows["request"].push_back(coded == 0 ? -1 : requests[from] += unfolded(coded - 1));
    }
  }
  return rows;
}

Json requests_of(const std::string& html, const Json& index) {
  Json requests = Json::array();
  for (std::size_t b = 0; requests.size() < index["count"]; ++b) {
    const Columns columns = page_block(html, "requests-" + std::to_string(b));
    if (columns.size() != 17) return nullptr;
    Texts texts(index["texts"], columns[4]);
    std::map<std::uint64_t, std::int64_t> ids, psns;
    std::int64_t post = 0;
    for (std::size_t i = 0; i < columns[0].size(); ++i) {
      const std::uint64_t column = columns[0][i], high = columns[1][i];
      const std::uint64_t low = high == 0 ? 0 : static_cast<std::uint64_t>(ids[column] += unfolded(columns[2][i]));
      const std::int64_t first = psns[column] += unfolded(columns[6][i]);
      Json request = Json::array();
      request.push_back(column);
      request.push_back(high == 0 ? Json() : Json((high - 1) * 1'000'000'000 + low));
      request.push_back(texts.take(columns[3][i]));
      request.push_back(columns[5][i]);
      request.push_back(first);
      request.push_back((first + static_cast<std::int64_t>(columns[7][i])) & 0xffffff);
      std::int64_t before = -1;
      for (std::size_t k = 8; k < 16; ++k) {
        const std::uint64_t coded = columns[k][i];
        const std::int64_t at = coded == 0 ? -1 : unfolded(coded - 1) + (before < 0 ? post : before);
        request.push_back(at);
        if (coded == 0) continue;
        if (before < 0) post = at;
        before = at;
      }
      request.push_back(columns[16][i]);
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

// The values of each series in order, one for each of its intervals.
Json series_of(const std::string& html, const Json& index) {
  const Columns columns = page_block(html, "series-0");
  Json all = Json::array();
  std::size_t at = 0;
  for (std::size_t number = 0; number < index["runs"].size() && !columns.empty(); ++number) {
    Json values = Json::array();
    std::int64_t value = 0;
    for (std::size_t k = 0; k < index["runs"][number].get<std::size_t>(); ++k, ++at) values.push_back(value += unfolded(columns[1].at(at)));
    all.push_back(std::move(values));
  }
  return all;
}

void put_drops(Json& links, const std::string& html) {
  const Columns columns = page_block(html, "drops-0");
  std::size_t at = 0;
  for (Json& link : links) {
    Json times = Json::array();
    std::int64_t time = 0;
    for (std::size_t k = 0; k < link["drops"].get<std::size_t>(); ++k) times.push_back(time += unfolded(columns[0].at(at++)));
    link["drops"] = std::move(times);
  }
}

}  // namespace

std::vector<std::vector<std::uint64_t>> page_block(const std::string& html, const std::string& name) {
  const std::string bytes = inflated(bytes_of_base64(content_of(html, "<script type=\"text/plain\" id=\"" + name + "\">")));
  Columns columns;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::uint64_t length = take_number(rest);
    std::string_view column = rest.substr(0, length);
    rest.remove_prefix(column.size());
    for (columns.emplace_back(); !column.empty();) columns.back().push_back(take_number(column));
  }
  return columns;
}

Json page_data(const std::string& html) {
  Json data = Json::parse(content_of(html, "<script type=\"application/json\" id=\"head\">"), nullptr, false);
  if (!data.is_object()) return nullptr;
  data["rows"].update(rows_of(html, data["rows"]));
  data["requests"] = requests_of(html, data["requests"]);
  if (data.contains("series")) data["series"] = series_of(html, data["series"]);
  if (data.contains("links")) put_drops(data["links"], html);
  Json writes = Json::array(), waits = Json::array();
  const Columns written = page_block(html, "writes-0"), waited = page_block(html, "waits-0");
  std::int64_t time = 0;
  for (std::size_t i = 0; !written.empty() && i < written[0].size(); ++i) {
    time += unfolded(written[0][i]);
    writes.push_back(Json::array({time, written[1][i], less_one(written[2][i]), written[3][i], written[4][i],
                                  less_one(written[5][i]), written[6][i]}));
  }
  std::map<std::uint64_t, std::int64_t> ends;
  for (std::size_t i = 0; !waited.empty() && i < waited[0].size(); ++i) {
    const std::int64_t from = ends[waited[0][i]] + unfolded(waited[1][i]), to = from + unfolded(waited[2][i]);
    ends[waited[0][i]] = to;
    waits.push_back(Json::array({waited[0][i], from, to, unfolded(waited[3][i]), waited[4][i], waited[5][i]}));
  }
  data["sides"]["writes"] = std::move(writes);
  data["sides"]["waits"] = std::move(waits);
  return data;
}

}  // namespace verbatim::support
