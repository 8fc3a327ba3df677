#include "tools/verbatim/shell/session_file.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "sim/core/input_file.h"
#include "tools/verbatim/whole_number.h"

namespace verbatim::cli {

using Json = nlohmann::ordered_json;
using supervisor::TerminalInput;

namespace {

constexpr std::string_view kBeginning = "{\"session\":";
constexpr std::size_t kMostTerminals = 1000;

// Keys are arbitrary bytes; each is stored as the character with its value.
std::string to_text(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

std::string to_bytes_of_keys(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_pair = (byte == 0xc2 || byte == 0xc3) && i + 1 < text.size();
    bytes += is_pair ? static_cast<char>(byte << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f)) : text[i];
  }
  return bytes;
}

Json to_json(const Session::Event& event) {
  const TerminalInput& input = event.input;
  if (event.shows) return {{"at_ps", event.time_ps}, {"show", *event.shows}, {"after_bytes", event.shown}};
  switch (input.kind) {
    case TerminalInput::Kind::kKeys:
      return {{"at_ps", event.time_ps}, {"terminal", input.terminal}, {"keys", to_text(input.keys)}};
    case TerminalInput::Kind::kResize:
      return {{"at_ps", event.time_ps}, {"terminal", input.terminal}, {"rows", input.rows}, {"columns", input.columns}};
    case TerminalInput::Kind::kHangUp:
      return {{"at_ps", event.time_ps}, {"terminal", input.terminal}, {"hangs_up", true}};
    case TerminalInput::Kind::kOpen:
      return {{"at_ps", event.time_ps}, {"opens_on_host", input.host}, {"rows", input.rows}, {"columns", input.columns}};
  }
  return {};
}

Session::Event event_of(const Json& json) {
  Session::Event event;
  TerminalInput& input = event.input;
  // No input after the end of virtual time.
  event.time_ps = whole_number<std::int64_t>(json.at("at_ps"), 0, to_ps(kEndOfTime));
  constexpr std::size_t kLastTerminal = kMostTerminals - 1;
  if (json.contains("show")) {
    event.shows = whole_number<std::size_t>(json.at("show"), 0, kLastTerminal);
    event.shown = whole_number<std::uint64_t>(json.at("after_bytes"));
    return event;
  }
  if (json.contains("rows")) {
    input.rows = whole_number<std::uint16_t>(json.at("rows"));
    input.columns = whole_number<std::uint16_t>(json.at("columns"));
  }
  if (json.contains("opens_on_host")) {
    input.kind = TerminalInput::Kind::kOpen;
    input.host = whole_number<std::size_t>(json.at("opens_on_host"));
    return event;
  }
  input.terminal = whole_number<std::size_t>(json.at("terminal"), 0, kLastTerminal);
  input.kind = json.contains("keys") ? TerminalInput::Kind::kKeys
               : json.contains("rows") ? TerminalInput::Kind::kResize
                                       : TerminalInput::Kind::kHangUp;
  if (input.kind == TerminalInput::Kind::kKeys) input.keys = to_bytes_of_keys(json.at("keys").get<std::string>());
  if (input.kind == TerminalInput::Kind::kHangUp) json.at("hangs_up");
  return event;
}

void read_head(const Json& json, Session& session) {
  ReplayFile& replay = session.replay;
  json.at("version").get_to(replay.version);
  json.at("words").get_to(replay.words);
  json.at("working_directory").get_to(replay.working_directory);
  json.at("search_path").get_to(replay.search_path);
  json.at("profile_folders").get_to(replay.profile_folders);
  for (const auto& [file, text] : json.at("files").items()) replay.files.texts.emplace(file, text);
  replay.files.are_all = true;
  json.at("environment").get_to(session.environment);
  session.rows = whole_number<std::uint16_t>(json.at("rows"));
  session.columns = whole_number<std::uint16_t>(json.at("columns"));
  json.at("repaints").get_to(session.repaints);
}

// Parses lines in order.
class LineReader {
 public:
  explicit LineReader(const std::string& path) : path_(path) {}

  // Returns "", or a sentence if the line is invalid.
  std::string take(std::string_view line) {
    ++number_;
    const std::string place = path_ + ":" + std::to_string(number_);
    config::Diagnostics diagnostics;
    const auto json = config::parse_json(line, place, diagnostics);
    if (!json) {
      const config::Finding& finding = diagnostics.findings().front();
      return place + " is no line of a session: " + (finding.pointer.empty() ? "" : finding.pointer + ": ") + finding.text;
    }
    try {
      return take(*json, place);
    } catch (const std::exception& e) {
      return place + " is no line of a session: " + e.what();
    }
  }

