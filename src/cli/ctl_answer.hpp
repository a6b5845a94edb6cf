// What a server says to an operator, copied, so that it outlives the connection; and how it is printed.
//
// Plain values, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/server_flags.hpp"

namespace weir::inline v0_1::cli {

// The server has refused: exit code 1.
class RefusedByServer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CtlAnswer {
  bool is_number = false;
  std::int64_t number = 0;
  std::string text;
  std::vector<CtlAnswer> items;

  // Of items that are names and values in turn. Null: there is none of that name.
  const CtlAnswer* find(std::string_view name) const;
  std::string text_of(std::string_view name) const;  // "" where there is none; a number in digits
  std::int64_t number_of(std::string_view name) const;
};

// Throws RefusedByServer when the answer is an error, and std::runtime_error when there is none.
CtlAnswer ask(ServerConnection& server, const std::vector<std::string>& words);
// The same of the one server of the flags.
CtlAnswer ask(const ServerFlags& flags, const std::vector<std::string>& words);

// Calls `ask` with each server of the flags in turn, which throws as ask() does. The exit code: 0; 1: one has
// refused; 2: one has not answered. Either is told of on standard error, and the others are asked all the
// same.
int ask_each(const ServerFlags& flags, const std::function<void(const ServerFlags::Named&)>& ask);

// Names and values in turn as an object of JSON, appended; with names of servers, `servers` is one more of
// its members.
void append_json(const CtlAnswer& row, const std::vector<std::string>& servers, std::string& out);

// How many characters of a terminal it takes, one each.
std::size_t columns_of(std::string_view printable);
// Left-aligned columns, made printable; the last is not padded.
std::string table(std::vector<std::vector<std::string>> lines);

// The flags of where the server is, in a group of their own.
void add_server_to(CLI::App& app, ServerFlags& flags, bool several);

// What may concern more than one key: `what` will happen is shown and asked about, and where nobody can be
// asked, --yes has to say it. Throws RefusedByServer when the answer is another than yes, std::runtime_error
// without one.
void agree_on_many(const std::string& what);

void tell_refused(const std::string& why);  // on standard error

// Runs a subcommand of an operator: its exit code is 0, 1 where the server refuses.
template <class Work>
int run_for_operator(const Work& work) {
  try {
    work();
    return 0;
  } catch (const RefusedByServer& refused) {
    tell_refused(refused.what());
    return 1;
  }
}

}  // namespace weir::cli
