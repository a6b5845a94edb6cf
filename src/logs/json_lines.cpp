#include "logs/json_lines.hpp"

#include <simdjson.h>

#include <algorithm>

#include "core/printable.hpp"
#include "logs/member_tree.hpp"

namespace weir::inline v0_1::logs {
namespace {

using simdjson::SUCCESS;
namespace ondemand = simdjson::ondemand;

constexpr std::string_view kNotAnObject = "the line is not a JSON object";
constexpr std::size_t kMostFields = 200;
constexpr std::size_t kMostElements = 3;   // of an array, among the fields that are told
constexpr std::size_t kLongestName = 256;  // of those

// As the log spells a number or a truth.
std::string_view token_of(ondemand::value& value) {
  const std::string_view token = value.raw_json_token();
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

bool is_token(ondemand::json_type type) {
  return type == ondemand::json_type::number || type == ondemand::json_type::boolean;
}

// nginx writes what a client sends, which need not be UTF-8: each such byte as the text \xNN.
void escape_bytes(std::string_view line, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.clear();
  while (!line.empty()) {
    const std::size_t size = core::character_at(line).size;
    if (size > 0) {
      out += line.substr(0, size);
    } else {
      const auto byte = static_cast<unsigned char>(line[0]);
      out += {'\\', '\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    line.remove_prefix(size > 0 ? size : 1);
  }
}

class JsonLines final : public Splitter {
 public:
  explicit JsonLines(const std::vector<Slot>& slots)
      : slots_(slots), request_slot_(slots.size()), found_(slots.size() + 1) {
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      for (std::size_t rank = 0; rank < slots[slot].names.size(); ++rank)
        wanted_.add(slots[slot].names[rank], {slot, rank});
      if (request_part(slots[slot]) != nullptr) parts_.emplace_back(slot, request_part(slots[slot]));
    }
    if (!parts_.empty()) wanted_.add("request", {request_slot_, 0});
  }

  std::string_view split(std::string_view line, std::span<std::string_view> values) override {
    std::fill(found_.begin(), found_.end(), kNone);
    std::fill(values.begin(), values.end(), std::string_view{});
    values_ = values;
    ondemand::document document;
    ondemand::object object;
    if (!open(line, document, object) || !walk(object, wanted_) ||
        document.current_location().error() != simdjson::OUT_OF_BOUNDS)
      return kNotAnObject;
    for (const auto& [slot, part] : parts_) {
      if (found_[slot] == kNone && found_[request_slot_] != kNone) values[slot] = request_of(request_).*part;
    }
    return "";
  }

  std::vector<LineField> fields(std::string_view line) override {
    std::vector<LineField> all;
    ondemand::document document;
    ondemand::object object;
    if (open(line, document, object)) list(object, "", all);
    add_request_parts(all);
    return all;
  }

 private:
  bool open(std::string_view line, ondemand::document& document, ondemand::object& object) {
    const simdjson::padded_string_view padded(line.data(), line.size(),
                                              line.size() + simdjson::SIMDJSON_PADDING);
    simdjson::error_code error = parser_.iterate(padded).get(document);
    if (error == simdjson::UTF8_ERROR) {
      escape_bytes(line, escaped_);
      escaped_.reserve(escaped_.size() + simdjson::SIMDJSON_PADDING);
      error = parser_.iterate(escaped_).get(document);
    }
    return error == SUCCESS && document.get_object().get(object) == SUCCESS;
  }

  // Visits every member, because names come in any order; descends only where a wanted name leads.
  bool walk(ondemand::object& object, const MemberTree& tree) {
    for (auto member : object) {
      std::string_view name;
      ondemand::value value;
      ondemand::json_type type{};
      if (member.unescaped_key().get(name) != SUCCESS || member.value().get(value) != SUCCESS ||
          value.type().get(type) != SUCCESS)
        return false;
      const MemberTree* const wanted = tree.member(name);
      if (wanted != nullptr && !take(value, type, *wanted)) return false;
    }
    return true;
  }

  // Null is not taken.
  bool take(ondemand::value& value, ondemand::json_type type, const MemberTree& wanted) {
    if (type == ondemand::json_type::object) {
      ondemand::object inner;
      if (!wanted.has_members()) return true;
      return value.get_object().get(inner) == SUCCESS && walk(inner, wanted);
    }
    if (type == ondemand::json_type::array) return wanted.elements().empty() || take_elements(value, wanted);
    std::string_view text;
    if (type == ondemand::json_type::string) {
      if (wanted.targets().empty() && wanted.elements().empty()) return true;
      if (value.get_string().get(text) != SUCCESS) return false;
    } else if (is_token(type)) {
      text = token_of(value);
    } else {
      return true;
    }
    take_text(text, wanted);
    return true;
  }

  bool take_elements(ondemand::value& value, const MemberTree& wanted) {
    ondemand::array array;
    std::size_t count = 0;
    if (value.get_array().get(array) != SUCCESS || array.count_elements().get(count) != SUCCESS) return false;
    std::size_t at = 0;
    for (auto each : array) {
      ondemand::value element;
      ondemand::json_type type{};
      if (each.get(element) != SUCCESS || element.type().get(type) != SUCCESS) return false;
      for (const MemberTree::Element& one : wanted.elements()) {
        const auto from_end = static_cast<std::size_t>(-static_cast<std::ptrdiff_t>(one.index));
        if (one.index >= 0 ? static_cast<std::size_t>(one.index) != at : from_end != count - at) continue;
        if (!take(element, type, *one.tree)) return false;
        break;  // a value can be read once
      }
      ++at;
    }
    return true;
  }

  void take_text(std::string_view text, const MemberTree& wanted) {
    for (const MemberTree::Target& target : wanted.targets()) {
      const std::size_t rank =
          target.slot == request_slot_ ? 0 : slots_[target.slot].rank_of(target.rank, text);
      if (found_[target.slot] != kNone && found_[target.slot] <= rank) continue;
      found_[target.slot] = rank;
      // Not a null view, which would be no value.
      (target.slot == request_slot_ ? request_ : values_[target.slot]) =
          text.data() == nullptr ? std::string_view("") : text;
    }
    for (const MemberTree::Element& one : wanted.elements()) {
      const std::string_view element = element_of(text, one.index);
      if (element.data() != nullptr) take_text(element, *one.tree);
    }
  }

  // As many as there are up to a bound, in their order.
  bool list(ondemand::object& object, const std::string& prefix, std::vector<LineField>& all) {
    for (auto member : object) {
      std::string_view name;
      ondemand::value value;
      if (member.unescaped_key().get(name) != SUCCESS || member.value().get(value) != SUCCESS) return false;
      if (prefix.size() + name.size() > kLongestName) continue;
      if (!list(value, prefix + std::string(name), all)) return false;
    }
    return true;
  }

  bool list(ondemand::value& value, const std::string& name, std::vector<LineField>& all) {
    ondemand::json_type type{};
    if (all.size() >= kMostFields || value.type().get(type) != SUCCESS) return false;
    if (type == ondemand::json_type::object) {
      ondemand::object inner;
      return value.get_object().get(inner) == SUCCESS && list(inner, name + ".", all);
    }
    if (type == ondemand::json_type::array) {
      ondemand::array array;
      std::size_t at = 0;
      if (value.get_array().get(array) != SUCCESS) return false;
      for (auto each : array) {
        ondemand::value element;
        if (each.get(element) != SUCCESS) return false;
        if (at < kMostElements && !list(element, name + "[" + std::to_string(at) + "]", all)) return false;
        ++at;
      }
      return true;
    }
    std::string_view text;
    if (type == ondemand::json_type::string) {
      if (value.get_string().get(text) != SUCCESS) return false;
    } else if (is_token(type)) {
      text = token_of(value);
    } else {
      return true;
    }
    all.push_back({name, std::string(text)});
    return true;
  }

  const std::vector<Slot> slots_;
  std::size_t request_slot_;  // our own, of the member from which
  std::vector<std::pair<std::size_t, std::string_view RequestLine::*>> parts_;  // these slots are taken
  std::string_view request_;
  std::string escaped_;
  MemberTree wanted_;
  ondemand::parser parser_;
  std::vector<std::size_t> found_;  // the rank of the name under which each slot's value was found
  std::span<std::string_view> values_;
};

}  // namespace

bool fits_json(std::string_view line) {
  return line.starts_with('{') && JsonLines({}).split(line, {}).empty();
}

std::unique_ptr<Splitter> make_json(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<JsonLines>(slots);
}

}  // namespace weir::logs
