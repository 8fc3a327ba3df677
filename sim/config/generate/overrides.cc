#include "sim/config/generate/overrides.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/fields.h"
#include "sim/config/tables.h"

namespace verbatim::config {

namespace {

struct PortText {
  std::string_view device, port;  // port: empty if not written
};

PortText split(std::string_view end) {
  const std::size_t colon = end.find(':');
  return {end.substr(0, colon), colon == end.npos ? "" : end.substr(colon + 1)};
}

// Whether `end` of the file names this end of a generated cable. Port 1 of an adapter may be omitted.
bool names(const PortText& end, const PortText& generated) {
  return end.device == generated.device && (end.port.empty() || end.port == (generated.port.empty() ? "1" : generated.port));
}

const Field& field_of(const Object& table, std::string_view key) {
  return *std::ranges::find(table.fields, key, &Field::key);
}

class Overrides {
 public:
  Overrides(TopologySpec& topology, const WrittenParts& written, const Json& json, Diagnostics& diagnostics)
      : topology_(topology), written_(written), json_(json), diagnostics_(diagnostics) {}

  void run() {
    const auto hosts =
        by_name(topology_.hosts, written_.hosts, [this](HostSpec& host, std::size_t i) { set_host(host, i); });
    const auto switches =
        by_name(topology_.switches, written_.switches, [this](SwitchSpec& one, std::size_t i) { set_switch(one, i); });
    const auto links = by_ends();
    erase(topology_.hosts, hosts);
    erase(topology_.switches, switches);
    erase(topology_.links, links);
  }

 private:
  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(topology_.file, pointer, std::move(text), std::move(hint));
  }

  // Sets the keys of `entry`. Its findings were reported when the file was read, so they are dropped here.
  void set(const Json& entry, const Object& table, void* target, const std::string& pointer) const {
    Diagnostics known;
    check_object(entry, table, target, topology_.file, pointer, known);
  }
  static const Object& table_of(std::string_view key) { return *field_of(topology_table(), key).object; }

  // Applies each written part whose name is that of a generated part, and returns which parts these are. Each
  // generated part can be overridden once.
  template <class Spec, class Set>
  std::vector<bool> by_name(std::vector<Spec>& parts, std::size_t written, Set set) {
    std::vector<bool> gone(written);
    if (written == 0) return gone;
    struct Target {
      Spec* part;
      std::string changed_by;
    };
    std::map<std::string, Target> generated;
    for (Spec& part : std::span(parts).subspan(written)) generated.emplace(part.name, Target{&part, ""});
    for (std::size_t i = 0; i < written; ++i) {
      const auto found = generated.find(parts[i].name);
      if (found == generated.end()) continue;
      gone[i] = true;
      auto& [part, changed_by] = found->second;
      if (!changed_by.empty()) {
        add(parts[i].pointer + "/name", "the name " + in_quotes(parts[i].name) + " is already that of " + changed_by,
            "give every host and switch a name of its own");
        continue;
      }
      changed_by = parts[i].pointer;
      set(*part, i);
    }
    return gone;
  }

  void set_host(HostSpec& host, std::size_t number) {
    const Json& entry = json_.at("hosts").at(number);
    const std::string pointer = join_pointer("/hosts", number);
    const std::vector<FurtherAdapterSpec> generated = host.further_adapters;
    host.further_adapters.clear();
    set(entry, table_of("hosts"), &host, pointer);
    // The n-th further adapter of the entry changes the n-th of the shape; surplus ones are added.
    const Object& table = *field_of(table_of("hosts"), "further_adapters").object;
    for (std::size_t i = 0; i < generated.size(); ++i) {
      if (i == host.further_adapters.size()) {
        host.further_adapters.push_back(generated[i]);
        continue;
      }
      const std::string at = join_pointer(pointer + "/further_adapters", i);
      FurtherAdapterSpec adapter = generated[i];
      set(entry.at("further_adapters").at(i), table, &adapter, at);
      if (adapter.device != generated[i].device) {
        add(at + "/device", "the cables of the shape know this adapter as " + in_quotes(generated[i].device),
            "leave the name out");
        adapter.device = generated[i].device;
      }
      host.further_adapters[i] = std::move(adapter);
    }
  }