  bool has_head() const { return number_ != 0; }
  Session& session() { return session_; }

 private:
  std::string take(const Json& json, const std::string& place) {
    if (number_ == 1) {
      if (json.at("session") != Session::kFormat)
        return path_ + " has format " + json.at("session").dump() + ", and this version reads format " + std::to_string(Session::kFormat);
      read_head(json, session_);
      return "";
    }
    if (session_.end) return place + ": a session ends here, and more follows";
    if (json.contains("end_ps")) {
      Session::End& end = *(session_.end = Session::End{});
      end.time_ps = whole_number<std::int64_t>(json.at("end_ps"), 0, to_ps(kEndOfTime) + 1);
      json.at("outcome").get_to(end.outcome);
      end.digest = kept_digest_of(json);
      for (const Json& content : json.at("contents")) end.contents.push_back({content.at("path"), content.at("digest")});
      return "";
    }
    Session::Event event = event_of(json);
    if (!session_.events.empty() && event.time_ps < session_.events.back().time_ps)
      return place + " is no line of a session: its time is before that of the line above";
    session_.events.push_back(std::move(event));
    return "";
  }

  const std::string& path_;
  std::size_t number_ = 0;
  Session session_;
};

}  // namespace

bool is_session(const std::string& path) { return InputFile(path).peek(kBeginning.size()) == kBeginning; }

std::optional<Session> read_session(const std::string& path, std::string* failure) {
  config::Diagnostics diagnostics;
  if (const auto text = config::read_file(path, diagnostics)) return parse_session(*text, path, failure);
  *failure = config::to_string(diagnostics.findings().front());
  return std::nullopt;
}

std::optional<Session> parse_session(std::string_view text, const std::string& path, std::string* failure) {
  LineReader reader(path);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    // A last line without a newline was being written when the simulator was killed; it is used only if it is
    // complete.
    if (end == text.npos && !Json::accept(line)) break;
    if (std::string problem = reader.take(line); !problem.empty()) {
      *failure = std::move(problem);
      return std::nullopt;
    }
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  Session& session = reader.session();
  if (session.replay.words.empty()) {
    *failure = path + (reader.has_head() ? " is no session: it has no command to run" : " is no session, or is cut off in its first line");
    return std::nullopt;
  }
  session.replay.path = session.replay.files.keeper = path;
  return std::move(session);
}

SessionWriter::~SessionWriter() { close(); }

std::string SessionWriter::open(const std::string& path, const Session& session) {
  path_ = path;
  file_ = std::fopen(path.c_str(), "wxe");
  if (file_ == nullptr) return "cannot write " + path + ": " + std::strerror(errno);
  const ReplayFile& replay = session.replay;
  Json files = Json::object();
  for (const auto& [file, text] : replay.files.texts) files[file] = text;
  const Json json = {{"session", Session::kFormat},
                     {"version", replay.version},
                     {"words", replay.words},
                     {"working_directory", replay.working_directory},
                     {"search_path", replay.search_path},
                     {"profile_folders", replay.profile_folders},
                     {"environment", session.environment},
                     {"rows", session.rows},
                     {"columns", session.columns},
                     {"repaints", session.repaints},
                     {"files", files}};
  write_line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return "";
}

void SessionWriter::write_line(const std::string& line) {
  if (file_ == nullptr) return;
  const std::string whole = line + "\n";
  failed_ = std::fwrite(whole.data(), 1, whole.size(), file_) != whole.size() || std::fflush(file_) != 0 || failed_;
}

void SessionWriter::write(const Session::Event& event) { write_line(to_json(event).dump()); }

void SessionWriter::write(const Session::End& end) {
  Json contents = Json::array();
  for (const ReplayFile::Content& content : end.contents) contents.push_back({{"path", content.path}, {"digest", content.digest}});
  const Json json = {{"end_ps", end.time_ps},
                     {"outcome", end.outcome},
                     {"digest", end.digest.hex},
                     {kDigestVersionKey, end.digest.version},
                     {"contents", contents}};
  write_line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string SessionWriter::close() {
  if (file_ == nullptr) return "";
  failed_ = std::fclose(std::exchange(file_, nullptr)) != 0 || failed_;
  return failed_ ? path_ + " could not be written completely" : "";
}

}  // namespace verbatim::cli
