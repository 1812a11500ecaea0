# What is installed beside what each part installs itself: docs/operations.md lists it all.
include(GNUInstallDirs)
install(TARGETS cubind RUNTIME)
install(TARGETS cubind_client LIBRARY)
install(DIRECTORY client/include/cubind DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
