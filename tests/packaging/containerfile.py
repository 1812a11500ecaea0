"""Reads a Containerfile, and carries its steps out in a folder that holds a root file system, for machines without a container
runtime: containerfile.py CONTAINERFILE CONTEXT ROOT. The folder must be what FROM names. Needs root and the network that RUN needs."""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

KNOWN = {"FROM", "COPY", "RUN", "USER", "VOLUME", "HEALTHCHECK", "CMD"}
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}


def steps(path):
    """The instructions as (word, text), continued lines joined. An instruction that `carry_out` does not know is an error."""
    text = "\n".join(line for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("#"))
    found = [tuple(line.split(None, 1)) for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]
    unknown = {word for word, _ in found} - KNOWN
    if unknown:
        raise ValueError(f'instruction "{unknown.pop()}" is not one of {sorted(KNOWN)}')
    return found


def value_of(path, word):
    """What the last instruction of that name says: a list for the JSON form, the text after the options otherwise."""
    text = [text for name, text in steps(path) if name == word][-1]
    text = re.sub(r"^(--\S+ )*(CMD )?", "", text)
    return json.loads(text) if text.startswith("[") else text


def carry_out(path, context, root):
    for word, text in steps(path):
        if word == "COPY":
            *sources, target = text.split()
            files = [name for source in sources for name in sorted(glob.glob(os.path.join(context, source)))]
            if not files:
                raise ValueError(f'COPY "{text}": there is no such file in {context}')
            place = os.path.join(root, target.lstrip("/"))
            for name in files:
                if os.path.isdir(name):  # what is in it, as COPY does
                    shutil.copytree(name, place, dirs_exist_ok=True)
                else:
                    os.makedirs(place, exist_ok=True)
                    shutil.copy(name, place)
        elif word == "RUN":
            subprocess.run(["chroot", root, "/bin/sh", "-c", text], check=True, env=ENVIRONMENT, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    carry_out(*sys.argv[1:])
