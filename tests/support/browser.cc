#include "tests/support/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace verbatim::support {

namespace {

using Json = nlohmann::json;
constexpr char kProgram[] = "/usr/bin/chromium";
constexpr int kMostSilence = 60'000;  // ms

// Key codes of the DOM; those of letters are the codes of their capitals.
int key_code(const std::string& key) {
  static const std::map<std::string, int> kCodes = {{"Tab", 9},  {"Enter", 13}, {"Escape", 27},  {"PageUp", 33},   {"PageDown", 34},
                                                    {"End", 35}, {"Home", 36},  {"ArrowUp", 38}, {"ArrowDown", 40}};
  const auto known = kCodes.find(key);
  return known == kCodes.end() ? key[0] & ~0x20 : known->second;
}

}  // namespace

bool Browser::is_installed() { return ::access(kProgram, X_OK) == 0; }

Browser::Browser(const std::string& profile, int width, int height) {
  int there[2], back[2];
  if (::pipe2(there, O_CLOEXEC) != 0 || ::pipe2(back, O_CLOEXEC) != 0) return;
  std::vector<std::string> words = {kProgram,          "--headless=new",          "--no-sandbox",
                                    "--disable-gpu",   "--no-first-run",          "--remote-debugging-pipe",
                                    "--disable-sync",  "--disable-extensions",    "--user-data-dir=" + profile,
                                    "--window-size=" + std::to_string(width) + "," + std::to_string(height), "about:blank"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  child_ = ::fork();
  if (child_ == 0) {
    ::setpgid(0, 0);
    // Chromium reads from descriptor 3 and writes to 4; the pipes' own descriptors must have other numbers.
    const int in = ::fcntl(there[0], F_DUPFD, 20), out = ::fcntl(back[1], F_DUPFD, 20), null = ::open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) ::dup2(null, standard);
    ::dup2(in, 3);
    ::dup2(out, 4);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(there[0]);
  ::close(back[1]);
  to_ = there[1];
  from_ = back[0];
  const Json targets = call("Target.getTargets", Json::object(), false);
  for (const Json& target : targets.value("targetInfos", Json::array())) {
    if (target["type"] != "page") continue;
    const Json attached = call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}}, false);
    session_ = attached.value("sessionId", "");
  }
  is_running_ = !session_.empty();
  if (!is_running_) return;
  call("Page.enable", Json::object());
  call("Runtime.enable", Json::object());
}

Browser::~Browser() {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  if (child_ <= 0) return;
  ::kill(-child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

bool Browser::receive(Json* message) {
  std::size_t end;
  while ((end = buffer_.find('\0')) == buffer_.npos) {
    pollfd ready{from_, POLLIN, 0};
    if (::poll(&ready, 1, kMostSilence) <= 0) return false;
    char block[65536];
    const ssize_t count = ::read(from_, block, sizeof block);
    if (count <= 0) return false;
    buffer_.append(block, static_cast<std::size_t>(count));
  }
  *message = Json::parse(buffer_.substr(0, end), nullptr, false);
  buffer_.erase(0, end + 1);
  return true;
}

Json Browser::call(const std::string& method, Json parameters, bool of_page) {
  Json message = {{"id", ++last_call_}, {"method", method}, {"params", std::move(parameters)}};
  if (of_page) message["sessionId"] = session_;
  std::string text = message.dump();
  text.push_back('\0');
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(to_, text.data() + at, text.size() - at);
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
  std::signal(SIGPIPE, before);
  for (Json answer; receive(&answer);) {
    if (answer.value("id", 0) == last_call_) return answer.value("result", Json::object());
    if (answer.value("method", "") == "Runtime.exceptionThrown") errors_ += answer["params"]["exceptionDetails"].dump() + "\n";
  }
  is_running_ = false;
  return Json::object();
}

void Browser::open(const std::string& path) {
  call("Page.navigate", {{"url", "about:blank"}});
  call("Page.navigate", {{"url", "file://" + path}});
}

Json Browser::value_of(const std::string& expression) {
  const Json result = call("Runtime.evaluate", {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  if (result.contains("exceptionDetails")) return {{"error", result["exceptionDetails"].dump()}};
  return result.value("result", Json::object()).value("value", Json());
}

bool Browser::wait_for(const std::string& expression, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (is_running_ && std::chrono::steady_clock::now() < end) {
    const Json value = value_of("Boolean(" + expression + ")");
    if (value.is_boolean() && value.get<bool>()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

void Browser::press(const std::string& key) {
  Json event = {{"type", "keyDown"}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", key_code(key)}};
  if (key.size() == 1) event["text"] = key;
  if (key == "Enter") event["text"] = "\r";
  call("Input.dispatchKeyEvent", event);
  event["type"] = "keyUp";
  event.erase("text");
  call("Input.dispatchKeyEvent", event);
}

void Browser::wheel(double x, double y, double by, int held) {
  call("Input.dispatchMouseEvent", {{"type", "mouseWheel"}, {"x", x}, {"y", y}, {"deltaX", 0}, {"deltaY", by}, {"modifiers", held}});
}

void Browser::drag(double from_x, double from_y, double to_x, double to_y, int held) {
  const auto send = [&](const char* type, double x, double y) {
    call("Input.dispatchMouseEvent", {{"type", type}, {"x", x}, {"y", y}, {"button", "left"}, {"buttons", 1}, {"clickCount", 1}, {"modifiers", held}});
  };
  send("mousePressed", from_x, from_y);
  if (from_x != to_x || from_y != to_y) {
    send("mouseMoved", (from_x + to_x) / 2, (from_y + to_y) / 2);
    send("mouseMoved", to_x, to_y);
  }
  send("mouseReleased", to_x, to_y);
}

void Browser::emulate(const std::string& media, const std::string& color_scheme) {
  Json features = Json::array();
  features.push_back({{"name", "prefers-color-scheme"}, {"value", color_scheme}});
  call("Emulation.setEmulatedMedia", {{"media", media}, {"features", features}});
}

}  // namespace verbatim::support
