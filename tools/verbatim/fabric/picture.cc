#include "tools/verbatim/fabric/picture.h"

#include <algorithm>
#include <map>
#include <set>

#include "sim/config/quantity.h"
#include "tools/verbatim/fabric/layout.h"

namespace verbatim::cli {

namespace {

// Lengths in SVG units, about a pixel each.
constexpr long kLetter = 7, kLine = 15, kPadding = 8, kGap = 14, kBetweenLayers = 110, kMargin = 20, kLegend = 190;
constexpr std::size_t kMostBoxes = 24;  // in a layer
constexpr const char* kColours[] = {"#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3", "#ede9fe", "#e5e7eb"};

std::string svg_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// 1024 is written 1,024.
std::string with_commas(std::size_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}
std::string count_text(std::size_t n, const char* one, const char* many) {
  return with_commas(n) + " " + (n == 1 ? one : many);
}

// "64 × 100 Gbps"
std::string cables_text(const std::map<std::int64_t, std::size_t>& rates) {
  std::string text;
  for (const auto& [rate, count] : rates)
    text +=
        (text.empty() ? "" : " + ") + with_commas(count) + " × " + config::format_quantity(rate, config::Dimension::kRate);
  return text;
}

struct Drawn {
  const FabricBox* box = nullptr;
  std::vector<std::string> lines;
  long x = 0, y = 0, width = 0, height = 0;  // of the upper left corner
  long middle() const { return x + width / 2; }
};

class Picture {
 public:
  explicit Picture(const config::TopologySpec& topology)
      : topology_(topology), layers_(topology), boxes_(boxes_of(layers_, kMostBoxes)), box_of_(layers_.size()) {
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      for (const std::size_t node : boxes_[i].nodes) box_of_[node] = i;
    }
    count_cables();
  }

  std::string draw() {
    for (const FabricBox& box : boxes_) {
      Drawn one{.box = &box, .lines = lines_of(box)};
      std::size_t longest = 0;
      for (const std::string& line : one.lines) longest = std::max(longest, letters(line));
      one.width = static_cast<long>(longest) * kLetter + 2 * kPadding;
      one.height = static_cast<long>(one.lines.size()) * kLine + 2 * kPadding;
      drawn_.push_back(std::move(one));
    }
    place();
    std::string body;
    for (const auto& [ends, rates] : cables_) body += line(drawn_[ends.first], drawn_[ends.second], rates);
    for (const Drawn& one : drawn_) body += text_of(one);
    body += legend();
    const std::string size = "width=\"" + std::to_string(width_) + "\" height=\"" + std::to_string(height_) + "\"";
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + " viewBox=\"0 0 " + std::to_string(width_) + " " +
           std::to_string(height_) + "\" font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"12\">\n<rect " + size +
           " fill=\"#ffffff\"/>\n" + "<text x=\"" + std::to_string(kMargin) + "\" y=\"" + std::to_string(kMargin + 8) +
           "\" font-size=\"16\" font-weight=\"bold\">" + svg_text(topology_.name) + "</text>\n" + body + "</svg>\n";
  }

 private:
  static std::size_t letters(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  }

  std::string name(std::size_t node) const {
    const std::size_t adapters = topology_.adapters.size();
    return node < adapters ? topology_.adapters[node].name : topology_.switches[node - adapters].name;
  }

  void count_cables() {
    for (std::size_t i = 0; i < layers_.cables().size(); ++i) {
      const auto [a, b] = layers_.cables()[i];
      const std::int64_t rate = config::bits_per_second(topology_.links[i].rate);
      const std::pair layers(layers_.layer(a), layers_.layer(b));
      ++between_[layers][rate];
      if (box_of_[a] == box_of_[b])
        ++inside_[box_of_[a]];
      else
        ++cables_[std::minmax(box_of_[a], box_of_[b])][rate];
    }
  }

