# In a build that has no weir::redis: a target that links it is told what to set. CMake itself would say only that
# there is no such target. Targets are looked at when all are there, at the end of the outermost CMakeLists.txt.
function(weir_find_users_of_redis directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_property(links TARGET ${target} PROPERTY LINK_LIBRARIES)
    get_property(passes_on TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES)
    if("${links};${passes_on}" MATCHES "weir::redis" AND NOT TARGET weir::redis)
      message(FATAL_ERROR "${target} links weir::redis, which this build of weir lacks: "
                          "set(WEIR_BUILD_REDIS ON) before add_subdirectory() or FetchContent_MakeAvailable()")
    endif()
  endforeach()
  get_property(folders DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    weir_find_users_of_redis(${folder})
  endforeach()
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL weir_find_users_of_redis ${CMAKE_SOURCE_DIR})
