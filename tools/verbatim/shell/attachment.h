// Further terminals of a session: a socket beside its file, to which `verbatim attach` sends the wanted host
// and then keys, and from which it receives screen output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::cli {

// Path of the socket for a session's file.
std::string socket_of(const std::string& session_file);

struct AttachmentSize {
  std::uint16_t rows = 24, columns = 80;
};

// A frame from the client: a kind, the length of the body (network byte order), the body.
enum class AttachmentFrame : char { kHello = 'h', kKeys = 'k', kSize = 's' };  // hello: the size, and the host's name
std::string frame_of(AttachmentFrame kind, std::string_view body);
std::string body_of(const AttachmentSize& size);

// A connected socket, or -1 with a sentence.
int connect_to_session(const std::string& session_file, std::string* failure);

class AttachmentServer {
 public:
  AttachmentServer() = default;
  ~AttachmentServer();
  AttachmentServer(const AttachmentServer&) = delete;
  AttachmentServer& operator=(const AttachmentServer&) = delete;

  // Returns "" on success, else a sentence.
  std::string listen(const std::string& session_file);

  struct Event {
    std::size_t client = 0;  // never reused
    AttachmentFrame kind = AttachmentFrame::kKeys;
    std::string text;  // keys, or the host's name
    AttachmentSize size;
    bool has_gone = false;
  };
  // Descriptors to wait for; when one is readable, take() returns events.
  std::vector<int> descriptors() const;
  std::vector<Event> take();
  // Closes the connection if the text cannot be sent soon.
  void write(std::size_t client, std::string_view text);
  void close(std::size_t client);

 private:
  struct Client {
    std::size_t number;
    int descriptor;
    std::string bytes;
  };
  bool read(Client& client, std::vector<Event>& events);
  static bool next_event(Client& client, Event& event, bool& is_wrong);

  std::string path_;
  int listener_ = -1;
  std::size_t clients_ever_ = 0;
  std::vector<Client> clients_;
};

}  // namespace verbatim::cli
