# Runs in a guest: gives the kernel and the initrd of the tuned entry's UKI to kexec, with the words of this boot.
# A UKI is a PE file; its parts are sections.
import ctypes
import glob
import os
import struct

uki = open(glob.glob("/boot/EFI/Linux/dtnforge*.efi")[0], "rb").read()
header = struct.unpack_from("<I", uki, 0x3C)[0]
count, optional = struct.unpack_from("<H", uki, header + 6)[0], struct.unpack_from("<H", uki, header + 20)[0]
files = {}
for number in range(count):
    at = header + 24 + optional + number * 40
    name = uki[at:at + 8].rstrip(b"\0").decode()
    size, _, raw_size, start = struct.unpack_from("<4I", uki, at + 8)
    files[name] = uki[start:start + min(size, raw_size)]
descriptors = []
for name in (".linux", ".initrd"):
    descriptor = os.memfd_create(name)
    os.write(descriptor, files[name])
    descriptors.append(descriptor)
words = open("/proc/cmdline", "rb").read().strip() + b"\0"
KEXEC_FILE_LOAD = 320
libc = ctypes.CDLL(None, use_errno=True)
refused = libc.syscall(KEXEC_FILE_LOAD, *descriptors, ctypes.c_ulong(len(words)), words, ctypes.c_ulong(0))
print("loaded" if refused == 0 else "refused: " + os.strerror(ctypes.get_errno()))
