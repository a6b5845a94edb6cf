// What parts of a limits file say, in about the words in which somebody would write it; empty: nothing.
//
// Pure, any thread.
#pragma once

#include <string>

#include "limits/file.hpp"

namespace weir::inline v0_1::limits {

std::string text_of(const File& file, const When& when);
std::string text_of(const File& file, const CostRule& cost);
std::string text_of(const File& file, const Leave& leave);
std::string text_of(const Reserve& reserve);
std::string text_of(const Guarantee& guarantee);
std::string text_of(const core::PenaltyTerms& penalty);
std::string text_of(const Penalty& penalty);
std::string text_of(const StoreError& said);
std::string text_of(const Hold& hold);
std::string text_of(const LeaseTerms& lease);
std::string text_of(const File& file, const Override& change, const NamedLimit& limit);

}  // namespace weir::limits
