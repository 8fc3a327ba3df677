#include "sim/workload/goal.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

namespace verbatim::workload {

namespace {

constexpr std::string_view kEndOfLine = "\n";

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// For messages: control characters replaced, length limited.
std::string shown(std::string_view token) {
  if (token.empty()) return "the end of the file";
  if (token == kEndOfLine) return "the end of the line";
  constexpr std::size_t kMost = 40;
  std::string text = "\"";
  for (const char c : token.substr(0, kMost)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (token.size() > kMost ? "...\"" : "\"");
}

// Tokens: words, other single characters, and kEndOfLine; at the end of the text, empty tokens.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { next(); }

  std::string_view peek() const { return token_; }
  std::uint32_t line() const { return line_; }  // of peek()
  // Line of an unclosed comment.
  std::optional<std::uint32_t> open_comment() const { return open_comment_; }

  std::string_view next() {
    const std::string_view taken = token_;
    line_ += taken == kEndOfLine ? 1 : 0;
    skip_blanks();
    std::size_t length = at_ < text_.size() ? 1 : 0;
    if (length == 1 && is_word_character(text_[at_])) {
      while (at_ + length < text_.size() && is_word_character(text_[at_ + length])) ++length;
    }
    token_ = text_.substr(at_, length);
    at_ += length;
    return taken;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.front() == ' ' || rest.front() == '\t' || rest.front() == '\r') {
        ++at_;
      } else if (rest.starts_with("//")) {
        at_ += std::min(rest.find('\n'), rest.size());
      } else if (rest.starts_with("/*")) {
        skip_comment(rest);
      } else {
        return;
      }
    }
  }
  void skip_comment(std::string_view rest) {
    const std::size_t end = rest.find("*/", 2);
    if (end == std::string_view::npos) open_comment_ = line_;
    const std::string_view comment = rest.substr(0, end == std::string_view::npos ? end : end + 2);
    for (const char c : comment) line_ += c == '\n' ? 1 : 0;
    at_ += comment.size();
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::string_view token_;
  std::optional<std::uint32_t> open_comment_;
};

class Reader {
 public:
  Reader(std::string_view text, std::vector<GoalFinding>& findings) : tokens_(text), findings_(findings) {}

  std::optional<GoalProgram> read() {
    read_count();
    while (graph_ && !is_over()) {
      skip_line_ends();
      if (tokens_.peek().empty()) break;
      if (!read_block()) skip_line();
    }
    if (tokens_.open_comment()) add(*tokens_.open_comment(), "the comment has no end", "close it with */");
    if (graph_ && findings_.empty() && graph_->size() == 0) {
      add(tokens_.line(), "no rank has an operation", "write operations into blocks, such as `rank 0 { ... }`");
    }
    if (!findings_.empty()) return std::nullopt;
    graph_->seal();
    if (const std::optional<OperationId> id = graph_->find_cycle()) {
      add(lines_[*id], "the operation waits for itself: its \"requires\" and those of others form a circle",
          "take one of them out");
      return std::nullopt;
    }
    return GoalProgram{std::move(*graph_), std::move(lines_)};
  }

 private:
  struct Wait {
    std::string_view after, before;
    std::uint32_t line = 0;
    bool needs_end = true;
  };

  bool is_over() const { return findings_.size() >= GoalLimits::kFindings; }
  void add(std::uint32_t line, std::string text, std::string hint) {
    findings_.push_back({line, std::move(text), std::move(hint)});
  }
  // Adds a finding about the next token and returns false.
  bool expected(const std::string& what, std::string hint) {
    add(tokens_.line(), "expected " + what + ", found " + shown(tokens_.peek()), std::move(hint));
    return false;
  }

  void skip_line_ends() {
    while (tokens_.peek() == kEndOfLine || tokens_.peek() == ";") tokens_.next();
  }
  void skip_line() {
    while (!tokens_.peek().empty() && tokens_.peek() != kEndOfLine) tokens_.next();
  }

  bool take(std::string_view word) {
    if (tokens_.peek() != word) return false;
    tokens_.next();
    return true;
  }

