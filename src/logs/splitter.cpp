#include "logs/splitter.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/address.hpp"
#include "core/number.hpp"
#include "logs/known_names.hpp"

namespace weir::inline v0_1::logs {
namespace {

// The name of a client's field that may be an application's.
constexpr std::string_view kApplication = "client";

bool digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == kNone) return text.substr(0, 0);
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

}  // namespace

std::string_view take_word(std::string_view& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
  const std::size_t end = std::min(rest.find(' ', begin), rest.size());
  const std::string_view found = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return found;
}

std::string_view take_quoted(std::string_view& rest) {
  std::size_t end = 1;
  for (;;) {
    end = rest.find('"', end);
    if (end == kNone) return {};
    std::size_t escapes = 0;
    while (rest[end - 1 - escapes] == '\\') ++escapes;
    if (escapes % 2 == 0) break;
    ++end;
  }
  const std::string_view found = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return found;
}

std::string_view element_of(std::string_view list, int n) {
  if (n >= 0) {
    for (; n > 0; --n) {
      const std::size_t comma = list.find(',');
      if (comma == kNone) return {};
      list.remove_prefix(comma + 1);
    }
    return trimmed(list.substr(0, list.find(',')));
  }
  for (; n < -1; ++n) {
    const std::size_t comma = list.rfind(',');
    if (comma == kNone) return {};
    list = list.substr(0, comma);
  }
  const std::size_t comma = list.rfind(',');
  return trimmed(comma == kNone ? list : list.substr(comma + 1));
}

std::pair<std::string_view, std::optional<int>> element_name(std::string_view name) {
  const std::size_t bracket = name.rfind('[');
  if (!name.ends_with(']') || bracket == kNone || bracket == 0) return {name, std::nullopt};
  const std::string_view number = name.substr(bracket + 1, name.size() - bracket - 2);
  const auto n = core::number_in<int>(number);
  if (!n || number.size() > 5) return {name, std::nullopt};
  return {name.substr(0, bracket), n};
}

std::string_view without_port(std::string_view address) {
  if (address.starts_with('[')) {
    const std::size_t close = address.find(']');
    if (close == kNone) return address;
    const std::string_view after = address.substr(close + 1);
    const bool port = after.empty() || (after.size() > 1 && after[0] == ':' && digits(after.substr(1)));
    return port ? address.substr(1, close - 1) : address;
  }
  const std::size_t colon = address.find(':');
  if (colon == kNone || colon == 0 || colon + 1 == address.size() || address.size() - colon > 6)
    return address;
  return digits(address.substr(colon + 1)) ? address.substr(0, colon) : address;
}

bool is_an_address(std::string_view text) { return core::is_address(without_port(text)); }

RequestLine request_of(std::string_view line) {
  RequestLine request;
  request.method = take_word(line);
  request.path = take_word(line);
  request.protocol = take_word(line);
  return request;
}

std::string_view RequestLine::* request_part(const Slot& slot) {
  for (const std::string& name : slot.names) {
    if (name == "method") return &RequestLine::method;
    if (name == "path") return &RequestLine::path;
    if (name == "protocol") return &RequestLine::protocol;
  }
  return nullptr;
}

void add_request_parts(std::vector<LineField>& fields) {
  const auto there = [&fields](const std::string& name) {
    return std::find_if(fields.begin(), fields.end(),
                        [&](const LineField& each) { return each.name == name; });
  };
  const auto request = there("request");
  if (request == fields.end()) return;
  const std::string line = request->value;
  const RequestLine parts = request_of(line);
  for (const auto& [name, part] :
       {std::pair{"method", parts.method}, {"path", parts.path}, {"protocol", parts.protocol}}) {
    const std::vector<std::string> names = names_of(name);
    const bool has = std::any_of(names.begin(), names.end(),
                                 [&](const std::string& each) { return there(each) != fields.end(); });
    if (!has) fields.push_back({name, std::string(part)});
  }
}

std::size_t Slot::rank_of(std::size_t n, std::string_view value) const {
  return names[n] == kApplication && !is_an_address(value) ? names.size() : n;
}

Places::Place Places::place_of(const Slot& slot, const std::vector<std::string>& names) {
  const auto find = [&names](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  };
  Place place;
  bool may_give_way = false;
  for (const std::string& name : slot.names) {
    if (may_give_way) {
      place.instead = find(name);
    } else if ((place.field = find(name))) {
      may_give_way = name == kApplication;
      if (!may_give_way) return place;
    } else if (const auto [list, element] = element_name(name); element) {
      place = {find(list), element, nullptr, {}};
      if (place.field) return place;
    }
    if (place.instead) return place;
  }
  if (!place.field && request_part(slot) != nullptr) return {find("request"), {}, request_part(slot), {}};
  return place;
}

Places::Places(const std::vector<Slot>& slots, const std::vector<std::string>& names) {
  for (const Slot& slot : slots) {
    const Place place = place_of(slot, names);
    if (!place.field && slot.required) throw std::runtime_error(no_such_field(slot, names));
    for (const auto& field : {place.field, place.instead}) {
      if (field && *field >= wanted_.size()) wanted_.resize(*field + 1);
      if (field) wanted_[*field] = true;
    }
    places_.push_back(place);
  }
}

void Places::fill(std::span<const std::string_view> fields, std::span<std::string_view> values) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    std::string_view value = place.field ? fields[*place.field] : std::string_view{};
    if (place.instead && !is_an_address(value)) value = fields[*place.instead];
    if (place.part != nullptr && value.data() != nullptr) value = request_of(value).*place.part;
    values[i] = place.element && value.data() != nullptr ? element_of(value, *place.element) : value;
  }
}

std::string listed_fields(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 400;
  std::string all;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    if (all.size() + name.size() > kMostListed) {
      all += ", ...";
      break;
    }
    all += (all.empty() ? "" : ", ") + name;
  }
  return all;
}

std::string no_such_field(const Slot& slot, const std::vector<std::string>& names) {
  const std::string all = listed_fields(names);
  return "there is no field " + slot.asked + " (" + slot.flag + " chooses another)" +
         (all.empty() ? "" : "; the fields are " + all);
}

}  // namespace weir::logs
