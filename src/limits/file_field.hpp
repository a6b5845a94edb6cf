// A value of a limits file with what messages call it; and what all parts of the reader share.
//
// One thread. A Field belongs to the document that it came from.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "limits/document.hpp"
#include "limits/file.hpp"
#include "limits/file_keys.hpp"
#include "limits/findings.hpp"
#include "limits/read.hpp"

namespace weir::inline v0_1::limits {

struct FileField {
  const YamlNode* node = nullptr;  // null: the key was not written
  std::string path{};
  Position key{};                  // of its key; of an item: its own
  FileRule rule = FileRule::form;  // that it breaks when it means nothing

  explicit operator bool() const { return node != nullptr; }
  const std::string& text() const { return node->text; }
  Position place() const { return node->place; }
};

// Names, each with its index.
class KnownNames {
 public:
  Index find(const std::string& name) const {
    const auto at = index_.find(name);
    return at == index_.end() ? kNone : at->second;
  }
  void add(const std::string& name) {
    index_.emplace(name, static_cast<Index>(all_.size()));
    all_.push_back(name);
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
  std::unordered_map<std::string, Index> index_;
};

struct Context {
  const ReadOptions& options;
  File& file;
  Findings& findings;
  KnownNames classes{};
  KnownNames lists{};
  KnownNames limits{};
  KnownNames attributes{};     // where the file names them all
  bool classes_wrong = false;  // and told: what names one is not judged

  void error(FileRule rule, const FileField& field, std::string text) {
    findings.error(rule, field.place(), field.path, std::move(text));
  }
  void error_at_key(FileRule rule, const FileField& field, std::string text) {
    findings.error(rule, field.key, field.path, std::move(text));
  }
};

// Each of these is false when the value is something else, of which the findings are told.
bool is_text(Context& context, const FileField& field);
bool is_list(Context& context, const FileField& field);
bool is_map(Context& context, const FileField& field);

std::vector<FileField> items_of(const FileField& list);
std::vector<FileField> members_of(const FileField& map);
// The texts of a list, or a text as a list of one. Other items are told and left out.
std::vector<FileField> texts_of(Context& context, const FileField& field);

// A map whose keys are known: others are told. `field` is a map.
class Map {
 public:
  Map(Context& context, const FileField& field, FileKeys known);
  FileField operator[](std::string_view key) const;  // false when it was not written
  // It has an unknown key, which may be meant to be one that is missing.
  bool has_unknown() const { return has_unknown_; }

 private:
  const FileField& field_;
  FileKeys known_;
  bool has_unknown_ = false;
};

// Whether it is the name of an attribute, and of one that the file knows; told when it is not.
bool judge_attribute(Context& context, const FileField& field, Position place, const std::string& name);

// The name in a text, as an index; kNone and told when it is not one of `names`. `what`: "limit".
Index find_name(Context& context, const FileField& field, const KnownNames& names, std::string_view what);

// What a text means by one of the functions of limits/scalars.hpp; told when it means nothing, and
// `value` is then as it was. False then too.
template <class AttributeValue, class Reader>
bool read_text(Context& context, const FileField& field, AttributeValue& value, Reader reader) {
  if (!is_text(context, field)) return false;
  auto read = reader(field.text());
  if (read) {
    value = *read;
    return true;
  }
  context.error(field.rule, field, read.error());
  return false;
}

}  // namespace weir::limits
