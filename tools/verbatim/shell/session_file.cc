#include "tools/verbatim/shell/session_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace verbatim::cli {

using Json = nlohmann::ordered_json;
using supervisor::TerminalInput;

namespace {

constexpr std::string_view kBeginning = "{\"session\":";
constexpr std::size_t kMostTerminals = 1000;

// Keys are any bytes: each is the character with its number.
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
  json.at("at_ps").get_to(event.time_ps);
  if (json.contains("show")) {
    event.shows = json.at("show").get<std::size_t>();
    json.at("after_bytes").get_to(event.shown);
    return event;
  }
  if (json.contains("rows")) {
    json.at("rows").get_to(input.rows);
    json.at("columns").get_to(input.columns);
  }
  if (json.contains("opens_on_host")) {
    input.kind = TerminalInput::Kind::kOpen;
    json.at("opens_on_host").get_to(input.host);
    return event;
  }
  json.at("terminal").get_to(input.terminal);
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
  json.at("rows").get_to(session.rows);
  json.at("columns").get_to(session.columns);
  json.at("repaints").get_to(session.repaints);
}

// Times go on, and a terminal is there before it gets keys. Empty: it is so.
std::string wrong_order(const Session& session) {
  std::int64_t last = 0;
  for (const Session::Event& event : session.events) {
    if (event.time_ps < last) return "the times of its events go back";
    if (event.time_ps > to_ps(kEndOfTime)) return "it goes on beyond the end of virtual time";
    if (event.input.terminal >= kMostTerminals || event.shows.value_or(0) >= kMostTerminals) return "it has too many terminals";
    last = event.time_ps;
  }
  return "";
}

}  // namespace

bool is_session(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string beginning(kBeginning.size(), '\0');
  return file.read(beginning.data(), static_cast<std::streamsize>(beginning.size())) && beginning == kBeginning;
}

std::optional<Session> read_session(const std::string& path, std::string* failure) {
  std::ifstream file(path, std::ios::binary);
  Session session;
  std::size_t number = 0;
  try {
    for (std::string line; std::getline(file, line);) {
      ++number;
      // What was being written when the simulator was ended.
      if (file.eof() && !Json::accept(line)) break;
      const Json json = Json::parse(line);
      if (number == 1 && json.at("session") != Session::kFormat) {
        *failure = path + " has format " + json.at("session").dump() + ", and this version reads format " +
                   std::to_string(Session::kFormat);
        return std::nullopt;
      }
      if (number == 1) {
        read_head(json, session);
      } else if (session.end) {
        *failure = path + ":" + std::to_string(number) + ": a session ends here, and more follows";
        return std::nullopt;
      } else if (json.contains("end_ps")) {
        Session::End& end = session.end.emplace();
        json.at("end_ps").get_to(end.time_ps);
        json.at("outcome").get_to(end.outcome);
        json.at("digest").get_to(end.digest);
        for (const Json& content : json.at("contents")) end.contents.push_back({content.at("path"), content.at("digest")});
      } else {
        session.events.push_back(event_of(json));
      }
    }
  } catch (const Json::exception& e) {
    *failure = path + ":" + std::to_string(number) + " is no line of a session: " + e.what();
    return std::nullopt;
  }
  if (session.replay.words.empty()) {
    *failure = path + " cannot be read, or is cut off in its first line";
    return std::nullopt;
  }
  if (const std::string wrong = wrong_order(session); !wrong.empty()) {
    *failure = path + " is no session: " + wrong;
    return std::nullopt;
  }
  return session;
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
  const Json json = {{"end_ps", end.time_ps}, {"outcome", end.outcome}, {"digest", end.digest}, {"contents", contents}};
  write_line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string SessionWriter::close() {
  if (file_ == nullptr) return "";
  failed_ = std::fclose(std::exchange(file_, nullptr)) != 0 || failed_;
  return failed_ ? path_ + " could not be written completely" : "";
}

}  // namespace verbatim::cli
