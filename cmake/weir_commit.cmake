# Writes the source file that says which weir this is: the version, and where the sources are a git checkout, the
# commit. Run at every build, because a commit does not make CMake configure again; an unchanged file is left alone.
#
#   cmake -D source=DIR -D version=X.Y.Z -D out=FILE -P weir_commit.cmake
cmake_minimum_required(VERSION 3.25)
set(says "weir ${version}")
set(known unknown)
find_program(git git)
if(git)
  # Of the sources themselves, not of a checkout that they were unpacked in.
  execute_process(COMMAND ${git} -C ${source} rev-parse --show-toplevel OUTPUT_VARIABLE top
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH "${source}" real_source)
  execute_process(COMMAND ${git} -C ${source} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} -C ${source} --no-optional-locks status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT failed AND top STREQUAL real_source)
    if(changes)
      string(APPEND commit ", modified")
    endif()
    string(APPEND says " (commit ${commit})")
    set(known "${commit}")
  endif()
endif()
file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
"#include \"cli/version.hpp\"\n\nnamespace weir::inline v0_1::cli {\n\nconst char* const kVersionLine = \"@says@\";\nconst char* const kCommit = \"@known@\";\n\n}  // namespace weir::cli\n")
