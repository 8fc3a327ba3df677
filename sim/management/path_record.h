// Path record queries and responses of the subnet administrator (IBA 15.2.5.16).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/ib/management.h"
#include "sim/management/path.h"

namespace verbatim::management {

// The subnet manager's knowledge of paths.
class PathFinder {
 public:
  // nullopt: one of the GIDs is not in this subnet, or they have no partition in common.
  virtual std::optional<Path> find(const ib::Gid& from, const ib::Gid& to, std::optional<std::uint16_t> pkey) const = 0;

 protected:
  ~PathFinder() = default;
};

ib::Mad encode_path_question(const ib::Gid& from, const ib::Gid& to, std::uint16_t pkey);

struct PathAnswer {
  int error = 0;  // errno: no such path
  Path path;
};
// nullopt: not a response to such a query.
std::optional<PathAnswer> decode_path_answer(const ib::Mad& mad);

// nullopt: not a path query.
std::optional<ib::Mad> answer_path_question(const ib::Mad& mad, const PathFinder& paths);

// Conversion to and from a path record on the wire.
std::array<std::byte, 64> record_of(const Path& path);
Path path_of(std::span<const std::byte, 64> record);

}  // namespace verbatim::management
