// Watches shared by a host's descriptors, and events that do not belong to programs:
// sim/supervisor/files/inotify_file.h.
#include "sim/supervisor/files/inotify_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/support/verbatim_run.h"

namespace verbatim::supervisor {
namespace {

struct Host {
  std::vector<bool> changes;
  std::shared_ptr<FileWatches> watches = std::make_shared<FileWatches>([this](bool on) { changes.push_back(on); });
  std::shared_ptr<InotifyFile> open() const {
    auto file = std::make_shared<InotifyFile>(watches);
    file->add_descriptor();
    return file;
  }
};

// The masks of all that can be read.
std::vector<std::uint32_t> masks(InotifyFile& file) {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> all;
  if (!file.read(1 << 16, bytes)) return all;
  for (std::size_t at = 0; at < bytes.size();) {
    inotify_event event;
    std::memcpy(&event, bytes.data() + at, sizeof event);
    all.push_back(event.mask);
    at += sizeof event + event.len;
  }
  return all;
}

void make(const std::string& path) { close(open(path.c_str(), O_WRONLY | O_CREAT, 0600)); }

using Masks = std::vector<std::uint32_t>;

TEST(FileWatches, share_one_limit_and_each_number_of_its_own) {
  const Host host;
  const auto first = host.open(), second = host.open();
  EXPECT_EQ(host.watches->instances(), 2u);
  for (std::size_t i = 0; i < FileWatches::kMostWatches; ++i) {
    InotifyFile& file = i % 2 == 0 ? *first : *second;
    ASSERT_EQ(file.watch_unchanging(std::to_string(i), IN_OPEN), static_cast<int>(i / 2 + 1));
  }
  EXPECT_EQ(first->watch_unchanging("one more", IN_OPEN), -ENOSPC);
  EXPECT_EQ(first->watch_unchanging("0", IN_OPEN), 1) << "it is known";
  EXPECT_EQ(second->remove(7), 0);
  EXPECT_EQ(second->remove(7), -EINVAL);
  EXPECT_EQ(first->watch_unchanging("one more", IN_OPEN), static_cast<int>(FileWatches::kMostWatches / 2 + 1));
  second->drop_descriptor();
  EXPECT_EQ(host.watches->instances(), 1u);
  EXPECT_EQ(host.watches->watches(), FileWatches::kMostWatches / 2 + 1);
  EXPECT_TRUE(host.changes.empty()) << "the machine's kernel watches nothing";
}

TEST(FileWatches, say_when_files_are_watched_and_when_none_is_any_more) {
  const support::TemporaryFolder folder;
  Host host;
  const auto first = host.open(), second = host.open();
  EXPECT_EQ(first->watch_own(folder.path(), IN_CREATE), 1);
  EXPECT_EQ(second->watch_own(folder.path(), IN_CREATE), 1);
  EXPECT_EQ(host.changes, std::vector<bool>({true}));
  first->drop_descriptor();
  EXPECT_TRUE(host.watches->are_of_files());
  second->drop_descriptor();
  EXPECT_EQ(host.changes, std::vector<bool>({true, false}));
}

TEST(FileWatches, are_told_when_it_is_time_and_of_the_programs_work_alone) {
  const support::TemporaryFolder folder;
  Host host;
  const auto file = host.open();
  file->watch_own(folder.path(), IN_ALL_EVENTS | IN_ONESHOT);
  chmod(folder.path().c_str(), 0700);
  EXPECT_EQ(host.watches->fetch(true), 0u) << "what the simulator does is no event, and ends no watch";
  file->watch_own(folder.path(), IN_ALL_EVENTS);
  make(folder.path() + "/a");
  EXPECT_EQ(host.watches->fetch(), 3u);
  EXPECT_EQ(file->readiness(), 0u) << "kept, not told";
  chmod((folder.path() + "/a").c_str(), 0600);
  EXPECT_EQ(host.watches->fetch(true), 3u);
  EXPECT_TRUE(masks(*file).empty());
  host.watches->deliver();
  EXPECT_EQ(file->readiness(), std::uint32_t{POLLIN | POLLRDNORM});
  EXPECT_EQ(masks(*file), Masks({IN_CREATE, IN_OPEN, IN_CLOSE_WRITE}));
  chmod((folder.path() + "/a").c_str(), 0600);
  EXPECT_EQ(host.watches->fetch(), 1u);
  file->watch_own(folder.path(), IN_ALL_EVENTS | IN_ONESHOT);
  make(folder.path() + "/b");
  host.watches->fetch();
  host.watches->deliver();
  EXPECT_EQ(masks(*file), Masks({IN_ATTRIB, IN_CREATE, IN_IGNORED})) << "one event since the flag was set";
  EXPECT_EQ(host.watches->watches(), 0u);
  file->drop_descriptor();
}

}  // namespace
}  // namespace verbatim::supervisor
