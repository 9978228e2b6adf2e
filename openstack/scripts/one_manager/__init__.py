"""The program that runs cinder-volume in one pod at a time: in the pod that holds a Lease, while the others wait.

Instances that share a host name are one service to Cinder, and an instance that starts takes over the unfinished work
of the others. The program uses only the standard library, because it runs in the image of cinder-volume.

Three processes run in a pod: this program, which renews the Lease; its child, the guard; and the command, which the
guard starts. Guard and command are one process group. The guard kills the group if it receives no later deadline in
time, or if this program has ended. If the guard ends, the kernel kills the command, and this program the rest.
"""