  void set_switch(SwitchSpec& one, std::size_t number) {
    const std::uint32_t generated = one.ports;
    const std::string pointer = join_pointer("/switches", number);
    set(json_.at("switches").at(number), table_of("switches"), &one, pointer);
    if (one.ports >= generated) return;
    add(pointer + "/ports",
        "the shape gives " + in_quotes(one.name) + " " + std::to_string(generated) + " ports, and this is fewer",
        "leave \"ports\" out, or write more");
  }

  std::vector<bool> by_ends() {
    std::vector<bool> gone(written_.links);
    if (written_.links == 0) return gone;
    std::multimap<std::pair<std::string_view, std::string_view>, std::size_t> generated;  // by the names of both devices
    std::vector<std::pair<std::string, std::string>> ends;
    for (const LinkSpec& link : std::span(topology_.links).subspan(written_.links)) ends.emplace_back(link.a, link.b);
    for (std::size_t i = 0; i < ends.size(); ++i)
      generated.emplace(std::pair(split(ends[i].first).device, split(ends[i].second).device), written_.links + i);
    std::vector<bool> is_set(topology_.links.size());
    for (std::size_t i = 0; i < written_.links; ++i) {
      const std::string a = topology_.links[i].a, b = topology_.links[i].b;
      for (const bool is_turned : {false, true}) {
        const PortText first = split(is_turned ? b : a), second = split(is_turned ? a : b);
        const auto [begin, end] = generated.equal_range({first.device, second.device});
        for (auto next = begin; next != end; ++next) {
          const auto& [own_a, own_b] = ends[next->second - written_.links];
          if (is_set[next->second] || !names(first, split(own_a)) || !names(second, split(own_b))) continue;
          LinkSpec& link = topology_.links[next->second];
          set(json_.at("links").at(i), table_of("links"), &link, join_pointer("/links", i));
          link.a = is_turned ? own_b : own_a;
          link.b = is_turned ? own_a : own_b;
          is_set[next->second] = gone[i] = true;
        }
      }
    }
    refuse_taken_ports(ends, gone);
    return gone;
  }

  // A link of the file that overrides nothing must use ports without generated cables.
  void refuse_taken_ports(const std::vector<std::pair<std::string, std::string>>& generated, std::vector<bool>& gone) {
    std::map<std::string_view, std::string_view> far_ends;
    for (const auto& [a, b] : generated) far_ends.insert({{a, b}, {b, a}});
    for (std::size_t i = 0; i < gone.size(); ++i) {
      if (gone[i]) continue;
      const LinkSpec& link = topology_.links[i];
      for (const auto& [key, end] : {std::pair("a", link.a), std::pair("b", link.b)}) {
        const auto taken = far_ends.find(end);
        if (taken == far_ends.end()) continue;
        add(link.pointer + "/" + key, "the shape has a cable from " + in_quotes(end) + " to " + in_quotes(taken->second),
            "name both ends of that cable to change it, or use another port");
        gone[i] = true;
      }
    }
  }

  template <class Spec>
  static void erase(std::vector<Spec>& parts, const std::vector<bool>& gone) {
    std::size_t next = 0;
    std::erase_if(parts, [&](const Spec&) { return next < gone.size() ? gone[next++] : (++next, false); });
  }

  TopologySpec& topology_;
  const WrittenParts written_;
  const Json& json_;
  Diagnostics& diagnostics_;
};

}  // namespace

void apply_overrides(TopologySpec& topology, const WrittenParts& written, const Json& json, Diagnostics& diagnostics) {
  Overrides(topology, written, json, diagnostics).run();
}

}  // namespace verbatim::config
