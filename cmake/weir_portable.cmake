# weir_portable: the program as one static file that needs nothing of the machine (packaging/portable packs it). It is
# linked from the objects of weir_program and of its folders, so that it costs a link beside the program itself.
#
# WEIR_PORTABLE is a folder of sources, of what Debian has only as shared libraries: fmtlib, spdlog and simdjson, as
# packaging/sources unpacks them.
foreach(name fmtlib spdlog simdjson)
  if(NOT IS_DIRECTORY ${WEIR_PORTABLE}/${name})
    message(FATAL_ERROR "WEIR_PORTABLE: '${WEIR_PORTABLE}' has no folder '${name}'; packaging/sources makes it")
  endif()
endforeach()
file(GLOB spdlog_sources ${WEIR_PORTABLE}/spdlog/src/*.cpp)
add_library(weir_portable_sources STATIC ${WEIR_PORTABLE}/fmtlib/src/format.cc ${spdlog_sources}
                                         ${WEIR_PORTABLE}/simdjson/src/simdjson.cpp)
# Headers are those of the packages, except where a source includes one that no package has.
target_include_directories(weir_portable_sources PRIVATE ${WEIR_PORTABLE}/simdjson/src ${WEIR_PORTABLE}/simdjson/include)
target_compile_definitions(weir_portable_sources PRIVATE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL SIMDJSON_THREADS_ENABLED=1)
target_compile_options(weir_portable_sources PRIVATE -ffunction-sections -fdata-sections)
weir_cold(weir_portable_sources)  # the log's
set_source_files_properties(${WEIR_PORTABLE}/simdjson/src/simdjson.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -O2)
set_source_files_properties(${WEIR_PORTABLE}/fmtlib/src/format.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
weir_unity(weir_portable_sources)
target_compile_features(weir_portable_sources PRIVATE cxx_std_20)
set_target_properties(weir_portable_sources PROPERTIES POSITION_INDEPENDENT_CODE ON)

get_property(folders GLOBAL PROPERTY WEIR_FOLDERS)
list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
add_executable(weir_portable $<TARGET_OBJECTS:weir_program> packaging/portable.cpp)
add_dependencies(weir_portable ${folders})
set_target_properties(weir_portable PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/portable OUTPUT_NAME weir
                                               LINK_DEPENDS "${archives}")
target_compile_features(weir_portable PRIVATE cxx_std_20)
target_compile_options(weir_portable PRIVATE -fPIE)
# The map says of which archives the program is made: they are those whose notices it carries. The linker would warn
# of getaddrinfo() and dlopen(): packaging/portable.cpp says why neither loads anything.
target_link_options(weir_portable PRIVATE -static-pie -s -Wl,--gc-sections -Wl,--no-warnings -Wl,-Map=${CMAKE_BINARY_DIR}/portable/map)
target_link_libraries(weir_portable PRIVATE -Wl,--start-group ${archives} -Wl,--end-group weir_portable_sources
                                            -lssl -lcrypto -lre2 -lzstd -lz -lyaml -lnghttp2)
