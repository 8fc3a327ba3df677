// Further real terminals of a session: a socket beside its file, where `verbatim attach` says on which host it wants a shell, and
// then brings keys and takes what the screen shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::cli {

// Where the socket of a session's file is.
std::string socket_of(const std::string& session_file);

struct AttachmentSize {
  std::uint16_t rows = 24, columns = 80;
};

// What the far side says: a kind, the length of what follows (network byte order), and that.
enum class AttachmentFrame : char { kHello = 'h', kKeys = 'k', kSize = 's' };  // hello: the size, and the host's name
std::string frame_of(AttachmentFrame kind, std::string_view body);
std::string body_of(const AttachmentSize& size);

// A connected socket, or -1 and a sentence.
int connect_to_session(const std::string& session_file, std::string* failure);

class AttachmentServer {
 public:
  AttachmentServer() = default;
  ~AttachmentServer();
  AttachmentServer(const AttachmentServer&) = delete;
  AttachmentServer& operator=(const AttachmentServer&) = delete;

  // Empty on success, else a sentence.
  std::string listen(const std::string& session_file);

  struct Event {
    std::size_t client = 0;  // never used again
    AttachmentFrame kind = AttachmentFrame::kKeys;
    std::string text;  // keys, or the host's name
    AttachmentSize size;
    bool has_gone = false;
  };
  // Descriptors that are waited for: with something to read at each of them take() gives events.
  std::vector<int> descriptors() const;
  std::vector<Event> take();
  // What does not go out within a moment ends the connection.
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
