# Fresh Debian user spaces, for scripts that source this file.

# inside SPACE COMMAND …: in a chroot with /proc, /dev and /sys, which are unmounted when the process ends. Needs root.
inside() {
  unshare --mount --propagation private bash -c '
    space=$1 && shift
    mount --bind /dev "$space/dev" && mount --bind /dev/pts "$space/dev/pts" && mount -t tmpfs none "$space/dev/shm" &&
    mount -t proc proc "$space/proc" && mount -t sysfs -o ro sysfs "$space/sys" || exit 125
    cd / && exec chroot "$space" "$@"' - "$@"
}
