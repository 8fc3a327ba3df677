// Questions and answers about paths as datagrams of the subnet administrator (IBA 15.2.5.16), and what answers them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/ib/management.h"
#include "sim/management/path.h"

namespace verbatim::management {

// What the manager of a subnet knows of the ways through it.
class PathFinder {
 public:
  // Nothing: one of them is not of this subnet, or they have no partition in common.
  virtual std::optional<Path> find(const ib::Gid& from, const ib::Gid& to, std::optional<std::uint16_t> pkey) const = 0;

 protected:
  ~PathFinder() = default;
};

ib::Mad encode_path_question(const ib::Gid& from, const ib::Gid& to, std::uint16_t pkey);

struct PathAnswer {
  int error = 0;  // errno: there is no such path
  Path path;
};
// Nothing: it is no answer to such a question.
std::optional<PathAnswer> decode_path_answer(const ib::Mad& mad);

// Nothing: it is no question about a path.
std::optional<ib::Mad> answer_path_question(const ib::Mad& mad, const PathFinder& paths);

// A path record, as it is on the wire.
std::array<std::byte, 64> record_of(const Path& path);
Path path_of(std::span<const std::byte, 64> record);

}  // namespace verbatim::management
