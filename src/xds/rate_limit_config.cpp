#include "xds/rate_limit_config.hpp"

#include <exception>
#include <map>
#include <utility>

#include "limits/descriptors.hpp"
#include "xds/wire.hpp"

namespace weir::inline v0_1::xds {
namespace {

using limits::Descriptor;
using limits::DescriptorLimit;
using limits::Metadata;
using protozero::pbf_reader;

// google.protobuf.Value, by its kind.
enum Kind : std::uint8_t { kNull = 1, kNumber = 2, kString = 3, kBool = 4, kStruct = 5, kList = 6 };

// As the YAML has it: a name, or a number that the compiler refuses.
std::string unit_text(std::uint64_t number) {
  if (number < limits::kRateUnits) return std::string(name_of(static_cast<limits::RateUnit>(number)));
  return std::to_string(static_cast<std::int32_t>(number));
}

// Of a field that comes twice the last counts; messages are merged.
class ConfigReader {
 public:
  limits::Domain read(std::string_view message) {
    limits::Domain domain;
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case field(1, kBytes):
          domain.file = text_of(reader);
          break;
        case field(2, kBytes):
          domain.domain = text_of(reader);
          break;
        case field(3, kBytes):
          read(view_of(reader), domain.descriptors.emplace_back());
          break;
        default:
          reader.skip();
      }
    }
    return domain;
  }

 private:
  // Counts what is kept, and how deep it is.
  class Inside {
   public:
    explicit Inside(ConfigReader& of) : of_(of) {
      if (++of_.parts_ > kMostParts)
        throw std::runtime_error("more than " + std::to_string(kMostParts) + " descriptors and values");
      // The first that is too deep is kept: the compiler says where it is.
      if (++of_.depth_ > limits::kDeepestDescriptor + 1)
        throw std::runtime_error("messages in each other, more than " +
                                 std::to_string(limits::kDeepestDescriptor) + " deep");
    }
    ~Inside() { --of_.depth_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    ConfigReader& of_;
  };

  void read(std::string_view message, Descriptor& into) {
    const Inside inside(*this);
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case field(1, kBytes):
          into.key = text_of(reader);
          break;
        case field(2, kBytes):
          into.value = text_of(reader);
          break;
        case field(3, kBytes):
          if (!into.limit) into.limit.emplace().unit = unit_text(0);
          read(view_of(reader), *into.limit);
          break;
        case field(4, kBytes):
          read(view_of(reader), into.descriptors.emplace_back());
          break;
        case field(5, kVarint):
          into.shadow_mode = reader.get_uint64() != 0;
          break;
        case field(6, kVarint):
          into.detailed_metric = reader.get_uint64() != 0;
          break;
        case field(7, kVarint):
          into.quota_mode = reader.get_uint64() != 0;
          break;
        case field(8, kBytes):
          read_struct(view_of(reader), into.metadata);
          break;
        default:
          reader.skip();
      }
    }
  }

  void read(std::string_view message, DescriptorLimit& into) {
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case field(1, kVarint):
          into.unit = unit_text(reader.get_uint64());
          break;
        case field(2, kVarint):
          into.requests_per_unit = reader.get_uint32();
          break;
        case field(3, kVarint):
          into.unlimited = reader.get_uint64() != 0;
          break;
        case field(4, kBytes):
          into.name = text_of(reader);
          break;
        case field(5, kBytes):
          read_name(view_of(reader), into.replaces.emplace_back());
          break;
        default:
          reader.skip();
      }
    }
  }

  void read_name(std::string_view message, std::string& into) {
    const Inside inside(*this);
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      if (reader.tag_and_type() == field(1, kBytes)) {
        into = text_of(reader);
      } else {
        reader.skip();
      }
    }
  }

  // A google.protobuf.Struct.
  void read_struct(std::string_view message, Metadata& into) {
    if (into.kind != Metadata::Kind::map) into = {.kind = Metadata::Kind::map, .name = std::move(into.name)};
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      if (reader.tag_and_type() == field(1, kBytes)) {
        read_entry(view_of(reader), into.fields.emplace_back());
      } else {
        reader.skip();
      }
    }
    // In order, and of one name the last.
    std::map<std::string, Metadata> by_name;
    for (Metadata& each : into.fields) by_name.insert_or_assign(each.name, std::move(each));
    into.fields.clear();
    for (auto& [name, field] : by_name) into.fields.push_back(std::move(field));
  }

  void read_entry(std::string_view message, Metadata& into) {
    const Inside inside(*this);
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case field(1, kBytes):
          into.name = text_of(reader);
          break;
        case field(2, kBytes):
          read_value(view_of(reader), into);
          break;
        default:
          reader.skip();
      }
    }
  }

  // A google.protobuf.Value: of several kinds the last counts.
  void read_value(std::string_view message, Metadata& into) {
    const auto become = [&into](Metadata::Kind kind) { into = {.kind = kind, .name = std::move(into.name)}; };
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case field(kNull, kVarint):
          reader.skip();
          become(Metadata::Kind::null);
          break;
        case field(kNumber, kFixed64):
          become(Metadata::Kind::number);
          into.number = reader.get_double();
          break;
        case field(kString, kBytes):
          become(Metadata::Kind::text);
          into.text = text_of(reader);
          break;
        case field(kBool, kVarint):
          become(Metadata::Kind::boolean);
          into.boolean = reader.get_uint64() != 0;
          break;
        case field(kStruct, kBytes):
          read_struct(view_of(reader), into);
          break;
        case field(kList, kBytes):
          if (into.kind != Metadata::Kind::list) become(Metadata::Kind::list);
          read_list(view_of(reader), into);
          break;
        default:
          reader.skip();
      }
    }
  }

  void read_list(std::string_view message, Metadata& into) {
    pbf_reader reader = reader_of(message);
    while (reader.next()) {
      if (reader.tag_and_type() == field(1, kBytes)) {
        const Inside inside(*this);
        read_value(view_of(reader), into.list.emplace_back());
      } else {
        reader.skip();
      }
    }
  }

  std::size_t parts_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

tl::expected<limits::Domain, std::string> read_rate_limit_config(std::string_view message) {
  try {
    return ConfigReader().read(message);
  } catch (const protozero::exception&) {
    return tl::unexpected(std::string("it is not a RateLimitConfig: the message is malformed"));
  } catch (const std::exception& error) {
    return tl::unexpected("it is not used: " + std::string(error.what()));
  }
}

}  // namespace weir::xds
