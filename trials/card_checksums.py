"""The checksums of packets, which the kernel leaves to the receiving end of a virtual cable.

Open vSwitch's userspace datapath, which reads the frames there, does not complete them.
"""

COMPLETE = """\
import ctypes, fcntl, socket, struct, sys
value = ctypes.create_string_buffer(struct.pack("II", 0x17, 0))  # ETHTOOL_STXCSUM, off
request = struct.pack("16sP", sys.argv[1].encode(), ctypes.addressof(value))
fcntl.ioctl(socket.socket(), 0x8946, request)  # SIOCETHTOOL
"""
"""Program that makes the kernel fill in the checksums of the packets that it sends over a device, its argument."""