  // A whole number without a sign. Not consumed if the token is not a number or exceeds `most`.
  std::optional<std::uint64_t> number(std::uint64_t most, const std::string& what, std::string_view suffix = {}) {
    std::string_view token = tokens_.peek();
    if (!suffix.empty() && token.ends_with(suffix)) token.remove_suffix(suffix.size());
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    const bool is_number = !token.empty() && end == token.data() + token.size() && error != std::errc::invalid_argument;
    if (!is_number) {
      expected(what, "write a whole number" +
                         (suffix.empty() ? "" : " and \"" + std::string(suffix) + "\", such as 10" + std::string(suffix)));
      return std::nullopt;
    }
    if (error == std::errc::result_out_of_range || value > most) {
      add(tokens_.line(), what + " of " + shown(token) + " is too large", "the largest is " + std::to_string(most));
      return std::nullopt;
    }
    const bool has_suffix = token.size() < tokens_.peek().size();
    tokens_.next();
    if (!suffix.empty() && !has_suffix && !take(suffix)) {
      expected("\"" + std::string(suffix) + "\" behind " + what, "write sizes as 10" + std::string(suffix));
      return std::nullopt;
    }
    return value;
  }

  void read_count() {
    skip_line_ends();
    if (!take("num_ranks")) {
      expected("\"num_ranks\"", "a GOAL file begins with the number of its ranks, such as `num_ranks 4`");
      return;
    }
    const std::uint32_t line = tokens_.line();
    const auto count = number(GoalLimits::kRanks, "a number of ranks");
    if (!count) return;
    if (*count == 0) return add(line, "there are no ranks", "give num_ranks 1 or more");
    graph_.emplace(static_cast<std::uint32_t>(*count));
    has_block_.resize(*count);
  }

  // A valid rank.
  std::optional<std::uint32_t> rank_number(const char* what) {
    const std::uint32_t line = tokens_.line();
    const auto value = number(kAnyRank - 1, what);
    if (!value) return std::nullopt;
    if (*value >= graph_->ranks()) {
      add(line, "there is no rank " + std::to_string(*value),
          "ranks are 0 to " + std::to_string(graph_->ranks() - 1) + "; raise num_ranks if there are more");
      return std::nullopt;
    }
    return static_cast<std::uint32_t>(*value);
  }

  bool read_block() {
    const std::uint32_t line = tokens_.line();
    if (!take("rank")) return expected("\"rank\"", "operations are written in blocks, such as `rank 0 { ... }`");
    const auto rank = rank_number("the number of a rank");
    if (!rank) return false;
    if (has_block_[*rank]) {
      add(line, "rank " + std::to_string(*rank) + " has a block already", "write all its operations into one");
    }
    has_block_[*rank] = true;
    rank_ = *rank;
    skip_line_ends();
    if (!take("{")) return expected("\"{\"", "the operations of a rank are between { and }");
    labels_.clear();
    waits_.clear();
    while (!is_over()) {
      skip_line_ends();
      if (take("}")) break;
      if (tokens_.peek().empty()) {
        add(line, "the block of rank " + std::to_string(*rank) + " has no end", "close it with }");
        break;
      }
      if (!read_statement()) skip_line();
    }
    add_dependencies();
    return true;
  }