  // Names of the box's nodes in natural order, and their number.
  std::vector<std::string> lines_of(const FabricBox& box) const {
    if (box.nodes.size() == 1) return {name(box.nodes.front())};
    std::vector<std::string> lines;
    std::set<std::size_t> hosts;
    const std::size_t adapters = topology_.adapters.size();
    for (const std::size_t node : box.nodes) {
      if (node < adapters) hosts.insert(topology_.adapters[node].host);
    }
    if (hosts.empty())
      lines.push_back(count_text(box.nodes.size(), "switch", "switches"));
    else
      lines.push_back(count_text(hosts.size(), "host", "hosts"));
    if (!hosts.empty() && hosts.size() != box.nodes.size())
      lines.push_back(count_text(box.nodes.size(), "adapter", "adapters"));
    lines.push_back(name(box.nodes.front()));
    if (box.nodes.size() > 2) lines.emplace_back("…");
    lines.push_back(name(box.nodes.back()));
    if (const std::size_t each = adapters_at_each(box); each > 0)
      lines.push_back(count_text(each, "adapter", "adapters") + " each");
    if (const auto inside = inside_.find(static_cast<std::size_t>(&box - boxes_.data())); inside != inside_.end())
      lines.push_back(count_text(inside->second, "cable inside", "cables inside"));
    return lines;
  }

  // Number of adapters at each switch of a box; 0 if there are none or the numbers differ.
  std::size_t adapters_at_each(const FabricBox& box) const {
    if (box.layer != 1) return 0;
    std::map<std::size_t, std::size_t> counts;
    for (const FabricLayers::Cable& cable : layers_.cables()) {
      if (layers_.layer(cable.a) == 0 && layers_.layer(cable.b) == 1) ++counts[cable.b];
    }
    const std::size_t first = counts[box.nodes.front()];
    return std::ranges::all_of(box.nodes, [&](std::size_t node) { return counts[node] == first; }) ? first : 0;
  }

  // Spreads each layer over the width of the widest one.
  void place() {
    std::map<std::size_t, std::pair<long, long>> sizes;  // width and height by layer
    std::map<std::size_t, long> counts;
    for (const Drawn& one : drawn_) {
      auto& [width, height] = sizes[one.box->layer];
      width += one.width + kGap;
      height = std::max(height, one.height);
      ++counts[one.box->layer];
    }
    long widest = 0;
    for (const auto& [layer, size] : sizes) widest = std::max(widest, size.first);
    width_ = kLegend + widest + 2 * kMargin;
    long y = kMargin + 30;
    for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
      tops_[it->first] = {y, it->second.second};
      y += it->second.second + kBetweenLayers;
    }
    height_ = y - kBetweenLayers + kMargin;
    std::map<std::size_t, long> next;
    for (Drawn& one : drawn_) {
      const std::size_t layer = one.box->layer;
      const long space = (widest - sizes[layer].first) / counts[layer];
      if (!next.contains(layer)) next[layer] = kMargin + kLegend + space / 2 + kGap / 2;
      one.x = next[layer];
      next[layer] += one.width + kGap + space;
      one.y = tops_[layer].first + (tops_[layer].second - one.height) / 2;
    }
  }

  static std::string number(long value) { return std::to_string(value); }

  // A line for cables, wider for more cables; an arc below the boxes if both ends are in one layer.
  static std::string line(const Drawn& a, const Drawn& b, const std::map<std::int64_t, std::size_t>& rates) {
    std::size_t count = 0;
    for (const auto& [rate, n] : rates) count += n;
    const Drawn &low = a.box->layer <= b.box->layer ? a : b, &high = &low == &a ? b : a;
    const bool is_level = low.box->layer == high.box->layer;
    std::string path = "M" + number(low.middle()) + " " + number(is_level ? low.y + low.height : low.y);
    if (is_level) {
      const long depth = low.y + low.height + std::min(kBetweenLayers - 20, 20 + std::abs(low.middle() - high.middle()) / 6);
      path += " C" + number(low.middle()) + " " + number(depth) + " " + number(high.middle()) + " " + number(depth) + " " +
              number(high.middle()) + " " + number(high.y + high.height);
    } else {
      path += " L" + number(high.middle()) + " " + number(high.y + high.height);
    }
    const char* const width = count >= 256 ? "5" : count >= 64 ? "4" : count >= 16 ? "3" : count >= 2 ? "2" : "1.2";
    return "<path d=\"" + path + "\" fill=\"none\" stroke=\"#64748b\" stroke-width=\"" + width + "\"><title>" +
           svg_text(cables_text(rates)) + "</title></path>\n";
  }

