// Records of the subnet's nodes and links (IBA 15.2.5), and selection of the records that a query matches:
// those that agree with it in the components of its mask (IBA 15.2.1.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/mad/sa_records.h"
#include "sim/management/node.h"
#include "sim/management/path_record.h"
#include "sim/management/rmpp.h"

namespace verbatim::management {

// The subnet as its manager has discovered it.
class SubnetView {
 public:
  struct End {
    std::size_t node;
    std::uint8_t port;
  };
  virtual std::size_t node_count() const = 0;
  virtual const Node& node(std::size_t index) const = 0;
  // The other end of the cable in a port.
  virtual std::optional<End> peer(const End& end) const = 0;

 protected:
  ~SubnetView() = default;
};

using Record = std::vector<std::byte>;

class SubnetRecords {
 public:
  // Both must outlive this.
  SubnetRecords(const SubnetView& subnet, const PathFinder& paths) : subnet_(subnet), paths_(paths) {}

  // Records of the queried attribute that match; `groups`: records of the multicast groups. nullopt: no such
  // attribute.
  std::optional<std::vector<Record>> select(const mad::sa::Message& question, std::span<const Record> groups) const;

 private:
  template <class Add>
  void for_ports(const Add& add) const;
  std::vector<Record> paths(const mad::sa::Message& question) const;
  std::vector<Record> all(std::uint16_t attribute) const;

  const SubnetView& subnet_;
  const PathFinder& paths_;
};

// Response to a Get, which must match at most one record, or to a GetTable.
MadBytes answer_of(const mad::sa::Message& question, const std::vector<Record>& records);

}  // namespace verbatim::management
