// inotify(7): descriptors that tell what happens to files.
//
// Files in a host's own folders are the machine's, and its kernel executes what programs do to them; so each descriptor has
// one of the kernel's under it, with the same watches. Which event belongs to which call is clear: the kernel tells of a call
// before the call returns, only one thread of all programs runs at a time, and after each call that may have touched a file
// its thread has keep() called. tell() then makes what was kept visible, at a virtual time and in its turn.
//
// Nothing ever happens to what a host does not have of its own: the machine's files, and the trees that are made up. Watches
// there have a number and no kernel's watch under them.
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

// The descriptors of one host, which its programs share the limits of.
class FileWatches {
 public:
  // What /proc/sys/fs/inotify tells: Linux' defaults, and 64 Ki watches, of which Linux has more the more memory there is.
  static constexpr std::size_t kMostInstances = 128, kMostWatches = 65'536, kMostEvents = 16'384;

  // `changed`: whether there are descriptors with watches of the host's own files, now or before, each time that it becomes so
  // or not.
  explicit FileWatches(std::function<void(bool)> changed) : changed_(std::move(changed)) {}

  bool are_of_files() const { return native_files_ > 0; }
  std::size_t instances() const { return files_.size(); }
  std::size_t watches() const { return watches_; }

  // Takes what the kernel has told since the last time; how many events wait to be told now. `own_work`: the simulator or the
  // runtime itself has looked at files and set attributes meanwhile, which is no event, and programs have done nothing.
  std::size_t keep(bool own_work = false);
  void tell();

 private:
  friend class InotifyFile;
  void count_native(int change);

  std::function<void(bool)> changed_;
  std::vector<InotifyFile*> files_;  // those that are open, in the order in which they were made
  std::size_t watches_ = 0, native_files_ = 0;
  std::uint32_t last_cookie_ = 0;
};

class InotifyFile final : public VirtualFile {
 public:
  explicit InotifyFile(std::shared_ptr<FileWatches> host);
  ~InotifyFile() override;

  std::uint32_t readiness() const override { return told_ > 0 ? POLLIN | POLLRDNORM : 0; }
  std::string describe() const override { return "inotify"; }
  // As many struct inotify_event as fit and are there; -EINVAL when the first does not fit.
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  int access_mode() const override;
  // FIONREAD.
  std::size_t readable_bytes() const;

  // A watch of the machine's file or folder at `path`, which lies in a folder of the host's own, for `mask` as
  // inotify_add_watch(2) has it: its number or -errno.
  int watch_own(const std::string& path, std::uint32_t mask);
  // Of something that never changes, which `name` tells from everything else.
  int watch_unchanging(const std::string& name, std::uint32_t mask);
  // 0 or -EINVAL. The last event of the watch waits to be told.
  int remove(int number);

 protected:
  void on_last_close() override;

 private:
  friend class FileWatches;
  struct Watch {
    int native = -1;
    std::string name;  // of what never changes
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

  void keep(bool own_work, Cookies& cookies);
  void take(const inotify_event& event, std::string name, bool own_work, Cookies& cookies);
  void add(Event event);
  int make_watch(Watch watch);
  void end_watch(int number);
  void tell();

  std::shared_ptr<FileWatches> host_;
  int native_ = -1;  // made with the first watch that needs it
  std::map<int, Watch> watches_;
  std::map<int, int> by_native_;
  std::map<std::string, int> by_name_;
  int last_number_ = 0;
  std::deque<Event> events_;
  std::size_t told_ = 0;  // so many of them, the first, are visible
  std::size_t overflows_ = 0;  // of them say that others are lost
};

}  // namespace verbatim::supervisor
