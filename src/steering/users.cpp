#include "steering/users.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "limits/file_field.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::steering {
namespace {

using limits::FileField;
using limits::FileKey;

constexpr std::array kTop = {FileKey{"users"}};
constexpr std::array kUser = {FileKey{"role"}, FileKey{"password"}, FileKey{"token"}, FileKey{"certificate"},
                              FileKey{"until"}};
// A users file has none of a limits file's rules.
constexpr limits::FileRule kRule = limits::FileRule::none;

constexpr std::size_t kMostName = 64;
constexpr std::size_t kMostCertificate = 64;  // X.520's bound of a common name
constexpr std::string_view kDigest = "sha256:";

// A name stands in CLIENT LIST, in the log, and before the colon of Basic. Empty, or what is wrong.
std::string wrong_user(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._@-").find(c) != std::string_view::npos;
  };
  if (name.empty() || name.size() > kMostName || name.front() == '-' ||
      !std::all_of(name.begin(), name.end(), allowed))
    return "is not a user's name: 1 to 64 letters, digits, '.', '_', '@' and '-', which is not the first";
  return name == "file" ? "is not a user's name: the audit calls the files so" : "";
}

bool is_digest(std::string_view text) {
  if (!text.starts_with(kDigest)) return false;
  text.remove_prefix(kDigest.size());
  return text.size() == 2 * core::Sha256{}.size() && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

// What was written is told only where it cannot be a secret: somebody may have written a password in its
// place.
class Users::Reader {
 public:
  Reader(Users& users, const Reading& reading, limits::Findings& findings)
      : users_(users), reading_(reading), options_{.now = reading.now}, context_{options_, file_, findings} {}

  void read(const limits::YamlNode& document) {
    const FileField whole{&document, "", {1, 1}};
    if (document.kind == limits::YamlNode::Kind::nothing)
      return context_.findings.error(kRule, {1, 1}, "", "is empty; a file without users says users: {}");
    if (document.kind == limits::YamlNode::Kind::refused || !limits::is_map(context_, whole)) return;
    const limits::Map map(context_, whole, kTop);
    const FileField users = map["users"];
    if (!users) {
      if (!map.has_unknown()) context_.findings.error(kRule, {1, 1}, "users", "missing");
      return;
    }
    if (!limits::is_map(context_, users)) return;
    for (std::size_t i = 0; const FileField& each : limits::members_of(users))
      read_user(users.node->members[i++].key, each);
    users_.find_decoys();
  }

 private:
  void read_user(const std::string& name, const FileField& field) {
    if (std::string wrong = wrong_user(name); !wrong.empty())
      return context_.error_at_key(kRule, field, std::move(wrong));
    if (name == reading_.taken)
      return context_.error_at_key(kRule, field, "is the --user whose password is --password");
    if (field.node->kind != limits::YamlNode::Kind::map)
      return context_.error_at_key(kRule, field,
                                   "is not a map, as in { role: operate, token: \"sha256:...\" }");
    const limits::Map map(context_, field, kUser);
    User user{.name = name};
    read_role(field, map["role"], user);
    if (const FileField password = map["password"]) read_password(password, user);
    if (const FileField token = map["token"]) read_token(token, user);
    if (const FileField certificate = map["certificate"]) read_certificate(certificate, user);
    if (const FileField until = map["until"]) read_until(until, user);
    if (!map["password"] && !map["token"] && !map["certificate"])
      context_.error_at_key(kRule, field,
                            "shows nothing to be known by: give password, token or certificate");
    users_.by_name_.emplace(name, users_.users_.size());
    users_.users_.push_back(std::move(user));
  }

  void read_role(const FileField& user, const FileField& field, User& to) {
    if (!field) return context_.error_at_key(kRule, user, "missing role: decide, operate or admin");
    if (!limits::is_text(context_, field)) return;
    const auto role = steering::read_role(field.text());
    if (!role)
      return context_.error(kRule, field,
                            limits::in_quotes(field.text()) + " is not a role: decide, operate or admin");
    to.role = *role;
  }

  void read_password(const FileField& field, User& to) {
    if (!limits::is_text(context_, field)) return;
    auto hash = PasswordHash::parse(field.text());
    if (!hash) return context_.error(kRule, field, hash.error());
    if (hash->is_weak())
      context_.findings.warn(kRule, field.place(), field.path,
                             "a guess at it costs less than at those of `weir ctl hash`");
    to.password = field.text();
    to.hash = *std::move(hash);
  }

  void read_token(const FileField& field, User& to) {
    if (!limits::is_text(context_, field)) return;
    if (!is_digest(field.text()))
      return context_.error(kRule, field,
                            "is not sha256: and the 64 hexadecimal digits of a token's SHA-256; `weir ctl "
                            "token` makes one");
    add(field, users_.by_token_, "is the token of ");
    to.token = field.text();
  }

  void read_certificate(const FileField& field, User& to) {
    if (!limits::is_text(context_, field)) return;
    if (!reading_.certificates)
      return context_.error_at_key(kRule, field,
                                   "names nobody without --tls-ca: no client shows a certificate");
    if (field.text().empty() || field.text().size() > kMostCertificate)
      return context_.error(kRule, field, "is not a certificate's common name, of 1 to 64 bytes");
    add(field, users_.by_certificate_, "is the certificate of ");
    to.certificate = field.text();
  }

  // One that two have would name either.
  void add(const FileField& field, ByText& all, const char* what) {
    const auto [other, fresh] = all.emplace(field.text(), users_.users_.size());
    if (!fresh)
      context_.error(kRule, field, what + limits::in_quotes(users_.users_[other->second].name) + " too");
  }

  void read_until(const FileField& field, User& to) {
    limits::Time until{};
    if (!limits::read_text(context_, field, until, limits::read_time)) return;
    if (until <= reading_.now)
      context_.findings.warn(kRule, field.place(), field.path,
                             limits::to_text(until) + " is past: they may nothing");
    to.until = until;
  }

  Users& users_;
  const Reading& reading_;
  limits::ReadOptions options_;
  limits::File file_;
  limits::Context context_;
};

std::shared_ptr<const Users> Users::read(std::string_view text, const Reading& reading,
                                         std::vector<limits::Finding>& told) {
  limits::Findings findings(reading.name);
  const auto users = std::make_shared<Users>();
  const limits::YamlNode document = limits::read_document(text, findings, {.bytes = kMostBytes});
  Reader(*users, reading, findings).read(document);
  const bool refused = findings.has_errors();
  told = findings.take();
  return refused ? nullptr : users;
}

const User* Users::find(const ByText& in, std::string_view text) const {
  const auto found = in.find(text);
  return found == in.end() ? nullptr : &users_[found->second];
}

void Users::find_decoys() {
  for (const User& each : users_) {
    if (each.hash) decoys_.push_back(&each);
  }
  if (decoys_.empty()) return;
  secret_ = decoys_.front()->password;
  std::sort(decoys_.begin(), decoys_.end(),
            [](const User* a, const User* b) { return a->hash->steps() < b->hash->steps(); });
}

// By its share of all names, not by a remainder: another user moves few names to another decoy.
const PasswordHash* Users::decoy(std::string_view name) const {
  if (decoys_.empty()) return nullptr;
  const core::Sha256 digest = core::sha256(secret_ + '\0' + std::string(name));
  std::uint64_t share = 0;
  for (std::size_t i = 0; i < 4; ++i) share = share << 8 | digest[i];
  const auto& hash = decoys_[share * decoys_.size() >> 32]->hash;
  return hash ? &*hash : nullptr;
}

const User* Users::by_name(std::string_view name) const { return find(by_name_, name); }

const User* Users::by_token(const core::Sha256& digest) const { return find(by_token_, token_text(digest)); }

const User* Users::by_certificate(std::string_view name) const {
  return name.empty() ? nullptr : find(by_certificate_, name);
}

std::string Users::token_text(const core::Sha256& digest) {
  std::string text(kDigest);
  core::append_hex(digest, text);
  return text;
}

}  // namespace weir::steering
