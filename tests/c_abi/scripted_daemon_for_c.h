/* tests/support/scripted_daemon for a C program: two kernels a layer, m to 16 and above, the second with 2 splits. */
#ifndef CUBIND_TESTS_SCRIPTED_DAEMON_FOR_C_H_
#define CUBIND_TESTS_SCRIPTED_DAEMON_FOR_C_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct scripted_daemon scripted_daemon;
scripted_daemon* scripted_daemon_start(void);
const char* scripted_daemon_socket(const scripted_daemon* daemon);
void scripted_daemon_stop(scripted_daemon* daemon);

#ifdef __cplusplus
}
#endif

#endif
