# The commit that --version names: taken when CMake runs; "unknown" outside a git checkout.
find_package(Git QUIET)
set(CUBIND_COMMIT unknown)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE found_commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE git_failed)
  if(NOT git_failed)
    set(CUBIND_COMMIT ${found_commit})
  endif()
endif()
configure_file(cmake/version.hpp.in ${PROJECT_BINARY_DIR}/generated/cubind_version.hpp @ONLY)
include_directories(${PROJECT_BINARY_DIR}/generated)
