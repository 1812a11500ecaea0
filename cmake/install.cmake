# What is installed beside what each part installs itself: docs/operations.md lists it all, debian/*.install says which package has
# it (held together by tests/packaging).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS cubind RUNTIME)
set_target_properties(cubind_client PROPERTIES EXPORT_NAME client)  # find_package(cubind), cubind::client
install(TARGETS cubind_client EXPORT cubind LIBRARY)
install(DIRECTORY client/include/cubind DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING
  PATTERN "*.md" PATTERN "*.json" PATTERN "*.yaml" PATTERN "Containerfile")

# For programs that are built against the library. Both find it relative to themselves, so that a moved folder still works.
set(CUBIND_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/cubind)
install(EXPORT cubind NAMESPACE cubind:: DESTINATION ${CUBIND_CMAKEDIR} FILE cubind-config.cmake)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/cubind-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/cubind-config-version.cmake DESTINATION ${CUBIND_CMAKEDIR})
file(RELATIVE_PATH CUBIND_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" CUBIND_PC_PREFIX "${CUBIND_PC_PREFIX}")
configure_file(cmake/cubind.pc.in ${PROJECT_BINARY_DIR}/generated/cubind.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/cubind.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# For people.
install(FILES docs/man/cubinctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/cubind.8 docs/man/cubind-worker.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES client/cli/cubinctl.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME cubinctl)
