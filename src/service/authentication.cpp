#include "service/authentication.hpp"

namespace weir::service {

Authentication::Answer Authentication::log_in(std::string_view address, std::string_view user,
                                              std::string_view password, std::chrono::nanoseconds now) {
  if (guesses_.check_at(now, address, Cost{0}).remaining == 0) return Answer::too_many;
  if (credentials_.match(user, password)) return Answer::accepted;
  static_cast<void>(guesses_.check_at(now, address));
  return Answer::wrong;
}

}  // namespace weir::service
