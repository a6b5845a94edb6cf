// Writes names as the RateLimit fields do, for tests/end_to_end/test_rate_limit_fields.py, which has them
// read by another program: takes a line of hexadecimal digits for each, and prints a line.
#include <iostream>
#include <string>

#include "service/structured_field.hpp"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::string name;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2)
      name += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    std::string written;
    weir::service::append_string(name, written);
    std::cout << written << '\n';
  }
}
