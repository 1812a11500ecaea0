"""Runs a command under the system call restrictions of a service unit, as systemd would set them: SystemCallFilter,
RestrictAddressFamilies, RestrictNamespaces, MemoryDenyWriteExecute and NoNewPrivileges. x86-64 only.

    under_seccomp.py UNIT COMMAND...
"""
import ctypes
import errno
import os
import pathlib
import re
import struct
import subprocess
import sys

LOAD, AND, JEQ, JSET, RETURN = 0x20, 0x54, 0x15, 0x45, 0x06  # BPF_LD|W|ABS, BPF_ALU|AND|K, BPF_JMP|..., BPF_RET|K
NUMBER, ARCH, ARGUMENTS = 0, 4, 16                            # in struct seccomp_data
X86_64 = 0xC000003E
ALLOW, KILL = 0x7FFF0000, 0x80000000
PROT_WRITE, PROT_EXEC = 2, 4
NEW_NAMESPACE = 0x7E020080  # all CLONE_NEW*
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def refuse(error):
    return 0x00050000 | error


def numbers():
    text = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h").read_text()
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", text)}


def calls_of(group):
    """The system calls of a group, groups in it opened."""
    found = set()
    listed = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", group], check=True, capture_output=True, text=True)
    for line in listed.stdout.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            found |= calls_of(word)
        elif word and not word.startswith("#"):
            found.add(word)
    return found


def settings(unit):
    found = {}
    for line in pathlib.Path(unit).read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.startswith("#"):
            found.setdefault(key.strip(), []).append(value.strip())
    return found


def instruction(code, k, if_true=0, if_false=0):
    return struct.pack("=HBBI", code, if_true, if_false, k)


def block(number, *inside):
    """`inside` runs for that system call only; it ends in a return or goes on behind the block."""
    return [instruction(LOAD, NUMBER), instruction(JEQ, number, 0, len(inside)), *inside]


def argument(index):
    return instruction(LOAD, ARGUMENTS + 8 * index)


def program(unit):
    asked, known = settings(unit), numbers()
    code = [instruction(LOAD, ARCH), instruction(JEQ, X86_64, 1, 0), instruction(RETURN, KILL)]
    if asked.get("RestrictAddressFamilies") == ["AF_UNIX"]:
        code += block(known["socket"], argument(0), instruction(JEQ, 1, 1, 0), instruction(RETURN, refuse(errno.EAFNOSUPPORT)))
    if asked.get("RestrictNamespaces") == ["yes"]:
        for name in ("unshare", "setns"):
            code += block(known[name], instruction(RETURN, refuse(errno.EPERM)))
        code += block(known["clone"], argument(0), instruction(JSET, NEW_NAMESPACE, 0, 1), instruction(RETURN, refuse(errno.EPERM)))
        code += block(known["clone3"], instruction(RETURN, refuse(errno.ENOSYS)))  # its flags are in memory
    if asked.get("MemoryDenyWriteExecute") == ["yes"]:
        code += block(known["mmap"], argument(2), instruction(AND, PROT_WRITE | PROT_EXEC),
                      instruction(JEQ, PROT_WRITE | PROT_EXEC, 0, 1), instruction(RETURN, refuse(errno.EPERM)))
        for name in ("mprotect", "pkey_mprotect"):
            code += block(known[name], argument(2), instruction(JSET, PROT_EXEC, 0, 1), instruction(RETURN, refuse(errno.EPERM)))
    allowed = {"execve", "exit", "exit_group", "rt_sigreturn", "prctl"}
    for word in " ".join(asked["SystemCallFilter"]).split():
        if word.startswith("~"):
            raise SystemExit(f"under_seccomp: SystemCallFilter={word}: lists that take away are not known here")
        allowed |= calls_of(word) if word.startswith("@") else {word}
    code.append(instruction(LOAD, NUMBER))
    for name in sorted(allowed & known.keys()):
        code += [instruction(JEQ, known[name], 0, 1), instruction(RETURN, ALLOW)]
    code.append(instruction(RETURN, refuse(getattr(errno, asked["SystemCallErrorNumber"][0]))))
    return b"".join(code)


def main():
    filters = program(sys.argv[1])
    buffer = ctypes.create_string_buffer(filters, len(filters))
    header = struct.pack("@HP", len(filters) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) != 0:
        raise SystemExit(f"under_seccomp: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