  static std::string text_of(const Drawn& one) {
    const std::string x = number(one.middle());
    const bool is_group = one.box->nodes.size() > 1;
    const char* const colour = kColours[std::min(one.box->layer, std::size(kColours) - 1)];
    std::string text;
    const auto rectangle = [&](long offset) {
      text += "<rect x=\"" + number(one.x + offset) + "\" y=\"" + number(one.y - offset) + "\" width=\"" +
              number(one.width) + "\" height=\"" + number(one.height) + "\" rx=\"4\" fill=\"" + colour +
              "\" stroke=\"#334155\"/>\n";
    };
    // Several nodes are drawn as a stack.
    if (is_group) rectangle(4);
    rectangle(0);
    for (std::size_t i = 0; i < one.lines.size(); ++i) {
      text += "<text x=\"" + x + "\" y=\"" + number(one.y + kPadding + static_cast<long>(i + 1) * kLine - 3) +
              "\" text-anchor=\"middle\"" + (is_group && i == 0 ? " font-weight=\"bold\"" : "") + ">" +
              svg_text(one.lines[i]) + "</text>\n";
    }
    return text;
  }

  // On the left: the kind of each layer, and the cables below it.
  std::string legend() const {
    std::string text;
    const auto put = [&](long y, const std::string& line, const char* style) {
      text += "<text x=\"" + number(kMargin) + "\" y=\"" + number(y) + "\" " + style + ">" + svg_text(line) + "</text>\n";
    };
    for (const auto& [layer, place] : tops_) {
      std::size_t nodes = 0;
      for (const FabricBox& box : boxes_) nodes += box.layer == layer ? box.nodes.size() : 0;
      const std::string what = layer > 0 ? count_text(nodes, "switch", "switches")
                               : topology_.hosts.size() == topology_.adapters.size()
                                   ? count_text(nodes, "host", "hosts")
                                   : count_text(nodes, "adapter", "adapters");
      put(place.first + place.second / 2 + 4, what, "font-weight=\"bold\"");
    }
    std::map<std::size_t, long> lines;
    for (const auto& [layers, rates] : between_) {
      const auto [low, high] = layers;
      // Placed between both layers; for cables within a layer below it; for cables that skip a layer above
      // the lower one.
      const long under = tops_.at(low == high ? low : low + 1).first + tops_.at(low == high ? low : low + 1).second;
      const std::string what = low == high ? " in one layer" : high == low + 1 ? "" : " past a layer";
      const std::size_t below = low == high ? low : low + 1;
      put(under + 30 + 16 * lines[below]++, cables_text(rates) + what, "fill=\"#475569\"");
    }
    return text;
  }

  const config::TopologySpec& topology_;
  const FabricLayers layers_;
  const std::vector<FabricBox> boxes_;
  std::vector<std::size_t> box_of_;  // by node
  std::map<std::pair<std::size_t, std::size_t>, std::map<std::int64_t, std::size_t>>
      cables_;  // between boxes: how many of each rate
  std::map<std::pair<std::size_t, std::size_t>, std::map<std::int64_t, std::size_t>> between_;  // between layers
  std::map<std::size_t, std::size_t> inside_;                                                   // cables by box
  std::vector<Drawn> drawn_;                                                                    // parallel to boxes_
  std::map<std::size_t, std::pair<long, long>> tops_;  // by layer: distance from the top, and height
  long width_ = 0, height_ = 0;
};

}  // namespace

std::string picture_of(const config::TopologySpec& topology) { return Picture(topology).draw(); }

std::string dot_of(const config::TopologySpec& topology) {
  const FabricLayers layers(topology);
  const auto node = [&](const config::Endpoint& end) { return "\"" + topology.node_name(end) + "\""; };
  std::string text = "graph \"" + topology.name + "\" {\n  rankdir=BT;\n  node [fontname=\"sans-serif\"];\n";
  for (const config::AdapterSpec& adapter : topology.adapters) text += "  \"" + adapter.name + "\" [shape=ellipse];\n";
  for (const config::SwitchSpec& one : topology.switches) text += "  \"" + one.name + "\" [shape=box];\n";
  for (std::size_t layer = 0; layer <= layers.top(); ++layer) {
    text += "  { rank=same;";
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers.layer(i) != layer) continue;
      const std::size_t adapters = topology.adapters.size();
      text += " \"" + (i < adapters ? topology.adapters[i].name : topology.switches[i - adapters].name) + "\";";
    }
    text += " }\n";
  }
  for (const config::LinkSpec& link : topology.links) {
    text += "  " + node(link.end_a) + " -- " + node(link.end_b) + " [taillabel=\"" + std::to_string(link.end_a.port) +
            "\", headlabel=\"" + std::to_string(link.end_b.port) + "\", label=\"" +
            config::format_quantity(config::bits_per_second(link.rate), config::Dimension::kRate) + "\"];\n";
  }
  return text + "}\n";
}

}  // namespace verbatim::cli
