# One target for each folder of src/: its dependencies are the folders that it may include, so that a new edge
# is a visible line here (tools/check_layers.py checks the includes themselves).

add_library(weir_flags INTERFACE)
target_compile_features(weir_flags INTERFACE cxx_std_20)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(weir_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor)
  # GCC 12 takes std::string's operator+ for overlapping copies when it inlines enough (its bug 105651).
  # And it takes a string in a moved aggregate for uninitialised where it inlines; clang, its analyzer and sanitizers watch that.
  target_compile_options(weir_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # GCC collects garbage from 128 MiB on, over and over in a unity file; from 400 on it takes a twentieth less time.
  target_compile_options(weir_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=400000>)
  # What a lock guards is touched only under it (include/weir/lock.hpp).
  target_compile_options(weir_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
endif()
if(WEIR_SANITIZE)
  target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()

# weir_unity(TARGET): one compilation has all of its sources, because headers, and the templates that several sources
# need, are most of the work. A name in an unnamed namespace is then one for all files of the target. Apart stay sources
# that say so (SKIP_UNITY_BUILD_INCLUSION, set before) and those that are made, which may change when no other does.
# CMake's own unity files have the paths of one folder in them, so that ccache takes them for others in another.
function(weir_unity target)
  if(NOT WEIR_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(apart "")
  set(text "")
  foreach(source ${sources})
    get_source_file_property(skipped ${source} SKIP_UNITY_BUILD_INCLUSION)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(IS_PREFIX weir_BINARY_DIR ${source} is_made)
    if(skipped STREQUAL ON OR is_made)
      list(APPEND apart ${source})
    else()
      string(REPLACE "${weir_SOURCE_DIR}/" "" path ${source})
      string(APPEND text "#include \"${path}\"\n")
    endif()
  endforeach()
  set(unity ${CMAKE_CURRENT_BINARY_DIR}/unity_${target}.cpp)
  file(CONFIGURE OUTPUT ${unity} CONTENT "${text}" @ONLY)
  set_target_properties(${target} PROPERTIES SOURCES "${unity};${apart}")
  target_include_directories(${target} PRIVATE ${weir_SOURCE_DIR})
endfunction()

# weir_cold(TARGET): no request passes through it, so it is compiled in two thirds of the time.
function(weir_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# weir_hot(TARGET): most of what its tests do is to run it, so it is optimised under sanitizers too.
function(weir_hot target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

# weir_folder(NAME [COLD | HOT] SOURCES ... TESTS ... LINK ...): the static library weir_NAME and its unit tests.
function(weir_folder name)
  cmake_parse_arguments(arg "COLD;HOT" "" "SOURCES;TESTS;LINK" ${ARGN})
  add_library(weir_${name} STATIC ${arg_SOURCES})
  if(arg_COLD)
    weir_cold(weir_${name})
  endif()
  if(arg_HOT)
    weir_hot(weir_${name})
  endif()
  weir_unity(weir_${name})
  set_property(GLOBAL APPEND PROPERTY WEIR_FOLDERS weir_${name})
  target_include_directories(weir_${name} PUBLIC $<BUILD_INTERFACE:${weir_SOURCE_DIR}/include>
                                                 $<BUILD_INTERFACE:${weir_SOURCE_DIR}/src>)
  target_link_libraries(weir_${name} PUBLIC weir_flags ${arg_LINK})
  # A program's own shared library shows nothing of ours; a shared library of ours shows what is WEIR_API.
  set_target_properties(weir_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                VISIBILITY_INLINES_HIDDEN ON)
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(weir_${name} PRIVATE WEIR_BUILDS_SHARED)
  endif()
  if(arg_TESTS)
    set_property(GLOBAL APPEND PROPERTY WEIR_UNIT_TESTS ${name})
  endif()
  list(TRANSFORM arg_TESTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_property(GLOBAL PROPERTY WEIR_TESTS_${name} ${arg_TESTS})
endfunction()

# weir_text_as_string(NAMESPACE NAME OUT FILE...): the files' text as a C++ string, for pages and what is in them. In
# pieces, because a compiler need not take more than 64 KiB in one.
function(weir_text_as_string namespace name out)
  set(text "")
  foreach(path ${ARGN})
    get_filename_component(path ${path} ABSOLUTE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} each)
    string(APPEND text "${each}")
  endforeach()
  string(LENGTH "${text}" length)
  set(pieces "")
  foreach(at RANGE 0 ${length} 8000)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND pieces "R\"~~~(${piece})~~~\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT
"namespace weir::inline v0_1::@namespace@ {\nextern const char* const @name@;\nconst char* const @name@ = @pieces@;\n}\n")
endfunction()
