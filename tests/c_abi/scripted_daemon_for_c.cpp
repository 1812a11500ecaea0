#include "tests/c_abi/scripted_daemon_for_c.h"

#include <cstdlib>

#include "tests/support/scripted_daemon.hpp"

struct scripted_daemon {
  cubind::test::TemporarySocket socket;
  cubind::test::MadeUpService service;
  cubind::test::ScriptedDaemon daemon{socket.path()};
  std::string path = socket.path();
};

scripted_daemon* scripted_daemon_start(void) {
  auto* made = new scripted_daemon;
  made->service.splits_of_last_row = 2;
  made->daemon.start([made](cubind::test::Session& session, const cubind::Request& request) {
    return made->service(session, request);
  });
  return made;
}

const char* scripted_daemon_socket(const scripted_daemon* daemon) {
  return daemon->path.c_str();
}

void scripted_daemon_stop(scripted_daemon* daemon) {
  delete daemon;
}