  bool read_statement() {
    const std::uint32_t line = tokens_.line();
    const std::string_view word = tokens_.peek();
    if (word == "send" || word == "recv" || word == "calc") return read_operation({}, line);
    const bool is_letter = (word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z');
    if (!is_letter)
      return expected("an operation or a label", "operations are send, recv and calc; labels begin with a letter");
    tokens_.next();
    if (take(":")) return read_operation(word, line);
    const bool needs_end = tokens_.peek() == "requires";
    if (!needs_end && tokens_.peek() != "irequires") {
      return expected("\":\", \"requires\" or \"irequires\" behind " + shown(word), "write `a: calc 10` or `a requires b`");
    }
    tokens_.next();
    const std::string_view before = tokens_.peek();
    if (before.empty() || !is_word_character(before[0])) return expected("a label", "write `a requires b`");
    tokens_.next();
    waits_.push_back({word, before, line, needs_end});
    return end_statement();
  }

  bool end_statement() {
    const std::string_view token = tokens_.peek();
    if (token.empty() || token == kEndOfLine || token == ";" || token == "}") return true;
    return expected("the end of the line", "write each statement in a line of its own");
  }

  bool read_operation(std::string_view label, std::uint32_t line) {
    std::optional<OperationId> id;
    if (graph_->size() == MessageGraph::kMaxOperations) {
      add(line, "there are too many operations", "the most are " + std::to_string(MessageGraph::kMaxOperations));
      return false;
    }
    if (take("calc")) {
      id = read_calc(line);
    } else if (take("send")) {
      id = read_message(true);
    } else if (take("recv")) {
      id = read_message(false);
    } else {
      return expected("\"send\", \"recv\" or \"calc\" behind " + shown(label), "these are the operations");
    }
    // Labels of refused operations are stored as well, so that each causes at most one finding.
    if (!label.empty() && !labels_.emplace(label, id.value_or(kNoOperation)).second) {
      add(line, "the label " + shown(label) + " is used twice in the block", "give one of them another name");
    }
    if (!id) return false;
    lines_.push_back(line);
    return true;
  }

  std::optional<OperationId> read_calc(std::uint32_t line) {
    const auto ns = number(GoalLimits::kCalcNs, "a time in nanoseconds");
    std::optional<std::uint64_t> processor = 0;
    if (ns && take("cpu")) processor = number(0xffff, "the number of a processor");
    if (!ns || !processor || !end_statement()) return std::nullopt;
    calc_ns_ += *ns;
    if (calc_ns_ > GoalLimits::kAllCalcNs) {
      add(line, "the computations up to this one take more than " + std::to_string(GoalLimits::kAllCalcNs) + " ns in all",
          "shorten them");
      return std::nullopt;
    }
    constexpr std::int64_t kPsPerNs = 1000;
    return graph_->compute(rank_, Duration(static_cast<std::int64_t>(*ns) * kPsPerNs),
                           static_cast<std::uint16_t>(*processor));
  }

  std::optional<OperationId> read_message(bool is_send) {
    const auto bytes = number(GoalLimits::kMessageBytes, "a size", "b");
    if (!bytes) return std::nullopt;
    const std::string_view direction = is_send ? "to" : "from";
    if (!take(direction)) {
      expected("\"" + std::string(direction) + "\"", is_send ? "write `send 10b to 1`" : "write `recv 10b from 0`");
      return std::nullopt;
    }
    const bool is_any = !is_send && take("-1");
    const auto peer = is_any ? std::optional(kAnyRank) : rank_number("the number of a rank");
    if (!peer) return std::nullopt;
    std::optional<std::uint64_t> tag = 0, ignored = 0;
    if (take("tag")) tag = !is_send && take("-1") ? kAnyTag : number(kAnyTag - 1, "a tag");
    for (const std::string_view place : {"cpu", "nic"}) {
      if (tag && ignored && take(place)) ignored = number(0xff, "the number of a " + std::string(place));
    }
    if (!tag || !ignored || !end_statement()) return std::nullopt;
    const auto of_32_bits = static_cast<std::uint32_t>(*tag);
    return is_send ? graph_->send(rank_, *peer, *bytes, of_32_bits) : graph_->receive(rank_, *peer, *bytes, of_32_bits);
  }

  void add_dependencies() {
    for (const Wait& wait : waits_) {
      if (is_over()) return;
      const auto after = labels_.find(wait.after), before = labels_.find(wait.before);
      for (const std::string_view label : {wait.after, wait.before}) {
        if (labels_.contains(label)) continue;
        add(wait.line, "no operation of rank " + std::to_string(rank_) + " has the label " + shown(label),
            "labels are those of the same block");
        break;
      }
      if (after == labels_.end() || before == labels_.end()) continue;
      if (after->second == kNoOperation || before->second == kNoOperation) continue;  // already a finding
      if (wait.needs_end) {
        graph_->require_end(after->second, before->second);
      } else {
        graph_->require_start(after->second, before->second);
      }
    }
  }

  Tokens tokens_;
  std::vector<GoalFinding>& findings_;
  std::optional<MessageGraph> graph_;
  std::vector<std::uint32_t> lines_;  // by operation
  std::vector<bool> has_block_;       // by rank
  std::uint64_t calc_ns_ = 0;
  // State of the block being read.
  std::uint32_t rank_ = 0;
  std::unordered_map<std::string_view, OperationId> labels_;  // for lookups only
  std::vector<Wait> waits_;
};

}  // namespace

std::optional<GoalProgram> read_goal(std::string_view text, std::vector<GoalFinding>& findings) {
  return Reader(text, findings).read();
}

}  // namespace verbatim::workload
