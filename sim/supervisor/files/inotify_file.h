// inotify(7) instances.
//
// Files in a host's own folders are files of the machine, whose kernel executes the calls of programs on
// them. Each instance therefore has an inotify instance of the machine with the same watches. An event
// belongs to one call: the machine's kernel queues it before the call returns, only one thread of all
// programs runs at a time, and fetch() is called after each call that may have accessed a file. deliver()
// then makes the events visible, at their virtual time and in order.
//
// Other files never change: those of the machine outside the host's folders, and the simulated trees. Their
// watches have a number but no watch of the machine.
#pragma once

#include <sys/inotify.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class InotifyFile;

// The inotify instances of one host, which share its limits.
class FileWatches {
 public:
  // Limits in /proc/sys/fs/inotify: Linux' defaults, and 65,536 watches (in Linux, the number depends on
  // memory).
  static constexpr std::size_t kMostInstances = 128, kMostWatches = 65'536, kMostEvents = 16'384;

  // `changed` is called whenever the host gets its first instance with watches of its own files (true), or
  // loses the last (false).
  explicit FileWatches(std::function<void(bool)> changed) : changed_(std::move(changed)) {}

  bool are_of_files() const { return native_files_ > 0; }
  std::size_t instances() const { return files_.size(); }
  std::size_t watches() const { return watches_; }

  // Fetches new events from the machine; returns the number of events not yet visible. `own_work`: only the
  // simulator or the runtime has accessed files since the last call; events of reads and attribute changes
  // are dropped.
  std::size_t fetch(bool own_work = false);
  void deliver();
  // Fetches and delivers.
  void deliver_all() {
    fetch();
    deliver();
  }

 private:
  friend class InotifyFile;
  void count_native(int change);

  std::function<void(bool)> changed_;
  std::vector<InotifyFile*> files_;  // open instances, in order of creation
  std::size_t watches_ = 0, native_files_ = 0;
  std::uint32_t last_cookie_ = 0;
};

// While it exists, the simulator itself accesses files of the host and no program does: events of that are
// dropped.
class OwnFileWork {
 public:
  explicit OwnFileWork(FileWatches& watches) : watches_(watches) { watches_.fetch(); }
  ~OwnFileWork() { watches_.fetch(true); }
  OwnFileWork(const OwnFileWork&) = delete;
  OwnFileWork& operator=(const OwnFileWork&) = delete;

 private:
  FileWatches& watches_;
};

class InotifyFile final : public VirtualFile {
 public:
  explicit InotifyFile(std::shared_ptr<FileWatches> host);
  ~InotifyFile() override;

  std::uint32_t readiness() const override { return visible_events_ > 0 ? POLLIN | POLLRDNORM : 0; }
  std::string describe() const override { return "inotify"; }
  // As many struct inotify_event as exist and fit; -EINVAL if the first does not fit.
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  int access_mode() const override;
  std::optional<std::size_t> queued_input() const override;
  bool supports_signals() const override { return true; }
  std::string link_text() const override { return "anon_inode:inotify"; }

  // Watches the machine's file or folder at `path`, in one of the host's own folders, with `mask` of
  // inotify_add_watch(2). Returns the watch descriptor or -errno.
  int watch_own(const std::string& path, std::uint32_t mask);
  // Watches a file that never changes; `name` is its unique name.
  int watch_unchanging(const std::string& name, std::uint32_t mask);
  // 0 or -EINVAL. Queues IN_IGNORED, which is not visible yet.
  int remove(int number);

 protected:
  void on_last_close() override;

 private:
  friend class FileWatches;
  struct Watch {
    int native = -1;
    std::string name;  // of a file that never changes
    bool once = false;
  };
  struct Event {
    int watch;
    std::uint32_t mask, cookie;
    std::string name;
    std::size_t name_room() const;
    std::size_t size() const { return sizeof(inotify_event) + name_room(); }
  };
  using Cookies = std::map<std::uint32_t, std::uint32_t>;

  void fetch(bool own_work, Cookies& cookies);
  void take(const inotify_event& event, std::string name, bool own_work, Cookies& cookies);
  void add(Event event);
  int make_watch(Watch watch);
  void end_watch(int number);
  void deliver();

  std::shared_ptr<FileWatches> host_;
  int native_ = -1;  // created with the first watch of an own file
  std::map<int, Watch> watches_;
  std::map<int, int> by_native_;
  std::map<std::string, int> by_name_;
  int last_number_ = 0;
  std::deque<Event> events_;
  std::size_t visible_events_ = 0;  // number of events, from the front, that are visible
  std::size_t overflows_ = 0;  // number of IN_Q_OVERFLOW events in the queue
};

}  // namespace verbatim::supervisor
