// The keys of one limit: what each is called, how it is read, and what is told of it. Another key is a member
// of NamedLimit and a row here. What a limit says of others is judged when all have been read
// (limits/judge.hpp).
//
// One thread; the rows are for any.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "limits/file_field.hpp"

namespace weir::inline v0_1::limits {

// `field` is the map below the limit's name; all names of limits are known already.
NamedLimit read_limit(Context& context, const std::string& name, const FileField& field);

// A limit while it is read, in the order of the rows.
struct LimitReading {
  NamedLimit limit{};
  bool windows_right = true;
};

struct LimitKey {
  FileKey key;
  void (*read)(Context& context, const FileField& field, LimitReading& reading);
  bool of_rate = false;  // it says something about a burst
  bool of_gcra = false;  // the other algorithms cannot do it
  // What `weir diff` compares, and where it stands; without a place, that of the limit. Null: it is told in a
  // way of its own.
  std::string (*said)(const File& file, const NamedLimit& limit) = nullptr;
  Position (*place)(const NamedLimit& limit) = nullptr;
  // Visits the conditions in it, whose lists tests have to meet.
  using Visit = std::function<void(const When&)>;
  void (*whens)(const NamedLimit& limit, const Visit& visit) = nullptr;
};
std::span<const LimitKey> limit_keys();

struct OverrideKey {
  FileKey key;
  void (*read)(Context& context, const FileField& field, const LimitReading& of, Override& change);
  bool of_gcra = false;
};
std::span<const OverrideKey> override_keys();

}  // namespace weir::limits
