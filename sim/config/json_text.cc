#include "sim/config/json_text.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "sim/core/input_file.h"

namespace verbatim::config {

namespace {

constexpr std::size_t kMaxDepth = 64;

// Parses the text once and keeps only the position and the keys of the open objects.
class Inspector : public nlohmann::json_sax<Json> {
 public:
  Inspector(std::string_view text, std::string_view file, Diagnostics& diagnostics)
      : text_(text), file_(file), diagnostics_(diagnostics) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }

  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.token = name;
    if (!level.keys.insert(name).second) {
      diagnostics_.add(file_, pointer(),
                       "the key " + in_quotes(name) + " occurs more than once in this object",
                       "keep one of them");
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override {
    (void)last_token;
    std::string reason = error.what();
    // The useful part of the library's sentence is its end: "… while parsing value - unexpected '}'; expected
    // …".
    if (const auto dash = reason.find(" - "); dash != std::string::npos) reason = reason.substr(dash + 3);
    if (const auto token = reason.find("; last read: "); token != std::string::npos) reason.erase(token);
    // `position` counts the bytes read, so the last of these is the wrong one.
    refuse(position == 0 ? 0 : std::min(position - 1, text_.size()), reason);
    return false;
  }

  // The text is not valid JSON at the byte `end`.
  void refuse(std::size_t end, std::string_view reason) {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < end; ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else if ((static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80) {
        ++column;
      }
    }
    diagnostics_.add(file_, "line " + std::to_string(line) + ", column " + std::to_string(column),
                     "this is not valid JSON: " + on_one_line(reason), hint(end));
  }

 private:
  struct Level {
    bool array = false;
    std::size_t index = 0;
    std::string token;
    std::set<std::string> keys;
  };

  static std::string on_one_line(std::string_view reason) {
    std::string result;
    for (const char c : reason) result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return result;
  }

  std::string hint(std::size_t at) const {
    if (text_.empty()) return "the file is empty";
    for (std::size_t i = std::min(at, text_.size() - 1) + 1; i-- > 0;) {
      const char c = text_[i];
      if (i == at && (c == '/' || c == '#')) return "JSON has no comments; use a \"description\" key";
      if (i == at && c == '\'') return "JSON strings are written with double quotes";
      if (i == at || std::isspace(static_cast<unsigned char>(c))) continue;
      if (c == ',' && at < text_.size() && (text_[at] == '}' || text_[at] == ']')) {
        return "remove the comma before the closing bracket";
      }
      break;
    }
    return "";
  }

  bool value() {
    if (!levels_.empty() && levels_.back().array) ++levels_.back().index;
    return true;
  }
  bool open(bool array) {
    if (levels_.size() == kMaxDepth) {
      diagnostics_.add(file_, "",
                       "the file is nested more than " + std::to_string(kMaxDepth) + " levels deep");
      return false;
    }
    levels_.push_back({array, 0, {}, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return value();
  }
  std::string pointer() const {
    std::string result;
    for (const Level& level : levels_) {
      result = level.array ? join_pointer(result, level.index) : join_pointer(result, level.token);
    }
    return result;
  }

  std::string_view text_;
  std::string file_;
  Diagnostics& diagnostics_;
  std::vector<Level> levels_;
};

}  // namespace

bool check_json(std::string_view text, std::string_view file, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  Inspector inspector(text, file, diagnostics);
  Json::sax_parse(text.begin(), text.end(), &inspector);
  // The parser takes a NUL as the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != text.npos && diagnostics.findings().size() == before)
    inspector.refuse(nul, "a NUL byte follows the document");
  return diagnostics.findings().size() == before;
}

std::optional<Json> parse_json(std::string_view text, std::string_view file, Diagnostics& diagnostics) {
  if (!check_json(text, file, diagnostics)) return std::nullopt;
  return Json::parse(text.begin(), text.end());
}

namespace {

// The name in the folder of `path` that was probably meant, as a hint.
std::string hint_for_missing(const std::string& path) {
  const std::filesystem::path named(path);
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(named.has_parent_path() ? named.parent_path() : ".", error))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  const std::string near = nearest(named.filename().string(), names);
  return near.empty() ? "check the path" : "did you mean " + in_quotes((named.parent_path() / near).string()) + "?";
}

std::string hint_for_folder(const std::string& path) {
  const std::filesystem::path folder(path);
  std::error_code error;
  const auto is_there = [&](const char* name) { return std::filesystem::is_regular_file(folder / name, error); };
  if (is_there("scenario.json")) return "did you mean " + in_quotes((folder / "scenario.json").string()) + "?";
  if (is_there("run.json")) return "it has the results of a run: `verbatim explain " + path + "`";
  return "name a file in it";
}

}  // namespace

std::optional<std::string> read_file(const std::string& path, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string text, std::string hint) {
    diagnostics.add(path, "", std::move(text), std::move(hint));
    return std::nullopt;
  };
  InputFile file(path);
  auto content = file.rest();
  if (content) return content;
  return refuse(file.problem(), file.is_missing() ? hint_for_missing(path) : file.is_folder() ? hint_for_folder(path) : "check the path");
}

std::optional<Json> read_json(const std::string& path, Diagnostics& diagnostics) {
  const auto text = read_file(path, diagnostics);
  if (!text) return std::nullopt;
  return parse_json(*text, path, diagnostics);
}

}  // namespace verbatim::config
