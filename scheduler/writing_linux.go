package scheduler

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// beingWritten reports whether somebody has the file open for writing at this
// moment. The kernel grants a read lease only if nobody has. Where it cannot
// tell (the file is another user's, a network file system), the settle time
// alone decides.
func beingWritten(path string) bool {
	// O_NONBLOCK: a pipe that took the file's place must not stop the queue.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close() // gives the lease up as well
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN)
}

// changeTime returns when the file's name, owner or mode last changed.
func changeTime(info os.FileInfo) (time.Time, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(st.Ctim.Unix()), true
}

// renameNew renames, and replaces nothing: fs.ErrExist if there is something.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS): // not on this file system
		return renameUnlessThere(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
