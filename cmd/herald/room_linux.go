package main

import "golang.org/x/sys/unix"

// freeSpace returns the bytes that herald may still write to the disk of dir.
func freeSpace(dir string) (free uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
